"""Reading the entries of a pack, and what is compressed in them (gitformat-pack(5)).

Damaged bytes come to a ValueError, an IndexError, an EOFError or a DeflateError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isal.isal_zlib import Decompress

LONGEST_NUMBER = 9
"""The most bytes that a number takes whose size is not fixed."""


def header(block: bytes) -> tuple[int, int, int]:
    """Read the head of a pack entry: the number of its type, its size, and where the head ends."""
    octet = block[0]
    kind, size, shift, at = octet >> 4 & 7, octet & 0x0F, 4, 1
    while octet & 0x80:
        if at > LONGEST_NUMBER:
            raise ValueError("its size has no end")
        octet = block[at]
        size |= (octet & 0x7F) << shift
        shift += 7
        at += 1
    return kind, size, at


def distance(block: bytes, at: int) -> tuple[int, int]:
    """Read how far back in the pack the base of a delta begins."""
    octet = block[at]
    distance, start = octet & 0x7F, at
    while octet & 0x80:
        if at - start > LONGEST_NUMBER:
            raise ValueError("its base's distance has no end")
        at += 1
        octet = block[at]
        distance = distance + 1 << 7 | octet & 0x7F
    if distance == 0:
        raise ValueError("it is told as a change of itself")
    return distance, at + 1


def applied(delta: bytes, base: bytes) -> bytes:
    """Apply a delta to its base.

    Raises:
        ValueError: It does not fit, or is damaged.
    """
    # A fresh import's pack has no deltas, and these imports take as long as reading thousands of objects.
    from dulwich.errors import ApplyDeltaError
    from dulwich.pack import apply_delta

    try:
        return b"".join(apply_delta(base, delta))
    except ApplyDeltaError as error:
        raise ValueError(str(error)) from error


def result_size(delta: bytes) -> int:
    """Read from a delta how long its result is: the second of the two numbers that it begins with."""
    at = size = 0
    for _ in range(2):
        size = shift = 0
        while True:
            octet = delta[at]
            size |= (octet & 0x7F) << shift
            shift += 7
            at += 1
            if not octet & 0x80:
                break
            if shift > LONGEST_NUMBER * 7:
                raise ValueError("the size of its result has no end")
    return size


def inflate(unpacker: Decompress, head: bytes, size: int, blocks: Iterator[bytes]) -> bytes:
    """Go on decompressing until there is exactly as much as there should be."""
    parts, length = [head], len(head)
    waiting = unpacker.unconsumed_tail
    while not unpacker.eof and length <= size:
        waiting = waiting or next(blocks, b"")
        part = unpacker.decompress(waiting, size + 1 - length)
        # With no more bytes there may still be some that it took in and did not give out.
        if not waiting and not part:
            raise EOFError("its compressed bytes end too early")
        waiting = unpacker.unconsumed_tail
        parts.append(part)
        length += len(part)
    if length != size:
        raise ValueError(f"expected {size:,} bytes, found {'more' if length > size else f'{length:,}'}")
    return b"".join(parts)
