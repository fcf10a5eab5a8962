"""Instants of the format as seconds since 1970, which is how git tells the time of a commit."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import msgspec

from kstore.errors import UsageError
from kstore.schema.primitives import Instant

_INSTANT = re.compile(r"([0-9]{4})(-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(?::([0-9]{2})(?:\.([0-9]+))?)?Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)

# The calendar repeats itself after 400 years, and Python's begins with year 1.
_CYCLE_YEARS, _CYCLE = 400, 146_097 * 86_400


@lru_cache(maxsize=1024)
def seconds_of(instant: str) -> int:
    """Give the seconds from 1970-01-01T00:00:00Z to a `kstore.schema.primitives.Instant`.

    A fraction of a second counts as a whole one, so that comparing with whole seconds, as commits have them, is exact:
    a second lies before an instant just when it lies before the result.
    """
    match = _INSTANT.fullmatch(instant)
    assert match is not None, "an Instant was checked before"
    year = int(match[1])
    moment = datetime.fromisoformat(f"{year or _CYCLE_YEARS:04}{match[2]}:{match[3] or '00'}+00:00")
    whole = (moment - _EPOCH) // timedelta(seconds=1) - (0 if year else _CYCLE)
    return whole + bool((match[4] or "").strip("0"))


def instant_of(seconds: int) -> str:
    """Give the instant so many seconds after 1970-01-01T00:00:00Z, at most the last one of year 9999."""
    try:
        moment = _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        moment = _LAST
    return moment.isoformat()[:19] + "Z"


def now() -> int:
    """Give this machine's time, in whole seconds since 1970."""
    import time

    return int(time.time())


def parse_instant(text: str) -> str:
    """Read an instant as a person writes it: an RFC 3339 instant in UTC, or a date, which is its midnight in UTC.

    Raises:
        UsageError: It is neither.
    """
    try:
        return msgspec.convert(f"{text}T00:00:00Z" if "T" not in text else text, Instant)
    except msgspec.ValidationError:
        raise UsageError(
            f"expected an instant in UTC, such as 2026-03-01T12:00:00Z, or a date, such as 2026-03-01, found {text!r}"
        ) from None
