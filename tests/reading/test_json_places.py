from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from kstore.reading.json_text import read_json
from tests.reading.strategies import same, values

if TYPE_CHECKING:
    from kstore.errors import Path

DECODER = json.JSONDecoder()


def paths(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value), *(found for key, member in members for found in paths(member, (*path, key)))]


@given(values, st.sampled_from([None, 0, 2]), st.text(" \n\t\r", max_size=5), st.booleans())
def test_at_the_place_that_is_told_the_text_has_the_value(
    value: Any, indent: int | None, before: str, ascii_only: bool
) -> None:
    text = before.replace("\r", "") + json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    read, places = read_json(text, 0, "f")
    lines = text.split("\n")
    for path, part in paths(read):
        line, column = places.locate(path)
        rest = "\n".join([lines[line - 1][column - 1 :], *lines[line:]])
        assert same(DECODER.raw_decode(rest)[0], part)


def test_what_is_missing_is_located_at_its_nearest_parent() -> None:
    _, places = read_json('{"a": [\n  {"b": 1}\n]}', 0, "f")
    assert places.locate(("a", 0, "b")) == (2, 9)
    assert places.locate(("a", 0, "c")) == (2, 3)
    assert places.locate(("a", 0, "c", "d", 3)) == (2, 3)
    assert places.locate(("a", 0, "b", "c")) == (2, 9)
    assert places.locate(("a", 1)) == (1, 7)
    assert places.locate(("a", "0")) == (1, 7)
    assert places.locate(("x",)) == (1, 1)


def test_of_a_repeated_key_the_last_value_counts() -> None:
    text = '{"a": {"b": 1},\n "a": {"c": 1e999}}'
    try:
        read_json(text, 0, "f")
    except Exception as error:
        message = str(error)
    assert message == (
        "f:2:2: a: duplicate key; line 1, column 2 has it already\n"
        "f:2:13: a.c: expected a finite number within the range of a double, found `1e999`"
    )
