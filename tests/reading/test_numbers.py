from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.reading.numbers import integer, integer_of_base, nearest

SAFE = 2**53 - 1


@given(st.integers(-SAFE, SAFE))
def test_a_safe_integer_stays_an_integer(value: int) -> None:
    found = integer(str(value))
    assert type(found) is int
    assert found == value


@given(st.integers(2**53, 10**320) | st.integers(-(10**320), -(2**53)))
def test_any_other_integer_becomes_the_nearest_double(value: int) -> None:
    found = integer(str(value))
    assert type(found) is float
    assert found == nearest(value)
    if math.isfinite(found):
        error = abs(Fraction(found) - value)
        for neighbour in (math.nextafter(found, math.inf), math.nextafter(found, -math.inf)):
            assert math.isinf(neighbour) or error <= abs(Fraction(neighbour) - value)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("+7", 7),
        ("-007", -7),
        ("0" * 10_000 + "12", 12),
        ("9007199254740991", SAFE),
        ("9007199254740993", 9007199254740992.0),
        ("123456789012345680000", 123456789012345680000.0),
        ("9" * 10_000, math.inf),
        ("-" + "9" * 10_000, -math.inf),
    ],
)
def test_literals(literal: str, value: float) -> None:
    found = integer(literal)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    ("digits", "base", "value"),
    [("1F", 16, 31), ("14", 8, 12), ("1FFFFFFFFFFFFF", 16, SAFE), ("20000000000000", 16, 2.0**53)],
)
def test_other_bases(digits: str, base: int, value: float) -> None:
    found = integer_of_base(digits, base)
    assert type(found) is type(value)
    assert found == value


def test_hexadecimal_digits_of_any_number_overflow_to_an_infinity() -> None:
    assert integer_of_base("f" * 100_000, 16) == math.inf
    assert nearest(-(16**100_000)) == -math.inf
