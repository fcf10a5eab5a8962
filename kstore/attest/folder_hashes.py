"""What working out a root remembers: the hashes of folders, by the ids of their trees.

It lies in the git directory beside the objects that it is about, where one id names one object, so that no other clone
is ever believed. Whoever can write into the git directory could plant a wrong hash here, and a checkpoint made from it
would state a wrong root; checking it without what is remembered (`--no-cache`), here or in another clone, shows that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.git.derived import keep_sealed, recall_sealed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ID = 20
_HASHED = 40
_ROW = _ID + _HASHED
_VERSION = b"kstore roots 1\n"
_MOST = 400_000
"""With more folders than that it begins anew: no registry of a million records has half as many at one time."""


class FolderHashes:
    """One file of rows, 20 bytes of an id and 40 of what `kstore.attest.root.Hasher.known` has for it, after a seal."""

    def __init__(self, derived: Path | None) -> None:
        """Remember in the folder of what kstore derives; None remembers nothing."""
        self._file = None if derived is None else derived / "roots"

    def recall(self) -> dict[bytes, bytes]:
        """Give what is remembered; nothing where that is damaged."""
        if self._file is None:
            return {}
        rows = recall_sealed(self._file, _VERSION)
        if rows is None or len(rows) % _ROW:
            return {}
        return {rows[at : at + _ID]: rows[at + _ID : at + _ROW] for at in range(0, len(rows), _ROW)}

    def keep(self, known: Mapping[bytes, bytes]) -> None:
        """Remember hashes from now on."""
        if self._file is None:
            return
        newest = list(known.items())[-_MOST:]
        rows = b"".join(part for row in newest for part in row)
        keep_sealed(self._file, rows, _VERSION)
