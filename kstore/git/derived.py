"""Keeping files that can be made again, in the git directory: each is replaced as a whole, or stays as it is."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def keep(file: Path, data: bytes) -> None:
    """Put a file in place; where nothing can be written, nothing is."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(file)
