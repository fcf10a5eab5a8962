"""Reads the bytes of files that people name."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import BinaryIO

from kstore.errors import KstoreError
from kstore.reading.limits import MAX_FILE_BYTES


def read_file(path: str) -> bytes:
    """Read a whole file, or standard input for `-`.

    Pipes and devices are read too (`kstore add <(…)`), but never beyond the limit.

    Args:
        path: The file's name.

    Returns:
        Its bytes, at most 16 MiB.

    Raises:
        KstoreError: It does not exist, is a folder, may not be read, or is too large.
    """
    if path == "-":
        return _read_standard_input()
    try:
        with _open(path) as file:
            status = os.fstat(file.fileno())
            data = _bounded(file, path, status.st_size if stat.S_ISREG(status.st_mode) else 0)
    except (OSError, ValueError) as error:
        raise KstoreError(f"{path}: {_reason(path, error)}") from None
    if not data and stat.S_ISFIFO(status.st_mode):
        raise KstoreError(f"{path}: expected a document, found a pipe that nobody writes to")
    return data


def _open(path: str) -> BinaryIO:
    """Open without waiting: a named pipe without a writer would block for ever."""
    waiting = getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_RDONLY | waiting | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0))
    try:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise IsADirectoryError
        if waiting:
            os.set_blocking(descriptor, True)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _read_standard_input() -> bytes:
    if sys.stdin is None:
        raise KstoreError("standard input is closed; give a file, or pipe a document in")
    try:
        return _bounded(sys.stdin.buffer, "standard input", 0)
    except OSError as error:
        raise KstoreError(f"standard input: {_reason('-', error)}") from None


def _bounded(file: BinaryIO, name: str, size: int) -> bytes:
    """Read to the end, which must come within the limit."""
    if size <= MAX_FILE_BYTES:
        data = file.read(MAX_FILE_BYTES + 1)
        if len(data) <= MAX_FILE_BYTES:
            return data
    found = f"found {size:,}" if size else "found more"
    raise KstoreError(f"{name}: expected at most {MAX_FILE_BYTES:,} bytes, {found}; split the file")


def _reason(path: str, error: OSError | ValueError) -> str:
    """Say in words why a file cannot be read."""
    if isinstance(error, FileNotFoundError):
        if Path(path).is_symlink():
            return f"this link leads to {Path(path).readlink()}, which does not exist"
        return "no such file" if path else "expected the name of a file, found an empty one"
    if isinstance(error, IsADirectoryError):
        return "expected a file, found a folder; name the files in it"
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, ValueError):
        return f"no name of a file: {error}"
    return error.strerror or type(error).__name__
