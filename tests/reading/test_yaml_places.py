from __future__ import annotations

from typing import Any

from hypothesis import given

from kstore.reading.yaml_places import YamlPlaces
from kstore.reading.yaml_text import read_yaml
from tests.reading.strategies import objects, same
from tests.reading.test_json_places import paths
from tests.reading.test_yaml_text import block, quoted


@given(objects)
def test_at_the_place_that_is_told_the_text_has_the_value(value: dict[str, Any]) -> None:
    text = block(value)
    places = YamlPlaces(text, "f")
    lines = text.split("\n")
    for path, part in paths(value):
        line, column = places.locate(path)
        rest = lines[line - 1][column - 1 :]
        if isinstance(part, dict) and part:
            assert rest == f"? {quoted(next(iter(part)))}"
        elif isinstance(part, list) and part:
            assert rest.startswith("- ")
        else:
            assert same(read_yaml(f"v: {rest}", "f")[0]["v"], part)


def test_what_is_missing_is_located_at_its_nearest_parent() -> None:
    places = YamlPlaces("# comment\na:\n- b: 1\n  c:\n", "f")
    assert places.locate(()) == (2, 1)
    assert places.locate(("a",)) == (3, 1)
    assert places.locate(("a", 0, "b")) == (3, 6)
    assert places.locate(("a", 0, "c")) == (4, 5)
    assert places.locate(("a", 0, "x", 3)) == (3, 3)
    assert places.locate(("a", 7)) == (3, 1)
    assert places.locate(("x",)) == (2, 1)


def test_what_an_alias_stands_for_is_found_at_its_anchor() -> None:
    places = YamlPlaces("a: &x\n  b: &k c\nd: *x\ne: {*k : f}\n", "f")
    assert places.locate(("d", "b")) == places.locate(("a", "b")) == (2, 6)
    assert places.locate(("e", "c")) == (4, 10)
