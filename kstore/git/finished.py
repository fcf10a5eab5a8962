"""Reading a working tree without the files of a write that was never finished.

A writer that is killed while it moves files into place leaves some of them: metadata without their object, say. It has
noted beforehand which tree it was to make. Files that are, byte for byte, what it was to write, and that HEAD does not
have, are not there for a reader; the next writer takes them back (`kstore.git.unfinished`).
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from kstore.git.files import Entry, UnreadableError
from kstore.git.folder import FolderFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kstore.git.files import Files
    from kstore.git.place import Place
    from kstore.git.tree import TreeFiles

_ID = re.compile(rb"[0-9a-f]{40}")
_BESIDE = ".incoming"


def finished_files(place: Place, work_tree: Path) -> Files:
    """Give the files of a working tree, without what somebody has begun to write and not finished.

    Raises:
        KstoreError: HEAD cannot be read.
    """
    files, planned = FolderFiles(work_tree), noted(place)
    if planned is None:
        return files
    from kstore.git.raw import RawObjects
    from kstore.git.snapshot import head_files
    from kstore.git.tree import TreeFiles

    return FinishedFiles(files, TreeFiles(RawObjects(place.common_dir / "objects"), planned), head_files(place))


def noted(place: Place) -> bytes | None:
    """Give the tree whose files somebody began to put into the working tree, 40 hexadecimal digits, or None."""
    try:
        data = note_in(place).read_bytes().strip()
    except OSError:
        return None
    return data if _ID.fullmatch(data) else None


class FinishedFiles:
    """The files of a working tree without those of an unfinished write (a `Files`)."""

    def __init__(self, files: FolderFiles, planned: TreeFiles, committed: TreeFiles) -> None:
        """Read from `files`, where somebody is, or was, about to turn the tree `committed` into `planned`."""
        self._files = files
        self._planned = planned
        self._committed = committed

    def read(self, path: str) -> bytes | None:
        """Give a file's bytes, or None; see `Files.read`."""
        data = self._files.read(path)
        return None if data is None or self._hides(path, data) else data

    def names(self, folder: str) -> list[str]:
        """Give the names in a folder; see `Files.names`."""
        return [name for name in self._files.names(folder) if not self._hides(f"{folder}/{name}")]

    def scan(self, folder: str) -> Iterator[Entry]:
        """Give everything in one folder, files of an unfinished write as such; see `Files.scan`."""
        return map(self._marked, self._files.scan(folder))

    def enter(self, entry: Entry) -> Iterator[Entry]:
        """Give everything in a folder that a scan met; see `Files.enter`."""
        return map(self._marked, self._files.enter(entry))

    def load(self, entry: Entry) -> tuple[int, bytes]:
        """Give mode and bytes of a file that a scan met; see `Files.load`."""
        return self._files.load(entry)

    def _marked(self, entry: Entry) -> Entry:
        hidden = entry.type == "file" and self._hides(entry.path)
        return Entry(entry.path, "unfinished") if hidden else entry

    def _hides(self, path: str, data: bytes | None = None) -> bool:
        try:
            if self._committed.find(path) is not None:
                return False
            if self._planned.find(target_of(path)) is not None and path != target_of(path):
                return True
            planned = self._planned.find(path)
            if planned is None:
                return False
            data = self._files.read(path) if data is None else data
            return data is not None and is_ours(data, bytes.fromhex(planned[1].decode()))
        except UnreadableError:
            return False


def is_ours(data: bytes, oid: bytes) -> bool:
    """Tell whether a file has the bytes of a blob; after a power cut it may have none yet."""
    return not data or hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).digest() == oid


def note_in(place: Place) -> Path:
    """Give the file that the note stands in."""
    return place.git_dir / "kstore" / "unfinished"


def beside(target: Path) -> Path:
    """Give the name under which a file is copied before it gets its own."""
    return target.with_name(f".{target.name}{_BESIDE}")


def target_of(path: str) -> str:
    """Give the path that a file was to get whose name `beside` gave; of any other file, its own."""
    folder, _, name = path.rpartition("/")
    if name.startswith(".") and name.endswith(_BESIDE):
        return f"{folder}/{name[1 : -len(_BESIDE)]}"
    return path
