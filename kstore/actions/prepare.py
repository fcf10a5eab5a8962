"""Prepare the lines of a bulk file: each document checked, named and compressed, in whatever process does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.refer import Said, said_by
from kstore.digest import Digest
from kstore.errors import InvalidDocumentError, KstoreError
from kstore.git.packed import BLOB, PackedObject, packed_object
from kstore.reading.json_text import ESCAPED_COLON, read_json
from kstore.reading.rows import Piece, Row, RowError, catalog_row, document_row
from kstore.reading.text import decode
from kstore.schema import SchemaError, check, check_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kstore.schema import Record

_READERS: dict[str, Callable[[bytes], Row]] = {"catalog": catalog_row, "jsonl": document_row}
FORMATS = tuple(_READERS)


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


class PreparedLine(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What one line came to: its records, or the reason why none of them is taken."""

    number: int
    table: str
    records: tuple[PreparedRecord, ...]
    reason: str = ""


def batch(first: int, lines: bytes) -> bytes:
    """Pack lines for `prepare_batch`; `first` is the number of the first, from 1."""
    return first.to_bytes(8) + lines


decode_batch = msgspec.msgpack.Decoder(list[PreparedLine]).decode
"""Unpacks what `prepare_batch` gives."""

_encode = msgspec.msgpack.Encoder().encode


def prepare_batch(format: str, work: bytes) -> bytes:
    """Prepare some lines; a worker process runs this."""
    return _encode(list(prepare(format, int.from_bytes(work[:8]), work[8:])))


def prepare(format: str, first: int, lines: bytes) -> Iterator[PreparedLine]:
    """Prepare lines.

    Args:
        format: Which of `FORMATS` they are in.
        first: The number of the first line.
        lines: Whole lines.
    """
    read = _READERS[format]
    repeated: dict[bytes, PreparedRecord] = {}
    for number, line in enumerate(lines.split(b"\n"), first):
        if not line or line.isspace():
            continue
        table = ""
        try:
            row = read(line)
            table = row.table
            records = tuple(_prepare_piece(piece, repeated) for piece in row.pieces)
        except (RowError, KstoreError) as error:
            yield PreparedLine(number, table, (), str(error))
        else:
            yield PreparedLine(number, table, records)


def _prepare_piece(piece: Piece, repeated: dict[bytes, PreparedRecord]) -> PreparedRecord:
    # Thousands of runs carry the same protocol and environment; within a batch each is checked once.
    prepared = repeated.get(piece.document)
    if prepared is None:
        record = _record(piece.document)
        prepared = PreparedRecord(
            record.digest.raw,
            said_by(record),
            packed_object(BLOB, record.body),
            packed_object(BLOB, record.metadata_bytes),
        )
        repeated[piece.document] = prepared
    if piece.stated is not None and piece.stated != f"sha256:{prepared.digest.hex()}":
        raise RowError(
            f"{piece.field} states {piece.stated}, but the digest of its document is {Digest.from_raw(prepared.digest)}"
        )
    return prepared


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
    return record if text.count(b":") == kept and ESCAPED_COLON not in text else _carefully(text)


def _carefully(text: bytes) -> Record:
    try:
        return check(read_json(decode(text, ""), 0, "")[0])
    except InvalidDocumentError as error:
        raise KstoreError("; ".join(str(fault) for fault in error.faults)) from None
    except SchemaError as error:
        raise KstoreError("; ".join(str(error).splitlines())) from None
