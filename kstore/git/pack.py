"""Writing many objects as one pack, streamed to disk."""

from __future__ import annotations

import bisect
import hashlib
import os
import struct
from typing import TYPE_CHECKING

from dulwich.pack import pack_header_chunks

from kstore.git.durable import write_synced

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kstore.git.packed import PackedObject

_HEADER_BYTES = 12
_CHUNK_BYTES = 1 << 20


class PackFile:
    """A pack that is being written, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Begin a pack in a folder, which is made."""
        folder.mkdir()
        self._folder = folder
        # CRC and offset of each entry as 12 bytes: a tuple of numbers would take ten times as much for millions.
        self._entries: dict[bytes, bytes] = {}
        self._file = (folder / "tmp_pack").open("w+b", buffering=_CHUNK_BYTES)
        self._file.write(b"\0" * _HEADER_BYTES)
        self._offset = _HEADER_BYTES

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()

    def put(self, item: PackedObject) -> None:
        """Append an object, unless it is there already."""
        if item.oid not in self._entries:
            self._entries[item.oid] = item.crc.to_bytes(4) + self._offset.to_bytes(8)
            self._file.write(item.entry)
            self._offset += len(item.entry)

    def finish(self) -> None:
        """Finish the pack and its index, and sync both to disk."""
        checksum = self._seal()
        # As git names packs: two of the same name are the same bytes, whoever compressed them.
        name = checksum.hex()
        write_synced(self._folder / f"pack-{name}.idx", _index(self._entries, checksum))
        written = self._folder / "tmp_pack"
        written.chmod(0o444)
        written.rename(self._folder / f"pack-{name}.pack")

    def _seal(self) -> bytes:
        """Write the header, now that the number of objects is known, and the trailing checksum."""
        self._file.seek(0)
        self._file.write(b"".join(pack_header_chunks(len(self._entries))))
        self._file.seek(0)
        hashed = hashlib.sha1(usedforsecurity=False)
        while chunk := self._file.read(_CHUNK_BYTES):
            hashed.update(chunk)
        self._file.write(hashed.digest())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return hashed.digest()


def _index(entries: Mapping[bytes, bytes], checksum: bytes) -> bytes:
    """Spell a pack's index, version 2 (gitformat-pack(5)).

    dulwich's writer hashes and writes each number by itself, which takes ten times as long.

    Args:
        entries: CRC and offset of each object of the pack, by its id.
        checksum: The pack's own.
    """
    rows = sorted([oid + entry for oid, entry in entries.items()])
    below = [bisect.bisect_left(rows, bytes((first,))) for first in range(1, 256)]
    far = [row[_OFFSET:] for row in rows if row[_OFFSET:] >= _FAR]
    if far:
        places = iter(range(len(far)))
        rows = [
            row[:_NEAR] + (0x8000_0000 | next(places)).to_bytes(4) if row[_OFFSET:] >= _FAR else row for row in rows
        ]
    table = b"".join(rows)
    body = b"".join(
        (
            b"\377tOc\0\0\0\2",
            struct.pack(">256L", *below, len(rows)),
            _column(table, 0, _OID),
            _column(table, _OID, _OFFSET),
            _column(table, _NEAR, _ROW),
            *far,
            checksum,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _column(table: bytes, start: int, end: int) -> bytearray:
    """Cut a column out of a table of rows, some bytes of each."""
    width = end - start
    column = bytearray(len(table) // _ROW * width)
    for at in range(width):
        column[at::width] = table[start + at :: _ROW]
    return column


_OID = 20
_OFFSET = 24
_NEAR = 28
_ROW = 32
"""Where the parts of a row begin or end: an id, a CRC of 4 bytes, an offset of 8, of which the last 4 mostly do."""

_FAR = (1 << 31).to_bytes(8)
"""Offsets from here on stand in a table of their own."""
