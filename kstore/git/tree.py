"""Reading the files of a commit from its tree, loose or packed, without a checkout."""

from __future__ import annotations

import stat
from collections import Counter
from typing import TYPE_CHECKING

from kstore.git.files import Entry, Type, UnreadableError, printable, too_large
from kstore.git.listing import NOTHING, Listing, mode_in, name_in
from kstore.git.raw import BLOB, MAX_TREE, TREE, HugeObjectError
from kstore.layout import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.git.raw import RawObjects


_TYPES: dict[int, Type] = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    0o160000: "submodule",
}

_SELDOM = 16
"""How often a folder is asked for a name before it is taken apart."""


def type_of(mode: int) -> Type:
    """Say what an entry of a tree is, by its git mode."""
    return _TYPES.get(stat.S_IFMT(mode), "special")


class TreeFiles:
    """The files of one git tree (a `Files`).

    Attributes:
        root: The tree's id, 40 hexadecimal digits, or None.
    """

    def __init__(self, objects: RawObjects, root: bytes | None) -> None:
        """Read below the tree `root`; None is the empty tree of a repository without commits."""
        self._objects = objects
        self.root = root
        self._listings: dict[str, Listing] = {}
        self._folders: dict[str, dict[str, tuple[int, bytes]]] = {}
        self._asked: Counter[str] = Counter()

    def __reduce__(self) -> tuple[type[TreeFiles], tuple[RawObjects, bytes | None]]:
        """Travel to another process without what was read already."""
        return TreeFiles, (self._objects, self.root)

    def read(self, path: str) -> bytes | None:
        """Give a file's bytes, or None; see `Files.read`."""
        found = self.find(path)
        if found is None:
            return None
        mode, oid = found
        if stat.S_IFMT(mode) != stat.S_IFREG:
            raise UnreadableError(f"{path}: expected a plain file, found git mode {mode:06o}")
        return self._blob(oid, path)

    def find(self, path: str) -> tuple[int, bytes] | None:
        """Give the mode and the object id at a path, or None where nothing has it."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders and self._asked[folder] < _SELDOM:
            # Looking for a name in a folder's bytes is far less work than taking a folder of thousands apart.
            self._asked[folder] += 1
            entry = self._listing(folder).named(name.encode("utf-8", "surrogateescape"))
            return None if entry is None else (mode_in(entry), _oid_in(entry))
        return self.folder(folder).get(name)

    def names(self, folder: str) -> list[str]:
        """Give the names in a folder; see `Files.names`."""
        return sorted(self.folder(folder))

    def folder(self, path: str) -> dict[str, tuple[int, bytes]]:
        """Give the entries of a folder: name to mode and object id; empty where there is no such folder."""
        known = self._folders.get(path)
        if known is None:
            known = {name: (mode, oid) for name, mode, oid in self._list(path)}
            self._folders[path] = known
            self._listings.pop(path, None)
        return known

    def entries(self, folder: str) -> list[bytes]:
        """Give the entries of a folder as a tree has them, mode and name and id, in its order."""
        return self._listing(folder, keep=False).entries

    def scan(self, folder: str) -> Iterator[Entry]:
        """Give everything in one folder; see `Files.scan`."""
        try:
            entries = self._list(folder)
        except UnreadableError as error:
            yield Entry(folder, "unreadable", reason=str(error))
            return
        met: set[str] = set()
        for name, mode, oid in entries:
            kind = "duplicate" if name in met else type_of(mode)
            met.add(name)
            yield Entry(f"{folder}/{printable(name)}", kind, mode, oid)

    def enter(self, entry: Entry) -> Iterator[Entry]:
        """Give everything in a folder that a scan met; see `Files.enter`."""
        return self.scan(entry.path)

    def load(self, entry: Entry) -> tuple[int, bytes]:
        """Give mode and bytes of a file that a scan met; see `Files.load`."""
        return entry.mode, self._blob(entry.oid, entry.path)

    def _list(self, path: str) -> list[tuple[str, int, bytes]]:
        return [
            (name_in(entry).decode("utf-8", "surrogateescape"), mode_in(entry), _oid_in(entry))
            for entry in self._listing(path, keep=False).entries
        ]

    def _listing(self, path: str, *, keep: bool = True) -> Listing:
        """Read a folder; `keep` it for the next question about what lies in it."""
        listing = self._listings.get(path)
        if listing is None:
            oid = self._folder_id(path)
            listing = NOTHING if oid is None else self._tree(oid, path)
            if keep:
                self._listings[path] = listing
        return listing

    def _folder_id(self, path: str) -> bytes | None:
        if path == "":
            return self.root
        found = self.find(path)
        if found is not None and not stat.S_ISDIR(found[0]):
            raise UnreadableError(f"{path}: expected a folder, found git mode {found[0]:06o}")
        return None if found is None else found[1]

    def _tree(self, oid: bytes, path: str) -> Listing:
        data = self._raw(oid, path or "the root folder", TREE, MAX_TREE)
        try:
            return Listing(b"", data)
        except ValueError as error:
            raise UnreadableError(f"{path}: git tree {oid.decode()} is damaged ({error}); run git fsck") from error

    def _blob(self, oid: bytes, path: str) -> bytes:
        return self._raw(oid, path, BLOB, MAX_FILE)

    def _raw(self, oid: bytes, path: str, kind: int, limit: int) -> bytes:
        try:
            found, data = self._objects.read(bytes.fromhex(oid.decode()), limit)
        except HugeObjectError as error:
            raise too_large(path, error.size) from error
        except UnreadableError as error:
            raise type(error)(f"{path}: {error}") from error
        if found != kind:
            expected = "tree" if kind == TREE else "blob"
            raise UnreadableError(f"{path}: git object {oid.decode()} should be a {expected}; run git fsck")
        return data


def _oid_in(entry: bytes) -> bytes:
    return entry[-20:].hex().encode()
