"""What verifying remembers: which bytes it has found sound before, by their SHA-256, and which folders were as in HEAD.

Every file is read and hashed each time, so that no damage can hide behind what is remembered: other bytes have another
hash. What is saved is working out again that the same bytes are a valid, canonical record. Whoever can write into the
git directory could plant a hash here, for a record that is not valid and yet bears its right name; `--no-cache` is for
who trusts nothing. It never leaves the git directory, so a clone starts without any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore import __version__
from kstore.git.derived import keep_sealed, recall_sealed

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.actions.refer import Said

_VERSION = f"kstore {__version__}, msgpack\n".encode()

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[dict[bytes, bytes], bytes]).decode


class Memory:
    """Hashes of sound files, in one small file for each folder of the registry, and what their records say."""

    def __init__(self, place: Path | None) -> None:
        """Remember in a folder; None remembers nothing."""
        self._place = place

    def recall(self, folder: str) -> tuple[dict[bytes, Said], bytes]:
        """Give what is remembered of a folder.

        Returns:
            SHA-256 to what a record says, or to nothing for metadata; and a mark of the state in which it was as HEAD
            had it, or nothing.
        """
        if self._place is None:
            return {}, b""
        # One of another version, whose rules may have differed, is forgotten.
        data = recall_sealed(self._file(folder), _VERSION)
        return ({}, b"") if data is None else _decode(data)

    def keep(self, folder: str, known: dict[bytes, Said], mark: bytes) -> None:
        """Remember a folder from now on as it was found; see `recall`."""
        if self._place is None:
            return
        # A registry that cannot be written to is verified all the same.
        keep_sealed(self._file(folder), _encode((known, mark)), _VERSION)

    def _file(self, folder: str) -> Path:
        assert self._place is not None, "there is no file without a place"
        return self._place / folder.replace("/", "-")
