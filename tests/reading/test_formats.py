from __future__ import annotations

from typing import Any

import pytest

from kstore.errors import InvalidDocumentError
from kstore.reading.formats import parse
from kstore.reading.limits import MAX_HEADING

JSON = '{"kind": "a",\n "spec": {"b": [1, 2]}}'
YAML = "kind: a\nspec:\n  b: [1, 2]\n"
VALUE = {"kind": "a", "spec": {"b": [1, 2]}}
ANY_NAME = ["x.json", "x.JSON", "x.yaml", "x.yml", "x.txt", "x", "<stdin>"]
NO_JSON_NAME = ["x.yaml", "x.yml", "x.YAML", "x.txt", "x", "<stdin>"]


def value(text: str, name: str) -> Any:
    return parse(text.encode(), name).value


def refused(text: str, name: str) -> str:
    with pytest.raises(InvalidDocumentError) as caught:
        parse(text.encode(), name)
    return str(caught.value)


@pytest.mark.parametrize("name", ANY_NAME)
@pytest.mark.parametrize("text", [JSON, "\n\t " + JSON + "\n", "\ufeff" + JSON, JSON.replace("\n", "\r\n")])
def test_json_is_json_whatever_its_name(text: str, name: str) -> None:
    parsed = parse(text.encode(), name)
    assert parsed.value == VALUE
    assert parsed.heading == 0


@pytest.mark.parametrize("name", NO_JSON_NAME)
@pytest.mark.parametrize(
    "text",
    [
        YAML,
        "# a comment\n" + YAML,
        "---\n" + YAML,
        "%YAML 1.2\n---\n" + YAML,
        "{kind: a, spec: {b: [1, 2]}}",
        "{'kind': a, spec: {b: [1, 2]}}",
        "--- {kind: a, spec: {b: [1, 2]}}",
        '---\n{"kind": a, "spec": {"b": [1, 2,]},}',
        "# a comment\n{kind: a, spec: {b: [1, 2]}}",
    ],
)
def test_what_does_not_begin_like_json_is_yaml(text: str, name: str) -> None:
    assert value(text, name) == VALUE
    assert parse(text.encode(), name).heading == 0


def test_a_flow_mapping_with_quoted_keys_is_yaml_only_by_name() -> None:
    text = '{"kind": a, "spec": {"b": [1, 2,]}}  # YAML'
    assert value(text, "x.yaml") == value(text, "x.yml") == VALUE
    assert refused(text, "x.json") == "x.json:1:10: expected a value, found `a`"
    assert refused(text, "<stdin>") == "<stdin>:1:10: expected a value, found `a`"
    assert value("# a comment\n" + text, "x.yaml") == VALUE
    assert refused(text.replace("# YAML", "}"), "x.yaml").startswith("x.yaml:1:38: no YAML")


def test_a_name_of_json_allows_nothing_else() -> None:
    assert refused(YAML, "x.json") == "x.json:1:1: expected a value, found `kind`"
    assert refused("{kind: a}", "x.json") == "x.json:1:2: expected a key in double quotes, found `kind`"


@pytest.mark.parametrize("name", ANY_NAME)
@pytest.mark.parametrize(
    ("heading", "lines"),
    [
        ("Liger\n\n", 2),
        ("A title: with a colon\n", 1),
        ("# Markdown\n\n[a](b) {c}\n", 3),
        ("[a](b)\r\n", 1),
        ("\n\nx\n", 3),
    ],
)
def test_a_heading_is_skipped(heading: str, lines: int, name: str) -> None:
    parsed = parse((heading + JSON).encode(), name)
    assert parsed.value == VALUE
    assert parsed.heading == lines
    assert parsed.places.locate(("spec",)) == (lines + 2, 10)


@pytest.mark.parametrize("name", ANY_NAME)
def test_faults_below_a_heading_are_located_in_the_file(name: str) -> None:
    message = refused("Liger\n\n" + JSON.replace(",\n", "\n"), name)
    assert message == f'{name}:4:2: expected `,` or `}}`, found `"spec"`'


def test_a_heading_is_short() -> None:
    assert value("x" * (MAX_HEADING - 2) + "\n" + JSON, "x.json") == VALUE
    assert "expected a value" in refused("x" * MAX_HEADING + "\n" + JSON, "x.json")


@pytest.mark.parametrize("name", ["x.yaml", "x"])
def test_an_array_is_json_too(name: str) -> None:
    assert value(f"[\n{JSON}\n]", name) == [VALUE]
    assert value("[a, b]", name) == ["a", "b"]
    assert value("[]", name) == []
