"""The publisher's verdicts on JSON documents, where the documents' value and not their reading is the point."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kstore.schema import KINDS, SchemaError, check, check_json
from tests.schema.test_printer import agrees

CASES = Path(__file__).parents[3] / "shared" / "conformance" / "cases.jsonl"

pytestmark = pytest.mark.skipif(not CASES.exists(), reason="the shared conformance cases are not here")

READING = {"duplicate-key", "json-syntax", "encoding"}
"""Groups of cases about text: what a repeated key, a comment or a byte-order mark means is not this layer's to say."""


def cases() -> list[dict[str, Any]]:
    with CASES.open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    chosen = [case for case in found if case["format"] == "json" and case["group"] not in READING]
    return [case for case in chosen if not case.get("artefact") or case["group"] == "url"]


def digest(make: Any, document: Any) -> str | None:
    try:
        return str(make(document).digest)
    except SchemaError:
        return None


def value(text: str) -> Any:
    """Read JSON, or raise ValueError; Python would take NaN and Infinity, too."""
    try:
        return json.loads(text, parse_constant=lambda constant: int("no number: " + constant))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def test_the_fast_road_has_the_publishers_verdicts() -> None:
    wrong = [case["id"] for case in cases() if digest(check_json, case["text"].encode()) != case["digest"]]
    assert wrong == []
    assert len(cases()) > 1400


def test_the_road_of_values_has_the_publishers_verdicts() -> None:
    wrong, right = [], 0
    for case in cases():
        try:
            document = value(case["text"])
        except ValueError:
            assert not case["ok"]
            continue
        if digest(check, document) == case["digest"]:
            right += 1
        else:
            wrong.append(case["id"])
    assert wrong == []
    assert right > 1400


def test_json_schema_has_the_verdicts_that_it_can_have() -> None:
    wrong, right = [], 0
    for case in cases():
        try:
            document = value(case["text"])
        except ValueError:
            continue
        kind = document.get("kind") if isinstance(document, dict) else None
        if agrees(document, kind if isinstance(kind, str) and kind in KINDS else None):
            right += 1
        else:
            wrong.append(case["id"])
    assert wrong == []
    assert right > 1400
