"""Export every record of a registry as JSON lines, the same bytes for the same records."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kstore.digest import Digest
from kstore.errors import UsageError
from kstore.reading.rows import BUNDLE_TABLES, SINGLE_TABLES
from kstore.schema import API_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kstore.registry import Registry
    from kstore.schema import Record

_TABLES = {
    "SoftwareProject": "projects",
    "OperationSpec": "operations",
    "WorkloadCase": "workloads",
    "WorkloadSuite": "workloads",
    "ImplementationRevision": "implementations",
    "BenchmarkRun": "benchmark_runs",
    "ModelRevision": "model_revisions",
    "ServingStackRevision": "serving_stack_revisions",
    "ServingConfiguration": "serving_configurations",
    "ServingWorkload": "serving_workloads",
    "ServingRun": "serving_runs",
    # The catalogue has protocols and environments inside its runs only; these tables are for those of no run.
    "BenchmarkProtocol": "benchmark_protocols",
    "ExecutionEnvironment": "execution_environments",
}
"""The table that a record of each kind is a row of, in the order in which the catalogue has its tables."""


def export(registry: Registry, format: str = "jsonl") -> Iterator[bytes]:
    """Give every record as a line, each read checked.

    Args:
        registry: Whose records.
        format: `jsonl`, whole documents in canonical form by the order of their digests; or `catalog`, rows of the
            public catalogue, by the order of its tables and then of the digests.

    Raises:
        UsageError: There is no such format.
        DamageError: A record is not what its name says.
    """
    formats: dict[str, Callable[[Registry], Iterator[bytes]]] = {"jsonl": _documents, "catalog": _rows}
    if format not in formats:
        raise UsageError(f"there is no format {format!r} to export to; there are {', '.join(formats)}")
    return formats[format](registry)


def _documents(registry: Registry) -> Iterator[bytes]:
    for digest in registry.digests():
        yield registry.get(digest).document() + b"\n"


def _rows(registry: Registry) -> Iterator[bytes]:
    by_table: dict[str, list[bytes]] = {table: [] for table in _TABLES.values()}
    carried: Counter[bytes] = Counter()
    for digest in registry.digests():
        record = registry.get(digest)
        by_table[_TABLES[record.kind]].append(digest.raw)
        carried.update(target.raw for target in _carried(record).values())
    for table, digests in by_table.items():
        for raw in digests:
            if raw not in carried:
                yield _row(registry, table, registry.get(Digest.from_raw(raw)))


def _carried(record: Record) -> dict[str, Digest]:
    """Give the records that the row of a record has in its manifest besides it, by role."""
    roles = BUNDLE_TABLES.get(_TABLES[record.kind], {})
    return {reference.role: reference.digest for reference in record.references() if reference.role in roles}


def _row(registry: Registry, table: str, record: Record) -> bytes:
    roles = BUNDLE_TABLES.get(table)
    if roles is None:
        field = SINGLE_TABLES.get(table, "")
        stated = {field: record.digest} if field else {}
        manifest = record.document()
    else:
        parts = {"run": record}
        parts |= {role: registry.get(digest) for role, digest in _carried(record).items() if digest in registry}
        stated = {roles[role]: part.digest for role, part in parts.items()}
        manifest = b"{%b}" % b",".join(b'"%b":%b' % (role.encode(), part.document()) for role, part in parts.items())
    fields = "".join(f'"{field}":"{digest}",' for field, digest in stated.items())
    head = f'{{"table":"{table}","row":{{{fields}"schemaVersion":"{API_VERSION}","manifest":'
    return b"%b%b}}\n" % (head.encode(), manifest)
