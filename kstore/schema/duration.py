"""Durations: an integer of nanoseconds, or a decimal number with a unit, read by exact decimal arithmetic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from kstore.schema.custom import Custom
from kstore.schema.found import found
from kstore.schema.primitives import END, SAFE

_TEXT = r"^([0-9]+)(?:\.([0-9]+))?[\t\n\v\f\r ]?(ns|us|\u00b5s|ms|s)" + END
_MATCH = re.compile(_TEXT).match
_DECIMALS = {"ns": 0, "us": 3, "\u00b5s": 3, "ms": 6, "s": 9}
_EXPECTED = f"a duration (an integer of nanoseconds from 0 to {SAFE}, or a number and one of ns, us, \u00b5s, ms, s)"


def nanoseconds(text: str) -> int:
    """Read a duration that is written with its unit, in time linear in its length.

    Raises:
        ValueError: It is no duration, or not a whole number of nanoseconds from 0 to 2**53 - 1.
    """
    match = _MATCH(text)
    if match is None:
        raise ValueError(f"expected {_EXPECTED}, found {found(text)}")
    whole, fraction, unit = match[1], (match[2] or "").rstrip("0"), match[3]
    decimals = _DECIMALS[unit]
    if len(fraction) > decimals:
        raise ValueError(f"expected a whole number of nanoseconds, found {found(text)}")
    digits = (whole + fraction.ljust(decimals, "0")).lstrip("0") or "0"
    # The length first: Python refuses to read very long integers, and takes quadratic time for long ones.
    if len(digits) > len(str(SAFE)) or int(digits) > SAFE:
        raise ValueError(f"expected at most {SAFE} nanoseconds, found {found(text)}")
    return int(digits)


class _Duration(Custom):
    plain = int
    expected = _EXPECTED
    json_schema: ClassVar[dict[str, Any]] = {
        "title": "duration",
        "description": "Nanoseconds, or a number with its unit: a whole number of nanoseconds within the safe range "
        "(which JSON Schema cannot say of the second form).",
        "anyOf": [
            {"type": "integer", "minimum": 0, "maximum": SAFE},
            {"type": "string", "pattern": _TEXT},
        ],
    }

    @classmethod
    def read(cls, value: object) -> object:
        if type(value) is int and 0 <= value <= SAFE:
            return value
        if type(value) is str:
            return nanoseconds(value)
        if type(value) is float and value.is_integer() and 0 <= value <= SAFE:
            return int(value)
        raise ValueError(f"expected {_EXPECTED}, found {found(value)}")


if TYPE_CHECKING:
    Duration: TypeAlias = int
else:
    Duration = _Duration
