from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from msgspec import UNSET

from kstore.schema.rules import AtLeastOne, ExactlyOne, Needs, Rule

CASES: list[tuple[Rule, dict[str, Any], str]] = [
    (AtLeastOne(("a", "b")), {}, "expected at least one of the fields a and b, found none"),
    (AtLeastOne(("a", "b")), {"c": 1}, "expected at least one of the fields a and b, found none"),
    (AtLeastOne(("a", "b")), {"b": 0}, ""),
    (AtLeastOne(("a", "b")), {"a": 1, "b": 2}, ""),
    (ExactlyOne(("a", "b")), {}, "expected exactly one of the fields a and b, found none"),
    (ExactlyOne(("a", "b")), {"a": 1, "b": None}, "expected exactly one of the fields a and b, found 2"),
    (ExactlyOne(("a", "b")), {"a": 0, "c": 1}, ""),
    (Needs("a", "x", "b"), {"a": "x"}, "expected the field b because a is x, found none"),
    (Needs("a", "x", "b"), {"a": "x", "b": 0}, ""),
    (Needs("a", "x", "b"), {"a": "y"}, ""),
    (Needs("a", "x", "b"), {}, ""),
]


@pytest.mark.parametrize(("rule", "fields", "message"), CASES)
def test_says_what_is_wrong(rule: Rule, fields: dict[str, Any], message: str) -> None:
    assert rule.broken(lambda name: fields.get(name, UNSET)) == message


@pytest.mark.parametrize(("rule", "fields", "message"), CASES)
def test_json_schema_says_the_same(rule: Rule, fields: dict[str, Any], message: str) -> None:
    assert jsonschema.Draft202012Validator(rule.json_schema()).is_valid(fields) is (message == "")
