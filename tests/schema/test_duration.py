from __future__ import annotations

from decimal import Decimal, localcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstore.schema.duration import _Duration, nanoseconds
from kstore.schema.primitives import SAFE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0s", 0),
        ("8 us", 8000),
        ("8us", 8000),
        ("8\u00b5s", 8000),
        ("8\x0b\u00b5s", 8000),
        ("1.001 us", 1001),  # 1.0009999999999999 in binary
        ("2.000001 ms", 2000001),
        ("000.500000 us", 500),
        ("1.00000000000000000000 ns", 1),
        (f"{SAFE} ns", SAFE),
        ("9007199.254740991 s", SAFE),
        ("0" * 10**6 + "7." + "0" * 10**6 + "ns", 7),
    ],
)
def test_reads_exactly(text: str, expected: int) -> None:
    assert nanoseconds(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "8",
        "ns",
        "8  us",
        " 8 us",
        "8 us ",
        "8 us\n",
        "8\u00a0us",
        "8 \u03bcs",
        "8 US",
        "8 min",
        "+8 us",
        "-8 us",
        "8. us",
        ".8 us",
        "8e3 ns",
        "8_000 ns",
        "\u0668 us",
        "8,5 us",
        "9" * 10**6,
        "1." * 10**5,
    ],
)
def test_refuses_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        nanoseconds(text)


@pytest.mark.parametrize("text", ["0.5 ns", "0.0001 us", "1.0000000001 s", "0." + "3" * 10**6 + " s"])
def test_refuses_fractions_of_a_nanosecond(text: str) -> None:
    with pytest.raises(ValueError, match="expected a whole number of nanoseconds"):
        nanoseconds(text)


@pytest.mark.parametrize("text", [f"{SAFE + 1} ns", "9007199.254740992 s", "9007200 s", "9" * 10**6 + " ns"])
def test_refuses_what_is_beyond_the_safe_range(text: str) -> None:
    with pytest.raises(ValueError, match=f"expected at most {SAFE} nanoseconds"):
        nanoseconds(text)


@settings(deadline=None)
@given(
    st.from_regex(r"[0-9]{1,9}(\.[0-9]{1,12})?", fullmatch=True),
    st.sampled_from([("ns", 0), ("us", 3), ("ms", 6), ("s", 9)]),
)
def test_agrees_with_decimal_arithmetic(amount: str, unit: tuple[str, int]) -> None:
    with localcontext() as context:
        context.prec = 60
        exact = Decimal(amount) * 10 ** unit[1]
    expected = int(exact) if exact == int(exact) and exact <= SAFE else None
    try:
        found: int | None = nanoseconds(f"{amount} {unit[0]}")
    except ValueError:
        found = None
    assert found == expected


@pytest.mark.parametrize("value", [0, 8, SAFE])
def test_takes_nanoseconds(value: int) -> None:
    assert _Duration.read(value) == value


def test_takes_an_integral_number_as_an_integer() -> None:
    found = _Duration.read(8.0)
    assert (found, type(found)) == (8, int)


@pytest.mark.parametrize("value", [-1, SAFE + 1, 0.5, -1.0, 1e300, float("inf"), float("nan"), True, None, [8], {}])
def test_refuses_other_values(value: object) -> None:
    with pytest.raises(ValueError, match=r"expected a duration \(an integer of nanoseconds .*, found "):
        _Duration.read(value)
