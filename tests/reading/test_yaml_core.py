from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.reading.yaml_core import resolve, resolve_tagged
from tests.reading.strategies import same

T = "tag:yaml.org,2002:"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, None) for text in ("", "~", "null", "Null", "NULL")),
        *((text, True) for text in ("true", "True", "TRUE")),
        *((text, False) for text in ("false", "False", "FALSE")),
        ("0", 0),
        ("012", 12),
        ("-012", -12),
        ("+8", 8),
        ("0o14", 12),
        ("0x1F", 31),
        ("0x1FFFFFFFFFFFFF", 2**53 - 1),
        ("9007199254740992", 2.0**53),
        ("0o400000000000000000", 2.0**53),
        ("1.", 1.0),
        (".5", 0.5),
        ("-.5", -0.5),
        ("+12e03", 12000.0),
        ("1e3", 1000.0),
        ("4716028826e7", 47160288260000000.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        ("+.Inf", math.inf),
        (".nan", math.nan),
        (".NaN", math.nan),
        ("1e400", math.inf),
    ],
)
def test_core_schema(text: str, value: Any) -> None:
    assert same(resolve(text), value)


@pytest.mark.parametrize(
    "text",
    [
        "yes", "no", "on", "off", "y", "n", "tRUE", "nULL", "none", "None", "1_000", "1:30", "190:20:30", "2026-01-01",
        "2026-01-01T00:00:00Z", "0b11", "0O14", "0o8", "0x", "-0x1F", "+0o7", "0xZZ", "1e", "1e+", "1e5.5", ".", "..",
        "-", "+", "-.", ".e1", "inf", "Infinity", "NaN", "+.nan", ".iNF", "<<", "=", "1,000", "8\u00a0",
        "\u0663", "\uff11", "1f", "0x1.8p1", "--1", " 1", "1\n",
    ],
)  # fmt: skip
def test_everything_else_is_a_string(text: str) -> None:
    assert resolve(text) == text


@given(st.text())
def test_any_text_resolves_to_something(text: str) -> None:
    assert resolve(text) == text or type(resolve(text)) is not str


@pytest.mark.parametrize(
    ("text", "tag", "value"),
    [
        ("8", "!", "8"),
        ("null", T + "str", "null"),
        ("8", T + "int", 8),
        ("0x1F", T + "int", 31),
        ("8", T + "float", 8.0),
        ("9007199254740993", T + "float", 2.0**53),
        ("1.5", T + "float", 1.5),
        ("true", T + "bool", True),
        ("", T + "null", None),
    ],
)
def test_tags(text: str, tag: str, value: Any) -> None:
    assert same(resolve_tagged(text, tag), value)


@pytest.mark.parametrize(
    ("text", "tag", "message"),
    [
        ("yes", T + "bool", "expected a boolean for the tag !!bool, found `yes`"),
        ("1.0", T + "int", "expected a whole number for the tag !!int, found `1.0`"),
        ("x", T + "float", "expected a number for the tag !!float, found `x`"),
        ("true", T + "float", "expected a number for the tag !!float, found `true`"),
        ("a", T + "null", "expected a null for the tag !!null, found `a`"),
        ("a", T + "map", "expected a mapping for the tag !!map, found the scalar `a`"),
        ("a", T + "binary", "found `!!binary`"),
        ("a", "!custom", "found `!custom`"),
        ("a", "!!str", "found `!!str`"),
        ("a", "", "found ``"),
    ],
)
def test_a_tag_that_is_unknown_or_does_not_fit_is_refused(text: str, tag: str, message: str) -> None:
    with pytest.raises(ValueError, match="expected") as caught:
        resolve_tagged(text, tag)
    assert message in str(caught.value)
