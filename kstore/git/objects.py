"""Writing git objects so that all of them are on disk before any of them counts."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.git.durable import sync_folder, write_synced
from kstore.git.pack import PackFile
from kstore.git.packed import PackedObject, loose, packed_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dulwich.objects import ShaFile

LOOSE_MOST = 100
"""Up to so many objects are written as files of their own, which `git gc` gathers some day; more make a pack, as when
git receives them (transfer.unpackLimit in git-config(1))."""

_TRIES = 100
_PREFIX = "tmp_objdir-kstore-"


class Quarantine:
    """Objects in a folder of their own, moved in among the repository's once all are written and synced.

    A full disk or a failing one is met before anything has changed: leaving the `with` block without `release` removes
    the folder, and the repository is byte for byte what it was. git's receive-pack works the same way
    (git-receive-pack(1), "Quarantine environment"), and the next writer, or `git gc`, clears such a folder after a
    crash. The caller holds the writer's lock.
    """

    def __init__(self, objects_dir: Path) -> None:
        self._objects_dir = objects_dir
        self._folder: Path | None = None
        self._few: dict[bytes, PackedObject] = {}
        self._pack: PackFile | None = None

    def __enter__(self) -> Quarantine:
        # Only who holds the writer's lock has one: these are of killed writers.
        for left in self._objects_dir.glob(f"{_PREFIX}*"):
            shutil.rmtree(left, ignore_errors=True)
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=self._objects_dir))
        return self

    def __exit__(self, *_: object) -> None:
        if self._pack is not None:
            self._pack.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def folder(self) -> Path:
        """The folder, which is laid out like a repository's `objects`."""
        assert self._folder is not None, "a quarantine is used inside its with block"
        return self._folder

    def put(self, item: PackedObject) -> None:
        """Take an object in, unless it is there already."""
        if self._pack is None:
            self._few[item.oid] = item
            if len(self._few) > LOOSE_MOST:
                self._pack = PackFile(self.folder / "pack")
                for early in self._few.values():
                    self._pack.put(early)
                self._few.clear()
        else:
            self._pack.put(item)

    def write(self, objects: Iterable[ShaFile]) -> None:
        """Take objects in that dulwich made."""
        for item in objects:
            self.put(packed_object(item.type_num, item.as_raw_string()))

    def seal(self) -> None:
        """Sync everything to disk; from then on it can be read from `folder`."""
        if self._pack is not None:
            self._pack.finish()
        for item in self._few.values():
            name = item.oid.hex()
            path = self.folder / name[:2] / name[2:]
            path.parent.mkdir(exist_ok=True)
            write_synced(path, loose(item))

    def release(self) -> None:
        """Move everything in among the repository's objects, and sync the folders that name it."""
        changed: set[Path] = set()
        for folder in self.folder.iterdir():
            target = self._objects_dir / folder.name
            # git opens a pack by its index, so `.pack` comes before `.idx`.
            for path in sorted(folder.iterdir(), key=lambda path: path.suffix, reverse=True):
                # One that is there already may be damaged, or so old that `git gc` is about to drop it.
                _move(path, target)
                changed.update((target, self._objects_dir))
        for folder in changed:
            # One that is gone by now was emptied by `git gc`, which has put what was in it into a pack.
            with contextlib.suppress(FileNotFoundError):
                sync_folder(folder)


def _move(path: Path, folder: Path) -> None:
    """Move a file into a folder that may not be there, or not any more: `git gc` removes those that it empties."""
    for _ in range(_TRIES):
        folder.mkdir(exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            path.rename(folder / path.name)
            return
    path.rename(folder / path.name)
