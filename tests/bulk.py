"""Files of many documents, as `kstore import` reads them."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import zstandard

from kstore.schema import check
from tests.registries import CLOSURE, RMS_NORM, SHARED, TVD, Ran, kstore, load

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

EARLIER = SHARED / "data" / "catalog-2026-08-16-94af2ae7.jsonl.zst"
LATER = SHARED / "data" / "catalog-2026-08-16-0022af0b.jsonl.zst"

_TABLES = {
    "SoftwareProject": ("projects", None),
    "OperationSpec": ("operations", "semanticDigest"),
    "WorkloadCase": ("workloads", "workloadDigest"),
    "ImplementationRevision": ("implementations", "implementationDigest"),
}
ROLES = {"run": "runDigest", "protocol": "protocolKey", "environment": "environmentKey"}

REPORT = {
    "rows",
    "documents",
    "added",
    "present",
    "metadata_updated",
    "rejected",
    "rejected_total",
    "skipped",
    "commit",
    "warnings",
}
"""The fields of what `kstore import --json` prints."""


def digest(document: Any) -> str:
    return str(check(document).digest)


def row(table: str, manifest: Any, **fields: Any) -> dict[str, Any]:
    return {"table": table, "row": {**fields, "manifest": manifest, "id": 7}}


def single(document: Any) -> dict[str, Any]:
    """Make the row of the catalogue that has one document."""
    table, field = _TABLES[document["kind"]]
    return row(table, document, **({field: digest(document)} if field else {}))


def bundle(documents: dict[str, Any]) -> dict[str, Any]:
    """Make the row of the catalogue that has a run and what was measured how and where."""
    return row("benchmark_runs", documents, **{ROLES[role]: digest(each) for role, each in documents.items()})


def singles() -> list[Any]:
    """Give the reference documents that stand alone."""
    return list(load(CLOSURE)["documents"])


def bundles() -> list[dict[str, Any]]:
    """Give the reference documents that come as bundles."""
    return [{role: load(path)[role] for role in ROLES} for path in (TVD, RMS_NORM)]


def reference_rows() -> list[dict[str, Any]]:
    """Make a small catalogue of the reference documents, runs first, and a table without any."""
    return [*map(bundle, bundles()), *map(single, singles()), row("sources", None), row("artifacts", None)]


def reference_documents() -> list[Any]:
    """Give the reference documents one by one, 13 different ones."""
    return [*(each for documents in bundles() for each in documents.values()), *singles()]


def lines(values: Iterable[Any]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode() + b"\n" for value in values)


def write(path: Path, values: Iterable[Any]) -> Path:
    """Write a file of lines, compressed where its name says so."""
    data = lines(values)
    path.write_bytes(zstandard.ZstdCompressor().compress(data) if path.suffix == ".zst" else data)
    return path


def run(registry: Path, file: Path | str, *args: str, jobs: int = 1, stdin: bytes = b"") -> Ran:
    """Import a file, in this process alone unless several are asked for."""
    return kstore("--registry", registry, "import", file, "--json", "--jobs", str(jobs), *args, stdin=stdin)


def catalog(registry: Path, file: Path, *args: str, jobs: int = 1) -> Ran:
    """Import a catalogue."""
    return run(registry, file, "--from", "catalog", *args, jobs=jobs)


def exported(registry: Path, file: Path | str, *args: str) -> Ran:
    """Export a registry."""
    return kstore("--registry", registry, "export", file, *args)


def listed(registry: Path) -> set[str]:
    return {each["digest"] for each in kstore("--registry", registry, "list", "--json").ok().json()}


def named(registry: Path, record: str) -> str:
    (name,) = (
        row["name"] for row in kstore("--registry", registry, "list", "--json").json() if row["digest"] == record
    )
    return str(name)


def renamed(document: Any, name: str = "another-name") -> Any:
    changed = copy.deepcopy(document)
    changed["metadata"]["name"] = name
    return changed
