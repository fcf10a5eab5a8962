from __future__ import annotations

from typing import Any

import pytest

from kstore.schema.plain import plain, with_integers
from kstore.schema.problems import SchemaError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"9007199254740993", 9007199254740993),
        (b"-9007199254740991", -9007199254740991),
        (b"123456789012345680000", 1.2345678901234568e20),
        (b"1" + b"0" * 5000, float("inf")),
        (b"-0", 0),
        (b"2.0", 2.0),
        (b'{"a":[null,true,"\\ud800"]}', {"a": [None, True, "\ud800"]}),
    ],
)
def test_reads(text: bytes, expected: object) -> None:
    value = plain(text)
    assert (value, type(value)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "expected JSON"),
        (b"{", "expected JSON"),
        (b"NaN", "NaN is no JSON"),
        (b"[-Infinity]", "-Infinity is no JSON"),
        (b"\xef\xbb\xbf{}", "expected JSON"),
        (b"a\xff", "expected UTF-8, found something else at byte 1"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_refuses(text: bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        plain(text)


@pytest.mark.parametrize("value", [2.0, -0.0, 9007199254740991.0, {"a": [1.0, {"b": 3.0}]}])
def test_integral_numbers_become_integers(value: Any) -> None:
    changed = with_integers(value)
    assert changed == value
    assert "." not in str(changed)


@pytest.mark.parametrize("value", [0.5, 9007199254740992.0, 1e300, float("inf"), "2.0", None, True, [], {}])
def test_everything_else_stays(value: object) -> None:
    changed = with_integers(value)
    assert (changed, type(changed)) == (value, type(value))


def test_deep_nesting_is_a_problem_of_the_document() -> None:
    value: object = 1.0
    for _ in range(5000):
        value = [value]
    with pytest.raises(SchemaError, match="nested too deeply"):
        with_integers(value)
