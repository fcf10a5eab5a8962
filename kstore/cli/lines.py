"""Writing a file of lines: whole or not at all, compressed where its name says so."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def writing(path: str) -> Iterator[Callable[[bytes], object]]:
    """Write a file while the block runs; it appears under its name when the block ends well, and not otherwise.

    What is no plain file, such as a pipe or a device, is written to as it is.

    Args:
        path: The file; `-` is standard output. A name that ends in `.zst` is compressed.

    Yields:
        What to call with each piece.

    Raises:
        KstoreError: The file cannot be written.
    """
    if path == "-":
        yield sys.stdout.buffer.write
        sys.stdout.buffer.flush()
        return
    # What a link leads to is replaced, and the link stays.
    target = Path(path).resolve()
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as file, _compressed(file, path) as write:
                yield write
            return
        descriptor, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as file, _compressed(file, path) as write:
                yield write
            # As if the file had been opened by its name: mkstemp lets nobody else read it.
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except BrokenPipeError:
        raise
    except OSError as error:
        raise KstoreError(f"{path}: cannot be written: {error.strerror}") from error


@contextlib.contextmanager
def _compressed(file: IO[bytes], path: str) -> Iterator[Callable[[bytes], object]]:
    if not path.endswith(".zst"):
        yield file.write
        return
    import zstandard

    with zstandard.ZstdCompressor(level=10).stream_writer(file, closefd=False) as writer:
        yield writer.write


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
