"""Plain JSON values for the slow road: read from text, with one Python type for each integral number."""

from __future__ import annotations

from math import inf
from typing import NoReturn

from kstore.schema.primitives import SAFE
from kstore.schema.problems import SchemaError

_TOO_DEEP = "expected a document of the format, found one that is nested too deeply"


def plain(data: bytes) -> object:
    """Read JSON text in UTF-8; of a repeated key the last value stays.

    Raises:
        SchemaError: It is no JSON.
    """
    import json  # only the slow road needs it

    try:
        return json.loads(str(data, "utf-8"), parse_int=_integer, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise SchemaError([((), f"expected UTF-8, found something else at byte {error.start}")]) from None
    except RecursionError:
        raise SchemaError([((), _TOO_DEEP)]) from None
    except ValueError as error:
        raise SchemaError([((), f"expected JSON, found something else: {error}")]) from None


def with_integers(value: object) -> object:
    """Copy a value with an int for each integral number in the safe range, as `2.0` is the integer 2, and only there.

    Raises:
        SchemaError: The value is nested too deeply for Python's stack.
    """
    try:
        return _with_integers(value)
    except RecursionError:
        raise SchemaError([((), _TOO_DEEP)]) from None


def _with_integers(value: object) -> object:
    if isinstance(value, float):
        return int(value) if value.is_integer() and -SAFE <= value <= SAFE else value
    if type(value) is int and not -SAFE <= value <= SAFE:
        return _nearest(value)
    if isinstance(value, dict):
        return {key: _with_integers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_integers(item) for item in value]
    return value


def _integer(text: str) -> int | float:
    # Python would refuse very long integers, and take quadratic time.
    return int(text) if len(text) <= len(str(-SAFE)) else float(text)


def _nearest(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no JSON")
