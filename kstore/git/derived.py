"""Keeping files that can be made again, in the git directory: each is replaced as a whole, or stays as it is."""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_SEAL = hashlib.sha256().digest_size


def keep(file: Path, data: bytes) -> None:
    """Put a file in place; where nothing can be written, nothing is."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(file)


def keep_sealed(file: Path, data: bytes, version: bytes) -> None:
    """Put a file in place as `keep` does, for `recall_sealed` to tell whether it is whole, and of the same version."""
    keep(file, _seal(data, version) + data)


def recall_sealed(file: Path, version: bytes) -> bytes | None:
    """Give what `keep_sealed` has put in place; None where there is nothing, or it is damaged or of another version."""
    try:
        kept = file.read_bytes()
    except OSError:
        return None
    data = kept[_SEAL:]
    return data if kept[:_SEAL] == _seal(data, version) else None


def _seal(data: bytes, version: bytes) -> bytes:
    return hashlib.sha256(version + data).digest()
