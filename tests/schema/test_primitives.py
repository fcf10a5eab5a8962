from __future__ import annotations

import calendar
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstore.schema import primitives
from kstore.schema.primitives import LARGEST, SAFE

if TYPE_CHECKING:
    from datetime import date, time


def accepts(primitive: Any, value: object) -> bool:
    try:
        msgspec.convert(value, primitive)
    except msgspec.ValidationError:
        return False
    return True


GOOD: dict[str, list[Any]] = {
    "Digest": ["sha256:" + "0123456789abcdef" * 4],
    "Token": ["a", "z9_", "constructor"],
    "Axis": ["n", "n_1"],
    "Slug": ["0", "a-", "9-x", "a" * 100],
    "Name": ["0", "a._-", "a" * 200],
    "Commit": ["0123456789" * 4],
    "Expression": ["n", "(n + 1) // 2 * 3 % 4 - m_0", " ", "n" * 200],
    "Instant": ["2024-02-29T00:00Z", "0000-02-29T23:59:59.0000000000000000000000001Z", "9999-12-31T00:00:00Z"],
    "Text50": ["", "\n", "a" * 50],
    "Int": [0, SAFE, -SAFE],
    "Count": [0, SAFE],
    "Positive": [1, SAFE],
    "Num": [0, -1, 1e308, -LARGEST, LARGEST, 1e20],
    "NumNotNegative": [0, 0.0, -0.0, 5e-324],
    "NumPositive": [5e-324, 1, LARGEST],
    "Ratio": [0, 1, 0.5, -0.0],
    "Dim": [0, "n", SAFE],
}

BAD: dict[str, list[Any]] = {
    "Digest": ["", "sha256:", "0" * 64, "sha256:" + "A" * 64, "sha256:" + "0" * 63, "sha256:" + "0" * 65, 5],
    "Token": ["", "A", "_a", "9", "a-b", "a b", "a\n", "\na", "\u00e9", "a\u0663", None, 1, ["a"]],
    "Axis": ["", "N", "1n", "n\n"],
    "Slug": ["", "-a", "a_b", "A", "a\n", "a" * 101],
    "Name": ["", "-a", ".a", "a/b", "a b", "a\n", "a" * 201],
    "Commit": ["", "0" * 39, "0" * 41, "g" * 40, "A" * 40, "0" * 40 + "\n"],
    "Expression": ["", "n.m", "N", "n\n", "\tn", "n" * 201],
    "Instant": [
        "2024-02-29",
        "2024-02-29T00Z",
        "2024-02-29T00:00",
        "2024-02-29t00:00z",
        "2024-02-29 00:00Z",
        "2024-02-29T00:00+00:00",
        "2024-02-29T24:00Z",
        "2024-02-29T23:60Z",
        "2024-12-31T23:59:60Z",
        "2024-02-29T00:00:00.Z",
        "2024-02-29T00:00Z\n",
        "10000-01-01T00:00Z",
        "\uff12024-02-29T00:00Z",
        20240229,
    ],
    "Text50": ["a" * 51, 1, None, ["a"]],
    "Int": [SAFE + 1, -SAFE - 1, 0.5, True, "1", None],
    "Count": [-1, SAFE + 1, False],
    "Positive": [0, -1, True],
    "Num": [float("nan"), float("inf"), float("-inf"), 10**400, True, "1", None],
    "NumNotNegative": [-5e-324, float("nan"), float("inf")],
    "NumPositive": [0, 0.0, -0.0, -1, float("nan"), float("inf")],
    "Ratio": [1.0000000000000002, -5e-324, float("nan"), 2],
    "Dim": [-1, 0.5, "N", "", True, None],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in GOOD.items() for value in values])
def test_accepts(name: str, value: object) -> None:
    assert accepts(getattr(primitives, name), value)


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_refuses(name: str, value: object) -> None:
    assert not accepts(getattr(primitives, name), value)


def test_days_of_every_kind_of_year() -> None:
    # The calendar repeats after 400 years; `calendar` knows no year 0, which is a leap year like 400.
    for year in range(401):
        for month in range(1, 14):
            for day in (0, 1, 28, 29, 30, 31, 32):
                like = year or 400
                exists = month <= 12 and 1 <= day <= calendar.monthrange(like, month)[1]
                text = f"{year:04}-{month:02}-{day:02}T00:00Z"
                assert accepts(primitives.Instant, text) is exists, text


@settings(deadline=None)
@given(st.dates(), st.times())
def test_every_instant_that_python_knows(day: date, time: time) -> None:
    assert accepts(primitives.Instant, f"{day.isoformat()}T{time.isoformat()}Z")
