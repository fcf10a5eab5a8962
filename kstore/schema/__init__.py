"""The record format `kernelindex.dev/v1alpha1` as types: what a valid record is, and what it refers to."""

from __future__ import annotations

from typing import Any

from kstore.schema.kinds import API_VERSION, KINDS, role_of
from kstore.schema.metadata import Metadata
from kstore.schema.problems import Problem, SchemaError
from kstore.schema.record import (
    Body,
    Record,
    check,
    check_body,
    check_json,
    check_metadata,
    identity,
    stored_record,
)
from kstore.schema.references import REFERENCE_FIELDS, REFERENCES, Reference, ReferenceField

__all__ = [
    "API_VERSION",
    "KINDS",
    "REFERENCES",
    "REFERENCE_FIELDS",
    "Body",
    "Metadata",
    "Problem",
    "Record",
    "Reference",
    "ReferenceField",
    "SchemaError",
    "check",
    "check_body",
    "check_json",
    "check_metadata",
    "identity",
    "json_schema",
    "role_of",
    "stored_record",
]


def json_schema(kind: str | None = None) -> dict[str, Any]:
    """Describe the documents of one kind, or of every kind, as JSON Schema (draft 2020-12).

    Raises:
        KeyError: There is no such kind.
    """
    # Imported when it is asked for: it needs msgspec's inspection of types, which takes a while.
    from kstore.schema.printer import json_schema as describe

    return describe(kind)
