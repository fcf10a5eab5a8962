"""Looking whether whole packs are what they were when they were written (gitformat-pack(5))."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HASH = 20
_BLOCK = 1 << 20


def damaged_packs(objects: Path) -> Iterator[tuple[str, str]]:
    """Compare the checksum at the end of every pack, and of its table of contents, with their bytes.

    Reading an object checks that object; what no object that is read depends on, only this sees.

    Args:
        objects: The folder `objects` of a repository.

    Yields:
        A damaged file's path below the git directory, and what is wrong with it.
    """
    for path in sorted((objects / "pack").glob("pack-*.*")):
        if path.suffix not in {".pack", ".idx"}:
            continue
        try:
            found, stated = _checksums(path)
        except FileNotFoundError:
            # `git gc` has written everything anew meanwhile.
            continue
        except OSError as error:
            yield f"objects/pack/{path.name}", f"it cannot be read: {error.strerror}"
            continue
        if found != stated:
            yield f"objects/pack/{path.name}", f"expected bytes that hash to {stated.hex()}, found {found.hex()}"


def _checksums(path: Path) -> tuple[bytes, bytes]:
    """Give the SHA-1 of a file without its last 20 bytes, and those."""
    hashed = hashlib.sha1(usedforsecurity=False)
    tail = b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            tail += block
            hashed.update(tail[:-_HASH])
            tail = tail[-_HASH:]
    return hashed.digest(), tail
