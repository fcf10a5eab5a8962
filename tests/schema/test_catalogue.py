"""A whole public catalogue: every record of it gets the digest that its publisher gives it."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kstore.schema import Record, check, check_json, stored_record

CATALOGUE = Path(__file__).parents[3] / "shared" / "data" / "catalog-2026-08-16-0022af0b.jsonl.zst"

pytestmark = pytest.mark.skipif(not CATALOGUE.exists(), reason="the shared catalogue is not here")

DIGESTS = {
    "operations": "semanticDigest",
    "workloads": "workloadDigest",
    "implementations": "implementationDigest",
    "benchmark_runs": "runDigest",
    "model_revisions": "modelDigest",
    "serving_stack_revisions": "stackDigest",
    "serving_configurations": "configurationDigest",
    "serving_workloads": "workloadDigest",
    "serving_runs": "runDigest",
}
"""The column of each table that states the digest of the row's own record."""


def rows() -> list[tuple[str, dict[str, Any]]]:
    with zstandard.open(CATALOGUE, "rb") as data, io.TextIOWrapper(data, encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [(row["table"], row["row"]) for row in found if "manifest" in row["row"]]


def test_every_record_gets_its_publishers_digest() -> None:
    stated: Counter[str] = Counter()
    records: dict[str, Record] = {}
    for table, row in rows():
        manifest = row["manifest"]
        bundle = {"run": manifest} if "apiVersion" in manifest else manifest
        found = {role: check_json(json.dumps(document).encode()) for role, document in bundle.items()}
        records |= {record.digest: record for record in found.values()}
        if table in DIGESTS:
            assert found["run"].digest == row[DIGESTS[table]]
            stated[table] += 1
        for reference in found["run"].references() if len(found) > 1 else ():
            if reference.role in found:
                assert found[reference.role].digest == reference.digest
                stated[reference.role] += 1
    assert set(stated) == {*DIGESTS, "protocol", "environment"}
    assert stated["protocol"] == stated["environment"] == stated["benchmark_runs"] == 7857
    assert len(records) == 19_765
    for record in records.values():
        assert stored_record(record.body, record.metadata_bytes) == record
        assert check(json.loads(record.document())) == record
