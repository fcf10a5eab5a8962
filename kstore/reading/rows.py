"""Reads the lines of bulk files: rows of the public catalogue's export, and documents one a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kstore.reading.limits import MAX_DOCUMENT_BYTES
from kstore.reading.row_keys import RowError, refuse_repeats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class Piece(msgspec.Struct, frozen=True, gc=False):
    """One document that a line holds.

    Attributes:
        document: Its JSON text, not checked for anything but its size.
        field: The field of the row that states its digest, or empty.
        stated: What that field says.
    """

    document: bytes
    field: str = ""
    stated: str | None = None


class Row(msgspec.Struct, frozen=True, gc=False):
    """What a line holds: the documents of a row, or none where its table holds nothing of its own."""

    table: str
    pieces: tuple[Piece, ...]


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

_NULL = b"null"
_Line = msgspec.defstruct("Line", [("table", str), ("row", dict[str, msgspec.Raw])], gc=False)
_decode_line: Callable[[bytes], Any] = msgspec.json.Decoder(_Line).decode
_decode_bundle = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_stated = msgspec.json.Decoder(str | None).decode
_encode = msgspec.json.Encoder().encode


def document_row(line: bytes) -> Row:
    """Read a line that is one whole document, as `kstore export` writes it.

    Raises:
        RowError: It is over the size of a document.
    """
    return Row("", (_piece(line),))


def catalog_row(line: bytes) -> Row:
    """Read a row of the catalogue's export, `{"table": …, "row": {…, "manifest": …}}`.

    Raises:
        RowError: It is no such row, a row of a table with manifests has none, or a key stands twice in it outside of
            its documents.
    """
    try:
        read = _decode_line(line)
        table, row = read.table, read.row
        # msgspec's decoder takes the last of two members with one key. A line that had any is longer than what came of
        # it; so is one with spaces in it, which is looked at with care.
        spelled = _encode(read)
        repeats = spelled != line and spelled != line.strip()
        manifest = bytes(row.get("manifest", _NULL))
        roles = BUNDLE_TABLES.get(table)
        documents = {} if roles is None or manifest == _NULL else _decode_bundle(manifest)
        if repeats or (documents and _encode(documents) != manifest):
            refuse_repeats(line, bundle=roles is not None)
        if manifest == _NULL:
            if roles is not None or table in SINGLE_TABLES:
                raise RowError(f"expected a manifest in a row of {table}, found none")
            return Row(table, ())
        if roles is None:
            return Row(table, (_piece(manifest, SINGLE_TABLES.get(table, ""), row),))
        if "run" not in documents or not documents.keys() <= roles.keys():
            expected = f"expected a manifest of {', '.join(roles)} in a row of {table}"
            raise RowError(f"{expected}, found {', '.join(documents)}")
        return Row(table, tuple([_piece(bytes(text), roles[role], row) for role, text in documents.items()]))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RowError(f"expected a row of the catalogue: {error}") from None


def _piece(document: bytes, field: str = "", row: Mapping[str, msgspec.Raw] | None = None) -> Piece:
    if len(document) > MAX_DOCUMENT_BYTES:
        raise RowError(f"expected a document of at most {MAX_DOCUMENT_BYTES:,} bytes, found {len(document):,}")
    stated = row.get(field) if row and field else None
    return Piece(document, field, None if stated is None else _decode_stated(stated))
