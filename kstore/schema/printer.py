"""The record format as JSON Schema (draft 2020-12), printed from the same types that validate."""

from __future__ import annotations

from typing import Any

import msgspec

from kstore.schema.kinds import KINDS, document_type
from kstore.schema.rules import Ruled

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PLACE = "#/$defs/{name}"
_LIMITS = (
    "What JSON Schema cannot say is for kstore to check: lengths count UTF-16 code units; a url is accepted by the "
    "WHATWG URL parser; a duration with a unit is a whole number of nanoseconds from 0 to 2^53-1; no key is repeated; "
    "no text holds a lone surrogate. The digest is that of {apiVersion, kind, spec} in RFC 8785 form, once durations "
    "are integers and sets are sorted and without duplicates."
)


def json_schema(kind: str | None = None) -> dict[str, Any]:
    """Describe the documents of one kind, or of every kind, in one self-contained schema.

    Raises:
        KeyError: There is no such kind.
    """
    kinds = KINDS if kind is None else (kind,)
    documents = [document_type(each) for each in kinds]
    roots, definitions = msgspec.json.schema_components(documents, schema_hook=_custom, ref_template=_PLACE)
    for cls in Ruled.__subclasses__():
        if cls.__name__ in definitions:
            definitions[cls.__name__]["allOf"] = [rule.json_schema() for rule in cls.rules]
    primitives: dict[str, Any] = {}
    definitions = {name: _with_primitives_named(schema, primitives) for name, schema in definitions.items()}
    title = f"{kind} record" if kind else "Record"
    root: dict[str, Any] = {"$schema": _DRAFT, "title": title, "$comment": _LIMITS}
    root |= {"oneOf": list(roots)} if kind is None else roots[0]
    return root | {"$defs": definitions | primitives}


def _custom(cls: Any) -> dict[str, Any]:
    schema: dict[str, Any] = cls.json_schema
    return schema


def _with_primitives_named(schema: Any, primitives: dict[str, Any]) -> Any:
    """Copy a schema with each primitive, told by its lower-case title, moved to `primitives` and referred to."""
    if isinstance(schema, list):
        return [_with_primitives_named(item, primitives) for item in schema]
    if not isinstance(schema, dict):
        return schema
    title = schema.get("title")
    if isinstance(title, str) and title.islower():
        # msgspec leaves out the type of a key, which is a string anyway.
        primitives[title] = schema if "anyOf" in schema else {"type": "string", **schema}
        return {"$ref": _PLACE.format(name=title)}
    if any(each.get("type") == "number" for each in schema.get("anyOf", ())):
        schema = _with_numbers_whole(schema)
    return {key: _with_primitives_named(item, primitives) for key, item in schema.items()}


def _with_numbers_whole(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop the integers from a choice that has the numbers, which in JSON Schema are numbers like all others."""
    choices = [each for each in schema["anyOf"] if each.get("type") != "integer"]
    rest = {key: item for key, item in schema.items() if key != "anyOf"}
    return rest | (choices[0] if len(choices) == 1 else {"anyOf": choices})
