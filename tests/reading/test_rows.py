"""Lines of bulk files: what each table's rows hold, which digests they state, and what is no row."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kstore.reading.limits import MAX_DOCUMENT_BYTES
from kstore.reading.row_keys import RowError
from kstore.reading.rows import BUNDLE_TABLES, SINGLE_TABLES, Piece, Row, catalog_row, document_row

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


GOOD = b'{"table":"projects","row":{"id":"1","manifest":{"a":1,"a":2}}}'
RUNS = b'{"table":"benchmark_runs","row":{"id":"1","manifest":{"run":{"a":1,"a":2}}}}'

TWICE = [
    pytest.param(b'"table":"projects"', b'"table":"x","table":"projects"', "'table' once in the line", id="table"),
    pytest.param(b'"row":{', b'"row":{"manifest":{}},"row":{', "'row' once in the line", id="row"),
    pytest.param(b'"manifest"', b'"manifest":{},"manifest"', "'manifest' once in its row", id="manifest"),
    pytest.param(b'"manifest"', b'"manifest" : {}, "manifest"', "'manifest' once in its row", id="spaces"),
    pytest.param(b'"manifest"', rb'"m\u0061nifest":{},"manifest"', "'manifest' once in its row", id="escape"),
    pytest.param(b'"manifest"', b'"manifest":null,"manifest":null,"x"', "'manifest' once in its row", id="nulls"),
    pytest.param(b'"id"', b'"id":"0","id"', "'id' once in its row", id="a key that is not read"),
]


@pytest.mark.parametrize(("written", "twice", "expected"), TWICE)
def test_a_key_that_stands_twice_is_seen(written: bytes, twice: bytes, expected: str) -> None:
    for good in (GOOD, GOOD + b"\r"):
        assert catalog_row(good).pieces
        with pytest.raises(RowError, match=f"duplicate key: expected {expected}, found it 2 times"):
            catalog_row(good.replace(written, twice, 1))


def test_a_role_that_stands_twice_is_seen() -> None:
    assert catalog_row(RUNS).pieces
    for again in (b'"run":{},"run"', b'"run": {}, "run"', rb'"r\u0075n":{},"run"'):
        with pytest.raises(RowError, match="duplicate key: expected 'run' once in its manifest, found it 2 times"):
            catalog_row(RUNS.replace(b'"run"', again))


@pytest.mark.parametrize("good", [GOOD, RUNS])
def test_spelling_a_row_otherwise_changes_nothing(good: bytes) -> None:
    """What stands twice inside a document is for those to see who read the document."""
    spaced = good.replace(b",", b" , ").replace(b'"id"', rb'"i\u0064"').replace(b'"1"', rb'"\u00e9 \/ NaN"')
    for text in (b" " + good + b"\t\r", spaced):
        assert [piece.document.replace(b" ", b"") for piece in catalog_row(text).pieces] == [
            piece.document for piece in catalog_row(good).pieces
        ]


def test_what_only_one_reader_takes_for_json_is_no_row() -> None:
    for number in (b"01", b"1.", b"+1", b"NaN", b"tru", b'"\t"'):
        with pytest.raises(RowError, match="expected a row of the catalogue"):
            catalog_row(GOOD.replace(b'"1"', b" " + number))
