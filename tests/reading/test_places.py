from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstore.errors import Fault
from kstore.reading.limits import MAX_FAULTS
from kstore.reading.places import Lines, capped, shown


@given(st.text("ab\r\n", max_size=40), st.lists(st.integers(0, 40), max_size=10))
def test_lines_are_counted_whatever_ends_them_and_in_any_order(text: str, offsets: list[int]) -> None:
    lines = Lines(text)
    for offset in offsets:
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # inside of a line's end no value begins
        before = text[:offset].replace("\r\n", "\n").replace("\r", "\n")
        offset = min(offset, len(text))
        begun = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
        assert lines.at(offset) == (before.count("\n") + 1, offset - begun + 1)


def test_faults_beyond_the_limit_are_only_mentioned() -> None:
    faults = [Fault(str(number), source="f") for number in range(MAX_FAULTS + 5)]
    kept = capped(faults)
    assert kept[:-1] == tuple(faults[:MAX_FAULTS])
    assert str(kept[-1]) == f"f: there are more faults than these {MAX_FAULTS}"
    assert capped(faults[:MAX_FAULTS]) == tuple(faults[:MAX_FAULTS])


def test_a_shown_text_stays_on_its_line() -> None:
    assert shown("a\nb\x1b[31m\u202e") == "`a\\u000ab\\u001b[31m\\u202e`"
    assert shown("a`b") == "'a`b'"
    assert shown("x" * 100) == "`" + "x" * 39 + "…`"
