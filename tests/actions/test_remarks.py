"""Of many remarks the first ones by line are kept, whatever order they come in, and all are counted."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kstore.actions.remarks import Remark, Remarks


@given(st.lists(st.integers(1, 30)), st.integers(1, 10))
def test_the_first_lines_are_kept(lines: list[int], most: int) -> None:
    remarks = Remarks(most)
    for number, line in enumerate(lines):
        remarks.add(line, f"reason {number}")
    told = [Remark(line, f"reason {number}") for number, line in enumerate(lines)]
    # Sorting keeps the order in which remarks on one line came.
    assert remarks.listed() == tuple(sorted(told, key=lambda remark: remark.line)[:most])
    assert remarks.total == len(lines)


def test_what_is_only_counted_is_not_listed() -> None:
    remarks = Remarks(2)
    remarks.add(1, "a")
    remarks.count(7)
    assert (remarks.listed(), remarks.total) == ((Remark(1, "a"),), 8)
