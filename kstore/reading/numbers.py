"""Reads the literals of numbers, in decimal or hexadecimal or octal digits, to the nearest double."""

from __future__ import annotations

import math

from kstore.reading.limits import MAX_SAFE_INTEGER

_SAFE_DIGITS = 16


def integer(literal: str) -> int | float:
    """Read decimal digits with an optional sign, of any number.

    Returns:
        An int within ±(2^53-1), else the nearest double, which is infinite when the literal is beyond all doubles.
    """
    digits = literal.lstrip("+-0")
    if len(digits) <= _SAFE_DIGITS:
        value = int(digits or "0")
        if value <= MAX_SAFE_INTEGER:
            return -value if literal.startswith("-") else value
    return float(literal)


def integer_of_base(digits: str, base: int) -> int | float:
    """Read digits of a base that is a power of two, as `integer` reads decimal ones."""
    return nearest(int(digits, base))


def nearest(value: int) -> int | float:
    """Give an int within ±(2^53-1) back, and any other as the nearest double, or an infinity beyond them all."""
    if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
        return value
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
