"""Reads bulk files in pieces of whole lines, plain or zstd, however large the file is."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_LINE_BYTES = 16 * 1024 * 1024
_PIECE_BYTES = 512 * 1024
_COMPRESSED_BYTES = 1024


def read_lines(path: str, progress: Callable[[int], None] | None = None) -> Iterator[tuple[int, bytes]]:
    """Read a file of lines.

    Args:
        path: The file; `-` is standard input. A name that ends in `.zst` is decompressed.
        progress: Called with the number of bytes of the file that were read since the last call.

    Yields:
        The number of a piece's first line, from 1, and whole lines of about half a mebibyte together.

    Raises:
        KstoreError: The file cannot be read, is no zstd where its name says so, or has a line of over 16 MiB.
    """
    with contextlib.ExitStack() as stack:
        try:
            file: IO[bytes] = sys.stdin.buffer if path == "-" else stack.enter_context(Path(path).open("rb"))
        except OSError as error:
            raise KstoreError(f"{path}: cannot be opened: {error.strerror}") from error
        yield from _whole_lines(_chunks(file, path, progress), path)


def _whole_lines(chunks: Iterator[bytes], path: str) -> Iterator[tuple[int, bytes]]:
    number, size = 1, 0
    waiting: list[bytes] = []
    for chunk in chunks:
        end = chunk.rfind(b"\n") + 1
        if end and size + end >= _PIECE_BYTES:
            piece = b"".join((*waiting, chunk[:end]))
            _refuse_long(piece, number, path)
            yield number, piece
            number += piece.count(b"\n")
            waiting, size = [chunk[end:]], len(chunk) - end
        else:
            waiting.append(chunk)
            size += len(chunk)
        if size > MAX_LINE_BYTES + _PIECE_BYTES:
            _refuse_long(b"".join(waiting), number, path)
    if size:
        piece = b"".join(waiting)
        _refuse_long(piece, number, path)
        yield number, piece


def _refuse_long(piece: bytes, number: int, path: str) -> None:
    """Refuse a piece with a line that is too long; `number` is that of the first."""
    if len(piece) <= MAX_LINE_BYTES:
        return
    for at, line in enumerate(piece.split(b"\n"), number):
        if len(line) > MAX_LINE_BYTES:
            raise KstoreError(f"{path}:{at}: expected a line of at most {MAX_LINE_BYTES:,} bytes, found a longer one")


def _chunks(file: IO[bytes], path: str, progress: Callable[[int], None] | None) -> Iterator[bytes]:
    expand = _expander(path)
    try:
        while data := file.read(_PIECE_BYTES):
            if progress is not None:
                progress(len(data))
            yield from expand(data)
        yield from expand(b"")
    except OSError as error:
        raise KstoreError(f"{path}: cannot be read: {error.strerror}") from error


def _expander(path: str) -> Callable[[bytes], Iterator[bytes]]:
    """Give what turns pieces of a file into pieces of its content; it is told of the end by an empty piece."""
    if not path.endswith(".zst"):
        return _as_it_is
    import zstandard

    decompressor = zstandard.ZstdDecompressor()
    frame = decompressor.decompressobj()
    unfinished = True  # an empty file is no zstd data either

    def expand(data: bytes) -> Iterator[bytes]:
        nonlocal frame, unfinished
        if not data and unfinished:
            raise KstoreError(f"{path}: the zstd data end in the middle; get the file again")
        try:
            # In small pieces: one of 1 KiB cannot grow beyond 32 MiB, whoever made the file.
            for start in range(0, len(data), _COMPRESSED_BYTES):
                piece = data[start : start + _COMPRESSED_BYTES]
                while piece:
                    unfinished = True
                    content = frame.decompress(piece)
                    for at in range(0, len(content), _PIECE_BYTES):
                        yield content[at : at + _PIECE_BYTES]
                    piece = b""
                    if frame.eof:
                        piece, frame, unfinished = frame.unused_data, decompressor.decompressobj(), False
        except zstandard.ZstdError as error:
            raise KstoreError(f"{path}: expected zstd data, as the name says: {error}") from error

    return expand


def _as_it_is(data: bytes) -> Iterator[bytes]:
    yield data
