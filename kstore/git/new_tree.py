"""Making the trees of a new commit from those of the one before: only folders on the way to a change are made anew."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import ItemsView, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING

from kstore.git.listing import name_in
from kstore.git.packed import TREE, PackedObject, packed_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kstore.git.tree import TreeFiles

_FILE = b"100644 "
_FOLDER = b"40000 "


class ByFolder(Mapping[str, bytes]):
    """Files to commit, blob ids of 20 bytes by path, that can be gone through folder by folder."""

    @abstractmethod
    def folders(self) -> Iterator[tuple[str, dict[bytes, bytes]]]:
        """Go through the folders that have files, in the order of their paths, each with the ids of its files by name.

        Many files share a folder, and most of making trees would be taking their paths apart.
        """

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in self.items())

    def items(self) -> ItemsView[str, bytes]:
        """Be gone through without looking every path up again."""
        return _Items(self)


class _Items(ItemsView[str, bytes]):
    _mapping: ByFolder

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        for folder, files in self._mapping.folders():
            for name, oid in files.items():
                yield f"{folder}/{name.decode()}", oid


def by_folder(blobs: Mapping[str, bytes]) -> Iterator[tuple[str, dict[bytes, bytes]]]:
    """Sort files, given in the order of their paths, into their folders; see `ByFolder.folders`."""
    if isinstance(blobs, ByFolder):
        yield from blobs.folders()
        return
    for folder, files in groupby(blobs.items(), key=lambda blob: blob[0].rpartition("/")[0]):
        yield folder, {path.rpartition("/")[2].encode(): oid for path, oid in files}


def new_trees(files: TreeFiles, folders: Iterable[tuple[str, dict[bytes, bytes]]]) -> Iterator[PackedObject]:
    """Make the trees that have some files added or replaced, from the inside out; the last one is the new root.

    Args:
        files: The tree to start from.
        folders: What `by_folder` gives; every file gets mode 100644.
    """
    open_folders = [_Folder(files, "")]
    for path, changed in folders:
        while not f"{path}/".startswith(open_folders[-1].inside):
            yield _close(open_folders)
        while open_folders[-1].path != path:
            open_folders.append(_Folder(files, open_folders[-1].next_towards(path)))
        open_folders[-1].put(changed)
    while len(open_folders) > 1:
        yield _close(open_folders)
    yield open_folders[0].tree()


def _close(open_folders: list[_Folder]) -> PackedObject:
    """Finish the innermost folder, and enter it in the one that it lies in."""
    folder = open_folders.pop()
    tree = folder.tree()
    open_folders[-1].put_folder(folder.path, tree.oid)
    return tree


class _Folder:
    """A tree that is being made.

    Its entries are kept as a tree has them, mode and name and id, by the names that git sorts them by: a folder's name
    counts as if it ended in `/` (gitformat-tree, `base_name_compare`).
    """

    def __init__(self, files: TreeFiles, path: str) -> None:
        self.path = path
        self.inside = f"{path}/" if path else ""
        self._entries = {_key(entry): entry for entry in files.entries(path)}

    def next_towards(self, path: str) -> str:
        """Give the path of the folder in this one that leads to a deeper folder."""
        return self.inside + path[len(self.inside) :].partition("/")[0]

    def put(self, files: dict[bytes, bytes]) -> None:
        """Add or replace files; one that was a folder until now is a file from now on."""
        entries = self._entries
        if entries:
            for name in files:
                entries.pop(name + b"/", None)
        entries.update({name: b"%b%b\0%b" % (_FILE, name, oid) for name, oid in files.items()})

    def put_folder(self, path: str, oid: bytes) -> None:
        """Add or replace a folder."""
        name = path.rpartition("/")[2].encode()
        self._entries.pop(name, None)
        self._entries[name + b"/"] = b"%b%b\0%b" % (_FOLDER, name, oid)

    def tree(self) -> PackedObject:
        """Give the tree."""
        entries = self._entries
        return packed_object(TREE, b"".join([entries[key] for key in sorted(entries)]))


def _key(entry: bytes) -> bytes:
    """Give the name that git sorts an entry by."""
    name = name_in(entry)
    return name + b"/" if entry.startswith(_FOLDER) else name
