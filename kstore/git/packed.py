"""Objects in the form that a pack holds them in, made without dulwich, so that worker processes start fast."""

from __future__ import annotations

import hashlib
from functools import lru_cache

import msgspec

from kstore.git.deflate import compress, crc32, decompressobj

COMMIT = 1
TREE = 2
BLOB = 3
_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}


class PackedObject(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One object, ready to be put into a pack (gitformat-pack(5)).

    Attributes:
        oid: Its id, 20 bytes.
        entry: Its header and compressed bytes.
        crc: The CRC-32 of the entry, which the pack's index has.
    """

    oid: bytes
    entry: bytes
    crc: int


def packed_object(kind: int, data: bytes) -> PackedObject:
    """Compress an object's content into a pack entry.

    Args:
        kind: The number of its type: 1 a commit, 2 a tree, 3 a blob.
        data: Its content.
    """
    size = len(data)
    # SHA-1 is git's name for the object; a record's identity never depends on it.
    oid = hashlib.sha1(b"%b %d\0%b" % (_NAMES[kind], size, data), usedforsecurity=False).digest()
    entry = _header(kind, size) + compress(data)
    return PackedObject(oid, entry, crc32(entry))


def loose(item: PackedObject) -> bytes:
    """Give what a file of its own holds of an object: type, size and content, compressed as one."""
    start = next(at for at, octet in enumerate(item.entry) if not octet & 0x80) + 1
    data = decompressobj().decompress(item.entry[start:])
    return compress(b"%b %d\0%b" % (_NAMES[item.entry[0] >> 4 & 7], len(data), data))


@lru_cache(4096)
def _header(kind: int, size: int) -> bytes:
    """Spell the head of a pack entry: type, and size in groups of 7 bits after the first 4 (gitformat-pack(5))."""
    head = bytearray()
    octet = kind << 4 | size & 0x0F
    size >>= 4
    while size:
        head.append(octet | 0x80)
        octet = size & 0x7F
        size >>= 7
    head.append(octet)
    return bytes(head)
