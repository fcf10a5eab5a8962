"""The table beside a pack that says where in it each object lies (gitformat-pack(5), index versions 1 and 2).

Names are hashes and therefore spread evenly, so where one stands can be guessed: mostly one read finds it.
"""

from __future__ import annotations

import os
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"\xfftOc\0\0\0\2"
_OID = 20
_BUCKETS = 256
_WINDOW = 64
_TRAILER = 40
_FAR = 1 << 31
_OFTEN = 1000
_SMALL = 32 * 2**20
"""A table of up to so many bytes is kept in memory once it was asked often."""


class PackTable:
    """An open index of a pack."""

    def __init__(self, path: Path) -> None:
        """Open the index at a path.

        Raises:
            OSError: It cannot be read.
            ValueError: It is damaged, or of a version that git does not write.
        """
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._asked = 0
        self._whole = b""
        try:
            self._read_head()
        except BaseException:
            os.close(self._file)
            raise

    def _read_head(self) -> None:
        new = os.pread(self._file, len(_MAGIC), 0) == _MAGIC
        start = len(_MAGIC) if new else 0
        head = os.pread(self._file, 4 * _BUCKETS, start)
        ends = [int.from_bytes(head[at : at + 4]) for at in range(0, 4 * _BUCKETS, 4)]
        self._ends = [0, *ends]
        count = ends[-1]
        # In version 1 an offset of 4 bytes stands before each name.
        self._stride = _OID if new else 4 + _OID
        self._names = start + 4 * _BUCKETS
        self._offsets = self._names + count * (_OID + 4) if new else None
        self._far = self._names + count * (_OID + 8)
        needed = self._far if new else self._names + count * self._stride
        self._size = os.fstat(self._file).st_size
        whole = len(head) == 4 * _BUCKETS and self._size >= needed + _TRAILER
        if not whole or any(low > high for low, high in pairwise(ends)):
            raise ValueError("its table of contents is damaged")

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)

    def find(self, oid: bytes) -> int | None:
        """Give the offset in the pack at which an object begins, or None where the pack does not have it."""
        self._asked += 1
        if self._asked == _OFTEN and self._size <= _SMALL:
            self._whole = os.pread(self._file, self._size, 0)
        low, high = self._ends[oid[0]], self._ends[oid[0] + 1]
        stride = self._stride
        skip = stride - _OID
        guess = low + (int.from_bytes(oid[1:4]) * (high - low) >> 24)
        if self._whole:
            first = self._names + max(low, guess - _WINDOW) * stride
            at = self._whole.find(oid, first, self._names + min(high, guess + _WINDOW) * stride)
            number, rest = divmod(at - self._names, stride)
            if at >= 0 and rest == skip:
                return self._offset(number, self._whole[at - skip : at])
        while low < high:
            start = max(low, min(guess - _WINDOW // 2, high - _WINDOW))
            count = min(_WINDOW, high - start)
            block = self._read(count * stride, self._names + start * stride)
            at = block.find(oid)
            while at >= 0 and at % stride != skip:
                at = block.find(oid, at + 1)
            if at >= 0:
                return self._offset(start + at // stride, block[at - skip : at])
            if oid < block[skip:stride]:
                high = start
            elif oid > block[-_OID:]:
                low = start + count
            else:
                return None
            guess = (low + high) // 2
        return None

    def _offset(self, number: int, stated: bytes) -> int:
        if self._offsets is None:
            return int.from_bytes(stated)
        offset = int.from_bytes(self._read(4, self._offsets + 4 * number))
        if offset < _FAR:
            return offset
        return int.from_bytes(self._read(8, self._far + 8 * (offset - _FAR)))

    def _read(self, count: int, at: int) -> bytes:
        if self._whole:
            return self._whole[at : at + count]
        return os.pread(self._file, count, at)
