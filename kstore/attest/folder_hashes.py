"""What working out a root remembers: the hashes of folders, and in large folders those of files, by their ids in git.

It lies in the git directory beside the objects that it is about, where one id names one object, so that no other clone
is ever believed. Whoever can write into the git directory could plant a wrong hash here, and a checkpoint made from it
would state a wrong root; checking it without what is remembered (`--no-cache`), here or in another clone, shows that.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kstore.git.derived import keep_sealed, recall_sealed

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_ID = 20
_FOLDER = 40
_FILE = 32
_FOLDERS = b"kstore roots 1\n"
_FILES = b"kstore root of files 1\n"
_MOST = 400_000
"""With more folders than that it begins anew: no registry of a million records has half as many at one time."""

_LARGE = 256
"""A folder of fewer files is read again in about the time that remembering them all takes."""


class FolderHashes:
    """Files of rows, each 20 bytes of an id and what is known of it, after a seal."""

    def __init__(self, derived: Path | None) -> None:
        """Remember in the folder of what kstore derives; None remembers nothing."""
        self._derived = derived

    def recall(self) -> dict[bytes, bytes]:
        """Give what `kstore.attest.root.Hasher.known` has of folders; nothing where that is damaged."""
        return {} if self._derived is None else _recall(self._derived / "roots", _FOLDERS, _FOLDER)

    def keep(self, known: Mapping[bytes, bytes]) -> None:
        """Remember the hashes of folders from now on."""
        if self._derived is not None:
            _keep(self._derived / "roots", _FOLDERS, list(known.items())[-_MOST:])

    def recall_files(self, folder: str, count: int) -> dict[bytes, bytes]:
        """Give the hashes of files that a folder had, 32 bytes each; nothing where that is damaged.

        Args:
            folder: Its path.
            count: How many files it has now.
        """
        if self._derived is None or count < _LARGE:
            return {}
        return _recall(_place(self._derived, folder), _FILES, _FILE)

    def keep_files(self, folder: str, hashes: Mapping[bytes, bytes]) -> None:
        """Remember the hashes of the files of a folder, where it is large."""
        if self._derived is not None and len(hashes) >= _LARGE:
            _keep(_place(self._derived, folder), _FILES, list(hashes.items()))


def _place(derived: Path, folder: str) -> Path:
    # The path may be anybody's: what is remembered is right by the files' ids, whatever name it is kept under.
    return derived / "hashes" / hashlib.sha256(folder.encode("utf-8", "backslashreplace")).hexdigest()


def _recall(file: Path, version: bytes, length: int) -> dict[bytes, bytes]:
    rows, width = recall_sealed(file, version), _ID + length
    if rows is None or len(rows) % width:
        return {}
    return {rows[at : at + _ID]: rows[at + _ID : at + width] for at in range(0, len(rows), width)}


def _keep(file: Path, version: bytes, rows: list[tuple[bytes, bytes]]) -> None:
    keep_sealed(file, b"".join(part for row in rows for part in row), version)
