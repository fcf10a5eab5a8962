"""Writing files into a working tree, all of them or none, and never over somebody's uncommitted work."""

from __future__ import annotations

import contextlib
import errno
import shutil
from typing import TYPE_CHECKING

from kstore.errors import KstoreError
from kstore.git.finished import beside
from kstore.git.folder import FolderFiles

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kstore.git.files import Files


class Writing:
    """Files on their way into a working tree: prepared elsewhere first, then moved into place together.

    Until `release` nothing in the working tree has changed. After it, `undo` gives every file back the bytes that it
    had. The caller holds the writer's lock.
    """

    def __init__(self, top: Path, waiting_room: Path, changes: Mapping[str, bytes], committed: Files) -> None:
        """Look at what is there now.

        Args:
            top: The top of the working tree.
            waiting_room: A folder for the prepared files, outside the store: what a killed writer leaves there is
                cleared by the next one.
            changes: The bytes to write, by path.
            committed: The files of HEAD.

        Raises:
            KstoreError: A file that would be written has changes that no commit has.
        """
        self._top = top
        self._room = waiting_room
        self._before: dict[str, bytes | None] = {}
        self._folders: list[Path] = []
        self._changes = changes
        present = FolderFiles(top)
        for path, data in changes.items():
            found = present.read(path)
            if found == data:
                continue
            if found is not None and found != committed.read(path):
                raise KstoreError(
                    f"{path}: it has changes that are not committed; commit them, or drop them with "
                    f"`git restore {path}`, and run this again"
                )
            self._before[path] = found

    def __enter__(self) -> Writing:
        shutil.rmtree(self._room, ignore_errors=True)
        try:
            self._room.mkdir(parents=True)
            for number, path in enumerate(self._before):
                (self._room / str(number)).write_bytes(self._changes[path])
                if (before := self._before[path]) is not None:
                    # On a disk that fills up later, putting this back takes no more space.
                    (self._room / f"{number}.before").write_bytes(before)
                self._make_folder((self._top / path).parent)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._room, ignore_errors=True)
        for folder in reversed(self._folders):
            # A folder that has files by now stays.
            with contextlib.suppress(OSError):
                folder.rmdir()

    def release(self) -> None:
        """Move every file into place, in the order in which the changes were given."""
        for number, path in enumerate(self._before):
            _move(self._room / str(number), self._top / path)

    def undo(self) -> None:
        """Give every file the bytes back that it had before `release`."""
        for number, (path, data) in enumerate(self._before.items()):
            if data is None:
                (self._top / path).unlink(missing_ok=True)
            else:
                _move(self._room / f"{number}.before", self._top / path)

    def _make_folder(self, folder: Path) -> None:
        missing = []
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir()
            self._folders.append(folder)


def _move(prepared: Path, target: Path) -> None:
    try:
        prepared.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The git directory is on another file system: copy beside the target first, so that it appears in one step.
        copy = beside(target)
        try:
            shutil.copyfile(prepared, copy)
            copy.rename(target)
        finally:
            copy.unlink(missing_ok=True)


def put_file(room: Path, target: Path, data: bytes) -> None:
    """Put one file into a working tree in one step."""
    room.mkdir(parents=True, exist_ok=True)
    (room / "one").write_bytes(data)
    _move(room / "one", target)
