"""What verifying remembers: which bytes it has found sound before, by their SHA-256.

Every file is read and hashed each time, so that no damage can hide behind what is remembered: other bytes have another
hash. What is saved is working out again that the same bytes are a valid, canonical record. Whoever can write into the
git directory could plant a hash here, for a record that is not valid and yet bears its right name; `--no-cache` is for
who trusts nothing. It never leaves the git directory, so a clone starts without any.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from typing import TYPE_CHECKING

from kstore import __version__

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.actions.refer import Said

_HASH = 32
_LENGTH = 2
_VERSION = f"kstore {__version__}\n".encode()


class Memory:
    """Hashes of sound files, in one small file for each folder of the registry, and what their records say."""

    def __init__(self, place: Path | None) -> None:
        """Remember in a folder; None remembers nothing."""
        self._place = place

    def recall(self, folder: str) -> dict[bytes, Said]:
        """Give what is remembered of a folder: SHA-256 to what a record says, or to nothing for metadata."""
        if self._place is None:
            return {}
        try:
            data = self._file(folder).read_bytes()
        except OSError:
            return {}
        seal, body = data[:_HASH], data[_HASH:]
        if seal != _seal(body):
            # Of another version, whose rules may have differed, or damaged.
            return {}
        known = {}
        at = 0
        while at < len(body):
            key, at = body[at : at + _HASH], at + _HASH
            size, at = int.from_bytes(body[at : at + _LENGTH]), at + _LENGTH
            known[key], at = body[at : at + size], at + size
        return known

    def keep(self, folder: str, known: dict[bytes, Said]) -> None:
        """Remember a folder from now on as it was found."""
        if self._place is None:
            return
        body = b"".join(part for key, said in known.items() for part in (key, len(said).to_bytes(_LENGTH), said))
        file = self._file(folder)
        temporary = file.with_name(f"{file.name}.{os.getpid()}")
        # A registry that cannot be written to is verified all the same.
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(_seal(body) + body)
            temporary.replace(file)

    def _file(self, folder: str) -> Path:
        assert self._place is not None, "there is no file without a place"
        return self._place / folder.replace("/", "-")


def _seal(body: bytes) -> bytes:
    return hashlib.sha256(_VERSION + body).digest()
