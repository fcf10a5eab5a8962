"""Making the trees of a new commit from those of the one before: only folders on the way to a change are made anew."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from kstore.git.packed import TREE, PackedObject, packed_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kstore.git.tree import TreeFiles

_FILE = b"100644 "
_FOLDER = b"40000 "


def new_trees(files: TreeFiles, blobs: Iterable[tuple[str, bytes]]) -> Iterator[PackedObject]:
    """Make the trees that have some files added or replaced, from the inside out; the last one is the new root.

    Args:
        files: The tree to start from.
        blobs: Paths and blob ids, 20 bytes, in the order of the paths; every file gets mode 100644.
    """
    open_folders = [_Folder(files, "")]
    for path, changed in groupby(blobs, key=lambda blob: blob[0].rpartition("/")[0]):
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
        self._entries: dict[bytes, bytes] = {}
        for name, (mode, oid) in files.folder(path).items():
            encoded = name.encode("utf-8", "surrogateescape")
            key = encoded + b"/" if mode & 0o170000 == 0o040000 else encoded
            self._entries[key] = b"%o %b\0%b" % (mode, encoded, bytes.fromhex(oid.decode()))

    def next_towards(self, path: str) -> str:
        """Give the path of the folder in this one that leads to a deeper folder."""
        return self.inside + path[len(self.inside) :].partition("/")[0]

    def put(self, files: Iterable[tuple[str, bytes]]) -> None:
        """Add or replace files; one that was a folder until now is a file from now on."""
        start = len(self.inside)
        for path, oid in files:
            name = path[start:].encode()
            self._entries.pop(name + b"/", None)
            self._entries[name] = b"%b%b\0%b" % (_FILE, name, oid)

    def put_folder(self, path: str, oid: bytes) -> None:
        """Add or replace a folder."""
        name = path.rpartition("/")[2].encode()
        self._entries.pop(name, None)
        self._entries[name + b"/"] = b"%b%b\0%b" % (_FOLDER, name, oid)

    def tree(self) -> PackedObject:
        """Give the tree."""
        entries = self._entries
        return packed_object(TREE, b"".join([entries[key] for key in sorted(entries)]))
