from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstore.schema.found import found


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-1.5, "-1.5"),
        (1e16, "1e+16"),
        (2**64, "an integer beyond the 64-bit range"),
        ("", '""'),
        ("a\n\x1b[0m", r'"a\n\u001b[0m"'),
        ("8 \u03bcs", r'"8 \u03bcs"'),
        ("\u202e\ud800", r'"\u202e\ud800"'),
        ("a" * 60, '"' + "a" * 60 + '"'),
        ("a" * 61, '"' + "a" * 50 + '..." (61 characters)'),
        ([], "an array of 0 items"),
        ([[]], "an array of 1 item"),
        ({"a": {}}, "an object of 1 field"),
        (b"", "a Python bytes"),
    ],
)
def test_shows(value: object, expected: str) -> None:
    assert found(value) == expected


@settings(deadline=None)
@given(st.text(st.characters(), max_size=100))
def test_text_is_printable_ascii(text: str) -> None:
    shown = found(text)
    assert shown.isascii()
    assert shown.isprintable()
    assert len(shown) <= 12 * 60 + 30
