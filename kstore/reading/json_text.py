"""Reads JSON text (RFC 8259) to a plain value, and refuses duplicate keys.

The straight way is msgspec, which does not see duplicate keys: a value that lost some re-encodes with fewer colons
than its text has. That comparison is exact unless a colon was written as an escape. Whatever the straight way does not
settle is read again by the standard library, which is slower and tells what is wrong.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from kstore.errors import Fault, InvalidDocumentError
from kstore.reading import numbers
from kstore.reading.json_places import JsonPlaces
from kstore.reading.json_scrutiny import Scrutiny, TooDeepError
from kstore.reading.json_syntax import too_deep
from kstore.reading.limits import (
    MAX_DOCUMENT_BYTES,
    MAX_FILE_VALUES,
    MAX_MEMBERS,
    MAX_NESTING,
    MAX_SAFE_INTEGER,
)

_SPACE = " \t\n\r"
_DECODER = msgspec.json.Decoder()
# msgspec takes 12 µs for a number like 1.5e300 and Python half of one, but calling Python costs every other number.
# Both round to the nearest double.
_LONG = 65_536
_LONG_DECODER = msgspec.json.Decoder(float_hook=float)
ESCAPED_COLON = b"\\u003"
"""How a colon that was written as an escape begins, whichever case its last digit has."""


class _NotSettledError(Exception):
    """The straight way came to no verdict."""


class _TooManyError(Exception):
    """An object or array has too many members."""


def read_json(text: str, start: int, source: str) -> tuple[Any, JsonPlaces]:
    """Read one JSON value.

    Args:
        text: A file's text, without a byte-order mark.
        start: The offset at which the value begins; white space is allowed before and after it.
        source: The file's name, for faults.

    Returns:
        The value, with integers beyond ±(2^53-1) as the nearest double, and where its parts stand.

    Raises:
        InvalidDocumentError: The text is no JSON, has a duplicate key, half of a surrogate pair or a number beyond all
            doubles, or is over a limit.
    """
    body = text[start:] if start else text
    data = body.encode()
    start += len(body) - len(body.lstrip(_SPACE))
    places = JsonPlaces(text, start)
    large = len(data) > MAX_DOCUMENT_BYTES
    if large and (values := data.count(b",") + data.count(b"[") + data.count(b"{")) > MAX_FILE_VALUES:
        found = f"expected at most {MAX_FILE_VALUES:,} values in a file, found {values:,} commas and brackets"
        raise InvalidDocumentError((Fault(f"{found}; split the file", source=source),))
    try:
        try:
            return _straight(data, large), places
        except _NotSettledError:
            return Scrutiny(places, source).read(start), places
    except TooDeepError:
        offset = too_deep(text, start)
        message = f"expected at most {MAX_NESTING} objects and arrays inside each other"
        raise InvalidDocumentError((Fault(message, (), source, *places.at(offset or start)),)) from None
    except _TooManyError as error:
        raise InvalidDocumentError((Fault(str(error), source=source),)) from None


def _straight(data: bytes, large: bool) -> Any:
    """Read what has nothing wrong with it."""
    try:
        value = (_LONG_DECODER if len(data) > _LONG else _DECODER).decode(data)
    except msgspec.DecodeError:
        raise _NotSettledError from None
    except RecursionError:
        raise TooDeepError from None
    if isinstance(value, dict | list):
        _settle(value, 1, MAX_MEMBERS if large else len(data))
    elif type(value) is int:
        value = numbers.nearest(value)
    if ESCAPED_COLON in data:
        raise _NotSettledError
    if data.count(b":") != msgspec.json.encode(value).count(b":"):
        raise _NotSettledError
    return value


def _settle(value: dict[str, Any] | list[Any], depth: int, most: int) -> None:
    """Replace integers beyond ±(2^53-1) in place, by the nearest double."""
    if depth > MAX_NESTING:
        raise TooDeepError
    if len(value) > most:
        raise _TooManyError(
            f"expected at most {MAX_MEMBERS:,} members of one object or array in a file of over 1 MiB, "
            f"found {len(value):,}"
        )
    members: Any = value.items() if type(value) is dict else enumerate(value)
    for key, member in members:
        kind = type(member)
        if kind is dict or kind is list:
            _settle(member, depth + 1, most)
        elif kind is int and not -MAX_SAFE_INTEGER <= member <= MAX_SAFE_INTEGER:
            value[key] = near = numbers.nearest(member)
            if math.isinf(near):
                raise _NotSettledError
        elif kind is float and math.isinf(member):
            raise _NotSettledError
