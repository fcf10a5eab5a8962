"""What differs between the tree of a commit and those of its parents, at the cost of what differs.

Folders of the same id are the same, whatever is in them, and are not opened.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from kstore.git.files import Entry, UnreadableError, printable
from kstore.git.listing import NOTHING, Listing, mode_in, name_in
from kstore.git.raw import MAX_TREE, TREE, DamagedObjectError
from kstore.git.tree import type_of
from kstore.layout import STORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kstore.git.raw import RawObjects

    Trouble = Callable[[str, UnreadableError], object]

_OID = 20
_CACHED_BYTES = 32 * 2**20
_SHORT = 1024


class Difference(NamedTuple):
    r"""One path at which a commit differs from at least one of its parents.

    Attributes:
        path: Where it is; bytes that are no UTF-8 stand as `\xff`.
        now: What the commit has there, or None; its `oid` is 20 bytes.
        before: What each parent has there, or None. Parents of the same tree are one.
    """

    path: str
    now: Entry | None
    before: tuple[Entry | None, ...]


class Trees:
    """Trees by their id, those used last ready at hand."""

    def __init__(self, objects: RawObjects) -> None:
        self._objects = objects
        self._cache: OrderedDict[bytes, Listing] = OrderedDict()
        self._cached = 0
        self._root: bytes | None = None
        self._folders: dict[str, bytes | None] = {}
        self._last: dict[str, bytes | None] = {}

    def get(self, oid: bytes, like: Listing | None = None) -> Listing:
        """Read a tree; `like` is one that it may be like.

        Raises:
            UnreadableError: It is missing, damaged or no tree.
        """
        found = self._cache.get(oid)
        if found is not None:
            self._cache.move_to_end(oid)
            return found
        kind, data = self._objects.read(oid, MAX_TREE)
        if kind != TREE:
            raise DamagedObjectError(f"git object {oid.hex()} should be a tree; run git fsck")
        try:
            # A short tree is split faster than it is compared.
            found = Listing(oid, data, like if len(data) > _SHORT else None)
        except ValueError as error:
            raise DamagedObjectError(f"git tree {oid.hex()} is damaged: {error}; run git fsck") from error
        self._cache[oid] = found
        self._cached += len(found.data)
        while self._cached > _CACHED_BYTES and len(self._cache) > 1:
            self._cached -= len(self._cache.popitem(last=False)[1].data)
        return found

    def at_hand(self, oid: bytes | None) -> Listing | None:
        """Give a tree that was read lately, or None."""
        return None if oid is None else self._cache.get(oid)

    def find(self, root: bytes, path: str) -> tuple[int, bytes] | None:
        """Give the mode and the id at a path below a tree, or None where it has nothing.

        Raises:
            UnreadableError: A folder on the way cannot be read.
        """
        if root != self._root:
            self._last, self._root, self._folders = self._folders, root, {"": root}
        folder, _, name = path.rpartition("/")
        oid = self._folders.get(folder)
        if oid is None and folder not in self._folders:
            found = self.find(root, folder)
            oid = found[1] if found is not None and type_of(found[0]) == "folder" else None
            self._folders[folder] = oid
        if oid is None:
            return None
        like = self.at_hand(self._last.get(folder))
        entry = self.get(oid, like).named(name.encode("utf-8", "surrogateescape"))
        return None if entry is None else (mode_in(entry), entry[-_OID:])


def differences(
    trees: Trees, root: bytes, parents: Sequence[bytes], enters: Callable[[str], bool], trouble: Trouble
) -> Iterator[Difference]:
    """Compare what a commit has under store/ with what each of its parents has there.

    Args:
        trees: Where trees are read from.
        root: The commit's tree.
        parents: The parents' trees; with none, everything is new.
        enters: Tells of a folder's path whether to look inside; other folders are compared as one thing.
        trouble: Called with the path of a folder that cannot be read, and why; nothing is said of what is in it.
    """
    befores: list[bytes | None] = list(dict.fromkeys(parents)) or [None]
    waiting: list[tuple[str, bytes | None, list[bytes | None]]] = [("", root, befores)]
    while waiting:
        path, oid, befores = waiting.pop()
        if all(before == oid for before in befores):
            continue
        # Of a parent's folder that cannot be read nothing is known: all that is there now is looked at.
        likely = trees.at_hand(oid)
        olds = [_opened(trees, before, likely, path, trouble) or NOTHING for before in befores]
        now = _opened(trees, oid, olds[0], path, trouble)
        if now is None:
            continue
        inner = []
        for difference in _folder(path, now, olds):
            if path == "" and difference.path != STORE:
                continue
            sides = difference.now, *difference.before
            folder = any(side and side.type == "folder" for side in sides) and enters(difference.path)
            # Of two entries of one name nobody can tell which one counts; that they are there says enough.
            if folder and not (difference.now and difference.now.type == "duplicate"):
                folders = [side.oid if side and side.type == "folder" else None for side in sides]
                inner.append((difference.path, folders[0], folders[1:]))
                sides = tuple(None if side and side.type == "folder" else side for side in sides)
            if any(sides):
                yield Difference(difference.path, sides[0], sides[1:])
        waiting.extend(reversed(inner))


def additions(trees: Trees, path: str, now: bytes, befores: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
    """Give the files in a folder, and below it, that it has now and none of its versions before had.

    Args:
        trees: Where trees are read from.
        path: The folder's path.
        now: Its tree.
        befores: Its trees before.

    Returns:
        The path and the id of each plain file; files of another mode alone are not among them.

    Raises:
        UnreadableError: A folder cannot be read.
    """
    if now in befores:
        return
    olds = [trees.get(before) for before in befores]
    here = trees.get(now, olds[0] if olds else None)
    new = here.entries if not olds else here.against(olds[0])[0]
    for entry in new:
        name, kind = name_in(entry), type_of(mode_in(entry))
        same = [old for old in (each.named(name) for each in olds) if old is not None]
        if entry in same:
            continue
        at = f"{path}/{printable(name.decode('utf-8', 'surrogateescape'))}"
        if kind == "folder":
            inner = [old[-_OID:] for old in same if type_of(mode_in(old)) == "folder"]
            yield from additions(trees, at, entry[-_OID:], inner)
        elif kind == "file" and all(old[-_OID:] != entry[-_OID:] for old in same):
            yield at, entry[-_OID:]


def _opened(trees: Trees, oid: bytes | None, like: Listing | None, path: str, trouble: Trouble) -> Listing | None:
    if oid is None:
        return NOTHING
    try:
        return trees.get(oid, like)
    except UnreadableError as error:
        trouble(path, error)
        return None


def _folder(path: str, now: Listing, olds: Sequence[Listing]) -> Iterator[Difference]:
    """Compare one folder's own entries, in the order of their names."""
    fresh: dict[bytes, bytes] = {}
    gone: list[dict[bytes, bytes]] = []
    for old in olds:
        new, lost = now.against(old)
        fresh.update((name_in(entry), entry) for entry in new)
        gone.append({name_in(entry): entry for entry in lost})
    twice = now.repeated(list(fresh))
    for name in sorted(fresh.keys() | {name for left in gone for name in left}):
        text = printable(name.decode("utf-8", "surrogateescape"))
        at = f"{path}/{text}" if path else text
        entry = fresh.get(name)
        if entry is None and len(olds) > 1:
            # What this parent lost or has otherwise may be as another parent has it.
            entry = now.named(name)
        before = []
        for old, left in zip(olds, gone, strict=True):
            # A parent that has nothing else under this name has it as it is now, unless it has nothing.
            found = left.get(name) or (old.named(name) if len(olds) > 1 else None)
            before.append(_entry(at, found))
        yield Difference(at, Entry(at, "duplicate") if name in twice else _entry(at, entry), tuple(before))


def _entry(path: str, entry: bytes | None) -> Entry | None:
    if entry is None:
        return None
    mode = mode_in(entry)
    return Entry(path, type_of(mode), mode, entry[-_OID:])
