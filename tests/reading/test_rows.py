"""Lines of bulk files: what each table's rows hold, which digests they state, and what is no row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kstore.reading.limits import MAX_DOCUMENT_BYTES
from kstore.reading.rows import BUNDLE_TABLES, SINGLE_TABLES, Piece, Row, RowError, catalog_row, document_row

BUNDLE = BUNDLE_TABLES["benchmark_runs"]
DOCUMENT = b'{"kind":"x"}'


def line(table: object = "projects", manifest: object = None, **fields: object) -> bytes:
    row = {"id": 7, **fields, "manifest": manifest, "other": {"manifest": "another one"}}
    return json.dumps({"table": table, "row": row}, separators=(",", ":")).encode()


@pytest.mark.parametrize("table", SINGLE_TABLES)
def test_a_row_with_one_document(table: str) -> None:
    field = SINGLE_TABLES[table]
    stated = {field: "sha256:12"} if field else {}
    assert catalog_row(line(table, {"kind": "x"}, **stated)) == Row(
        table, (Piece(DOCUMENT, field, "sha256:12" if field else None),)
    )
    assert catalog_row(line(table, {"kind": "x"})) == Row(table, (Piece(DOCUMENT, field, None),))
    with pytest.raises(RowError, match=f"expected a manifest in a row of {table}, found none"):
        catalog_row(line(table))


def test_a_row_with_a_bundle() -> None:
    manifest = {role: {"kind": role} for role in BUNDLE}
    stated = {field: f"sha256:{number}" for number, field in enumerate(BUNDLE.values())}
    assert catalog_row(line("benchmark_runs", manifest, **stated)).pieces == tuple(
        Piece(b'{"kind":"%b"}' % role.encode(), field, stated[field]) for role, field in BUNDLE.items()
    )
    assert catalog_row(line("benchmark_runs", {"run": {"kind": "x"}})).pieces == (Piece(DOCUMENT, "runDigest", None),)
    with pytest.raises(RowError, match="expected a manifest in a row of benchmark_runs, found none"):
        catalog_row(line("benchmark_runs"))


@pytest.mark.parametrize("manifest", [{}, {"protocol": {}}, {"run": {}, "more": {}}, {"kind": "x"}])
def test_a_bundle_of_other_roles(manifest: dict[str, Any]) -> None:
    with pytest.raises(RowError, match="expected a manifest of run, protocol, environment in a row of benchmark_runs"):
        catalog_row(line("benchmark_runs", manifest))


def test_a_table_that_holds_nothing_and_one_that_does_after_all() -> None:
    assert catalog_row(line("sources")) == Row("sources", ())
    assert catalog_row(b'{"table":"sources","row":{}}') == Row("sources", ())
    assert catalog_row(line("to_come", {"kind": "x"}, runDigest="sha256:12")) == Row("to_come", (Piece(DOCUMENT),))


@pytest.mark.parametrize(
    "text",
    [
        b"x",
        b"[]",
        b"{}",
        b"null",
        b'{"table":"projects"}',
        b'{"table":7,"row":{"manifest":{}}}',
        b'{"table":"projects","row":null}',
        b'{"table":"projects","row":[]}',
        b'{"table":"projects","row":{"manifest":{"a":1}}',
        b'{"table":"projects","row":{"manifest":{}}} x',
        b'{"table":"operations","row":{"semanticDigest":7,"manifest":{}}}',
        b'{"table":"benchmark_runs","row":{"manifest":[]}}',
        b'{"table":"benchmark_runs","row":{"manifest":"run"}}',
        b'{"table":"\xff","row":{"manifest":{}}}',
        b'{"table":"\\ud800","row":{"manifest":{}}}',
        b'{"table":"projects","row":' + b"[" * 50_000,
    ],
)
def test_what_is_no_row(text: bytes) -> None:
    with pytest.raises(RowError, match="expected a row of the catalogue"):
        catalog_row(text)


def test_a_document_has_at_most_1_mib() -> None:
    for size in (MAX_DOCUMENT_BYTES, MAX_DOCUMENT_BYTES + 1):
        text = "x" * (size - 2)
        for read, given in (
            (document_row, json.dumps(text).encode()),
            (catalog_row, line("projects", text)),
            (catalog_row, line("to_come", text)),
            (catalog_row, line("benchmark_runs", {"run": text})),
        ):
            if size == MAX_DOCUMENT_BYTES:
                assert [len(piece.document) for piece in read(given).pieces] == [size]
            else:
                with pytest.raises(RowError, match="at most 1,048,576 bytes, found 1,048,577"):
                    read(given)


def test_a_line_that_is_a_document() -> None:
    assert document_row(b' {"kind": "x"}\r') == Row("", (Piece(b' {"kind": "x"}\r'),))
