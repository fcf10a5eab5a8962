from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.reading.bundle import find
from tests.reading.strategies import values

DOC = {"apiVersion": "v", "kind": "K"}


def nested(steps: list[str | int], value: Any) -> Any:
    for step in reversed(steps):
        value = {step: value} if isinstance(step, str) else [value]
    return value


def test_a_document_is_a_document_and_is_not_looked_into() -> None:
    value = {**DOC, "spec": {"inner": DOC}}
    contents = find(value)
    assert contents.documents == (((), value),)
    assert contents.others == ()


@pytest.mark.parametrize("steps", [["a"], [0], ["a", 0], ["a", "b", "c"], [0, 0, 0, 0], ["a", 0, "b", 0]])
def test_documents_are_found_up_to_four_levels_deep(steps: list[str | int]) -> None:
    contents = find(nested(steps, DOC))
    assert contents.documents == ((tuple(steps), DOC),)
    assert contents.others == ()


def test_deeper_ones_are_not() -> None:
    deep = nested(["a", "b", "c", "d", "e"], DOC)
    assert find(deep).documents == ()
    contents = find({**deep, "x": DOC})
    assert contents.documents == ((("x",), DOC),)
    assert contents.others == ("a is no document and was ignored",)
    contents = find({"a": {"b": {"c": {"d": {"e": DOC}, "x": DOC}}}})
    assert contents.others == ("a.b.c.d is no document and was ignored (documents are looked for 4 levels deep)",)


def test_what_is_no_document_is_named_by_its_largest_part() -> None:
    contents = find(
        {
            "run": DOC,
            "note": "text",
            "config": {"extra": {"a": [1, 2]}, "protocol": DOC},
            "list": [[], {}],
            "broken": {"kind": "K", "spec": {}},
            "other": {"metadata": {}},
        }
    )
    assert [path for path, _ in contents.documents] == [("run",), ("config", "protocol")]
    assert contents.others == (
        "note is no document and was ignored",
        "config.extra is no document and was ignored",
        "list is no document and was ignored",
        "broken has no `apiVersion`: it is no document and was ignored",
        "other has no `apiVersion` or `kind`: it is no document and was ignored",
    )


@pytest.mark.parametrize("field", ["apiVersion", "kind", "metadata", "spec"])
def test_a_root_with_a_field_of_a_document_is_taken_for_one(field: str) -> None:
    assert find({field: {}}).documents == (((), {field: {}}),)
    assert find({field: {}, "run": DOC}).documents == ((("run",), DOC),)


@pytest.mark.parametrize("value", [None, 1, "text", [], {}, [[[]]], {"a": [1]}])
def test_nothing_is_found_where_there_is_nothing(value: Any) -> None:
    assert find(value).documents == ()


def test_notes_are_bounded() -> None:
    others = find([DOC, *range(1000)]).others
    assert len(others) == 21
    assert others[-1] == "980 more places hold no document and were ignored"
    (note,) = find({"x": DOC, "k\n" * 1000: 1}).others
    assert len(note) < 600
    assert "\n" not in note


@given(st.lists(values, max_size=3), st.lists(values, max_size=3))
def test_documents_keep_their_order(before: list[Any], after: list[Any]) -> None:
    first, second = {**DOC, "n": 1}, {**DOC, "n": 2}
    found = [document for _, document in find([*before, first, *after, second]).documents]
    assert [document["n"] for document in found if document in (first, second)] == [1, 2]
