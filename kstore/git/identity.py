"""Who makes a commit, and when: taken from the environment and configuration as git takes it (git-commit(1)).

Unlike git, nothing is made up from the machine's user and host names: a registry is about who said what.
"""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Literal

import msgspec

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from dulwich.config import StackedConfig


class Identity(msgspec.Struct, frozen=True):
    """A name, an address and a moment, as a commit states them.

    Attributes:
        person: `NAME <ADDRESS>` in UTF-8.
        seconds: Seconds since 1970 in UTC.
        offset: The zone's offset from UTC, in seconds east.
    """

    person: bytes
    seconds: int
    offset: int


def identity(role: Literal["author", "committer"], config: StackedConfig) -> Identity:
    """Find the author or the committer of a commit that is made now.

    Looks at `GIT_<ROLE>_NAME` and `_EMAIL`, then at `<role>.name` and `user.name` (likewise `email`) of git's
    configuration, and for the address last at `EMAIL`.

    Raises:
        KstoreError: There is no name or no address, or the date in `GIT_<ROLE>_DATE` cannot be read.
    """
    name = _value(role, "name", config)
    email = _value(role, "email", config) or _clean(os.environ.get("EMAIL", ""))
    if not name or not email:
        missing = " and ".join(what for what, value in (("name", name), ("email address", email)) if not value)
        raise KstoreError(
            f"no {missing} for the {role} of the commit; set who you are with\n"
            '  git config --global user.name "Your Name"\n'
            "  git config --global user.email you@example.com"
        )
    seconds, offset = _moment(role)
    return Identity(f"{name} <{email}>".encode("utf-8", "surrogateescape"), seconds, offset)


def _value(role: str, field: str, config: StackedConfig) -> str:
    text = os.environ.get(f"GIT_{role}_{field}".upper(), "")
    if cleaned := _clean(text):
        return cleaned
    for section in (role, "user"):
        try:
            found = config.get((section.encode(),), field.encode())
        except KeyError:
            continue
        if cleaned := _clean(found.decode("utf-8", "surrogateescape")):
            return cleaned
    return ""


def _clean(text: str) -> str:
    """Drop what cannot stand in a commit's header, as git does: line ends and angle brackets, and outer crud."""
    return re.sub(r"[\n<>\0]", "", text).strip(" .,:;\"\\'\t\r")


def _moment(role: str) -> tuple[int, int]:
    text = os.environ.get(f"GIT_{role.upper()}_DATE", "")
    if not text:
        now = time.time()
        return int(now), time.localtime(now).tm_gmtoff
    match = re.fullmatch(r"@?(\d{1,12}) ([+-])(\d{2})([0-5]\d)", text)
    if match is not None:
        offset = (int(match[3]) * 60 + int(match[4])) * 60
        return int(match[1]), offset if match[2] == "+" else -offset
    return _moment_in_words(role, text)


def _moment_in_words(role: str, text: str) -> tuple[int, int]:
    import datetime
    import email.utils

    for parse in (datetime.datetime.fromisoformat, email.utils.parsedate_to_datetime):
        try:
            moment = parse(text)
            # Without an offset it is local time; with one, the commit keeps it.
            moment = moment if moment.tzinfo is not None else moment.astimezone()
        except (ValueError, TypeError, OverflowError):
            continue
        offset = moment.utcoffset() or datetime.timedelta()
        return int(moment.timestamp()), int(offset.total_seconds())
    raise KstoreError(
        f"GIT_{role.upper()}_DATE: expected `SECONDS +HHMM`, an ISO 8601 or an RFC 2822 date, found {text!r}"
    )
