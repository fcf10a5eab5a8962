"""Every published case gets its published verdict and digest, from the text to the name."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kstore.errors import KstoreError
from kstore.reading import read_document
from kstore.schema import SchemaError, check
from tests.registries import SHARED

CASES = SHARED / "conformance" / "cases.jsonl"


def verdict(case: dict[str, Any]) -> str:
    """Give the digest of an accepted document, or `refused`."""
    text = base64.b64decode(case["text_b64"]) if "text_b64" in case else case["text"].encode("utf-8", "surrogatepass")
    try:
        return check(read_document(text, f"case.{case['format']}").value).digest
    except (KstoreError, SchemaError):
        return "refused"


@pytest.mark.skipif(not CASES.exists(), reason="the conformance cases are kept outside this repository")
def test_every_case_gets_its_verdict_and_its_digest() -> None:
    with CASES.open(encoding="utf-8") as lines:
        cases = [case for case in map(json.loads, lines) if not case.get("artefact")]
    assert len(cases) > 2000
    disagreements = []
    for case in cases:
        found, expected = verdict(case), case["digest"] if case["ok"] else "refused"
        if found != expected and not (case.get("exotic") and found == "refused"):
            disagreements.append(f"{case['id']}: expected {expected}, found {found} ({case['why']})")
    assert disagreements == []
