"""Prepare the lines of a bulk file: each document checked, named and compressed, in whatever process does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.refer import Said, said_by
from kstore.errors import InvalidDocumentError, KstoreError
from kstore.git.packed import BLOB, PackedObject, packed_object
from kstore.reading.json_text import ESCAPED_COLON, read_json
from kstore.reading.row_keys import RowError
from kstore.reading.rows import Piece, Row, catalog_row, document_row
from kstore.reading.text import decode
from kstore.schema import SchemaError, check, check_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from kstore.schema import Record

_READERS: dict[str, Callable[[bytes], Row]] = {"catalog": catalog_row, "jsonl": document_row}
FORMATS = tuple(_READERS)

LISTED = 1000
"""How many rejected lines are told with their reasons, of a file and therefore of any part of it."""

TABLES = 100
"""How many tables without documents of their own are counted by name."""

OTHER_TABLES = "(others)"
_TABLE_NAME = 100
_LONGEST = 20_000
"""How many characters a reason may have; those of a hostile line could fill the memory."""


class PreparedRecord(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One record, ready to be stored.

    Attributes:
        digest: Its identity, 32 bytes.
        said: What it refers to.
        body: The blob of its object.
        metadata: The blob of its metadata.
    """

    digest: bytes
    said: Said
    body: PackedObject
    metadata: PackedObject


class PreparedBatch(msgspec.Struct, array_like=True, gc=False):
    """What some lines came to.

    Attributes:
        rows: How many of them are not empty.
        skipped: How many hold no documents, by their table.
        rejected: The numbers of the first `LISTED` lines of which nothing is taken, and why.
        unlisted: How many more of those there are.
        records: The records of the rest, each once; some may stand nowhere, if their lines are rejected.
        places: Where records stand, line by line: the number of the line, and the record's place among `records`.
    """

    rows: int
    skipped: dict[str, int]
    rejected: list[tuple[int, str]]
    unlisted: int
    records: list[PreparedRecord]
    places: list[tuple[int, int]]


def batch(first: int, lines: bytes) -> bytes:
    """Pack lines for `prepare_batch`; `first` is the number of the first, from 1."""
    return first.to_bytes(8) + lines


decode_batch = msgspec.msgpack.Decoder(PreparedBatch).decode
"""Unpacks what `prepare_batch` gives."""

_encode = msgspec.msgpack.Encoder().encode


def prepare_batch(format: str, work: bytes) -> bytes:
    """Prepare some lines; a worker process runs this."""
    return _encode(prepare(format, int.from_bytes(work[:8]), work[8:]))


def prepare(format: str, first: int, lines: bytes) -> PreparedBatch:
    """Prepare lines.

    Args:
        format: Which of `FORMATS` they are in.
        first: The number of the first line.
        lines: Whole lines.
    """
    read = _READERS[format]
    found = PreparedBatch(0, {}, [], 0, [], [])
    known = _Known(found.records)
    for number, line in enumerate(lines.split(b"\n"), first):
        if not line or line.isspace():
            continue
        found.rows += 1
        try:
            row = read(line)
            if row.pieces:
                found.places += [(number, known.place(piece)) for piece in row.pieces]
            else:
                count_table(found.skipped, row.table[:_TABLE_NAME], 1)
        except (RowError, KstoreError) as error:
            if len(found.rejected) < LISTED:
                found.rejected.append((number, _shortened(str(error))))
            else:
                found.unlisted += 1
    return found


def _shortened(reason: str) -> str:
    return reason if len(reason) <= _LONGEST else f"{reason[:_LONGEST]}…"


def count_table(tables: dict[str, int], table: str, rows: int) -> None:
    """Count rows of a table; there can be as many tables as a hostile file has lines."""
    if table not in tables and len(tables) >= TABLES:
        table = OTHER_TABLES
    tables[table] = tables.get(table, 0) + rows


class _Known:
    """The records of a batch. Thousands of runs carry the same protocol and environment; each is checked once."""

    def __init__(self, records: list[PreparedRecord]) -> None:
        self._records = records
        self._places: dict[bytes, tuple[int, str]] = {}

    def place(self, piece: Piece) -> int:
        """Give a document's place among the records.

        Raises:
            RowError: The row states another digest.
            KstoreError: It is no valid document.
        """
        known = self._places.get(piece.document)
        if known is None:
            record = _record(piece.document)
            known = self._places[piece.document] = len(self._records), record.digest
            self._records.append(_prepared(record))
        place, digest = known
        if piece.stated is not None and piece.stated != digest:
            raise RowError(f"{piece.field} states {piece.stated}, but the digest of its document is {digest}")
        return place


def _prepared(record: Record) -> PreparedRecord:
    return PreparedRecord(
        record.digest.raw,
        said_by(record),
        packed_object(BLOB, record.body),
        packed_object(BLOB, record.metadata_bytes),
    )


def _record(text: bytes) -> Record:
    """Check one document's JSON text.

    `check_json` is fast and does not see repeated keys. A text that lost some has more colons than what came of it; it,
    and any text in which colons may be spelled as escapes, is read again with care.
    """
    try:
        record = check_json(text)
    except SchemaError:
        return _carefully(text)
    kept = record.body.count(b":") + record.metadata_bytes.count(b":") + 1
    if text.count(b":") == kept and (b"\\" not in text or ESCAPED_COLON not in text):
        return record
    return _carefully(text)


def _carefully(text: bytes) -> Record:
    try:
        return check(read_json(decode(text, ""), 0, "")[0])
    except InvalidDocumentError as error:
        raise KstoreError("; ".join(str(fault) for fault in error.faults)) from None
    except SchemaError as error:
        raise KstoreError("; ".join(str(error).splitlines())) from None
