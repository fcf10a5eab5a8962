"""Reads the lines of bulk files: rows of the public catalogue's export, and documents one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kstore.reading.limits import MAX_DOCUMENT_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable


class Piece(NamedTuple):
    """One document that a line holds.

    Attributes:
        document: Its JSON text, not checked for anything but its size.
        field: The field of the row that states its digest, or empty.
        stated: What that field says.
    """

    document: bytes
    field: str = ""
    stated: str | None = None


class Row(NamedTuple):
    """What a line holds: the documents of a row, or none where its table holds nothing of its own."""

    table: str
    pieces: tuple[Piece, ...]


class RowError(ValueError):
    """A line is no row, or lacks what a row of its table has."""


SINGLE_TABLES = {
    "projects": "",
    "operations": "semanticDigest",
    "workloads": "workloadDigest",
    "implementations": "implementationDigest",
    "model_revisions": "modelDigest",
    "serving_stack_revisions": "stackDigest",
    "serving_configurations": "configurationDigest",
    "serving_workloads": "workloadDigest",
    "serving_runs": "runDigest",
}
"""The tables whose rows have one document for a manifest, and the field that states its digest, where one does."""

BUNDLE_TABLES = {
    "benchmark_runs": {"run": "runDigest", "protocol": "protocolKey", "environment": "environmentKey"},
}
"""The tables whose rows have a bundle for a manifest: its roles, and the field that states the digest of each."""

_NULL = msgspec.Raw(b"null")
_FIELDS = sorted(
    {*SINGLE_TABLES.values(), *(field for roles in BUNDLE_TABLES.values() for field in roles.values())} - {""}
)
_Fields = msgspec.defstruct(
    "Fields", [("manifest", msgspec.Raw, _NULL), *((field, str | None, None) for field in _FIELDS)]
)
_Line = msgspec.defstruct("Line", [("table", str), ("row", _Fields)])
_decode_line: Callable[[bytes], Any] = msgspec.json.Decoder(_Line).decode
_decode_bundle = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def document_row(line: bytes) -> Row:
    """Read a line that is one whole document, as `kstore export` writes it.

    Raises:
        RowError: It is over the size of a document.
    """
    return Row("", (_piece(line),))


def catalog_row(line: bytes) -> Row:
    """Read a row of the catalogue's export, `{"table": …, "row": {…, "manifest": …}}`.

    Raises:
        RowError: It is no such row, or a row of a table with manifests has none.
    """
    try:
        read = _decode_line(line)
        table, row = read.table, read.row
        manifest = bytes(row.manifest)
        if manifest == b"null":
            if table in SINGLE_TABLES or table in BUNDLE_TABLES:
                raise RowError(f"expected a manifest in a row of {table}, found none")
            return Row(table, ())
        roles = BUNDLE_TABLES.get(table)
        if roles is None:
            field = SINGLE_TABLES.get(table, "")
            return Row(table, (_piece(manifest, field, getattr(row, field) if field else None),))
        documents = _decode_bundle(manifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RowError(f"expected a row of the catalogue: {error}") from None
    if "run" not in documents or not documents.keys() <= roles.keys():
        raise RowError(f"expected a manifest of {', '.join(roles)} in a row of {table}, found {', '.join(documents)}")
    pieces = (_piece(text, roles[role], getattr(row, roles[role])) for role, text in documents.items())
    return Row(table, tuple(pieces))


def _piece(document: bytes | msgspec.Raw, field: str = "", stated: str | None = None) -> Piece:
    text = bytes(document)
    if len(text) > MAX_DOCUMENT_BYTES:
        raise RowError(f"expected a document of at most {MAX_DOCUMENT_BYTES:,} bytes, found {len(text):,}")
    return Piece(text, field, stated)
