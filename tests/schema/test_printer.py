from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given

from kstore.schema import KINDS, SchemaError, check, json_schema
from tests.schema.strategies import PATIENTLY, VECTORS, damaged, documents

if TYPE_CHECKING:
    from collections.abc import Iterator


BEYOND_JSON_SCHEMA = ("UTF-16 code units", "surrogate", "nanoseconds", "an https URL")
"""What JSON Schema cannot say shows in a problem's message."""


@cache
def validator(kind: str | None = None) -> Any:
    return jsonschema.Draft202012Validator(json_schema(kind))


def agrees(document: Any, kind: str | None) -> bool:
    """Tell whether JSON Schema gives the verdict that it can give."""
    try:
        check(document)
    except SchemaError as error:
        said = all(any(word in text for word in BEYOND_JSON_SCHEMA) for _, text in error.problems)
        return said or not validator(kind).is_valid(document)
    return bool(validator(kind).is_valid(document))


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_is_a_schema_of_the_draft(kind: str | None) -> None:
    schema = json_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema, allow_nan=False)) == schema


def test_an_unknown_kind_has_no_schema() -> None:
    with pytest.raises(KeyError):
        json_schema("Record")


def schemas(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from schemas(item)


@pytest.mark.parametrize("kind", [None, *KINDS])
def test_stands_alone_and_uses_all_that_it_defines(kind: str | None) -> None:
    schema = json_schema(kind)
    references = {each["$ref"] for each in schemas(schema) if "$ref" in each}
    assert references == {f"#/$defs/{name}" for name in schema["$defs"]}


def test_every_object_is_closed() -> None:
    objects = [each for each in json_schema()["$defs"].values() if "properties" in each]
    assert len(objects) > 70
    assert all(each["additionalProperties"] is False for each in objects)


def test_primitives_are_defined_once_by_name() -> None:
    names = {name for name in json_schema()["$defs"] if name.islower()}
    assert names == {"axis", "commit", "digest", "duration", "expression", "instant", "name", "slug", "token", "url"}


def test_can_be_asked_for_twice() -> None:
    assert json_schema("BenchmarkRun") == json_schema("BenchmarkRun")


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["why"] for vector in VECTORS])
def test_agrees_on_the_vectors(vector: dict[str, Any]) -> None:
    document = vector["document"]
    assert agrees(document, None)
    if isinstance(document, dict) and document["kind"] in KINDS:
        assert agrees(document, document["kind"])


@PATIENTLY
@given(documents())
def test_accepts_every_valid_document(document: Any) -> None:
    assert validator(document["kind"]).is_valid(document)


@PATIENTLY
@given(damaged())
def test_agrees_on_damaged_documents(document: Any) -> None:
    kind = document.get("kind")
    assert agrees(document, kind if kind in KINDS else None)
