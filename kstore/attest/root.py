"""The root over everything under store/ but the checkpoints, of one commit or of many, read from git's objects.

`docs/format.md`, "Checkpoint root", has it byte by byte. Names and contents go into it, and no id of git's: two clones
of the same root have the same bytes, whatever SHA-1 is worth by then.

Within one object store an id names one object. So a file is read once, however many of the commits have it, and a
folder whose tree was hashed before is not read again: that is all that is trusted here of git's ids.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from kstore.attest.folder_entries import Entry, split, uniform
from kstore.attest.folder_hashes import FolderHashes
from kstore.attest.merkle import FILE, FOLDER, LENGTH, file_hash, folder_hash
from kstore.errors import KstoreError
from kstore.git.files import REGULAR, UnreadableError, printable, too_large
from kstore.git.listing import mode_in, name_in
from kstore.git.raw import BLOB, MAX_TREE, TREE, DamagedObjectError, HugeObjectError, MissingObjectError, RawObjects
from kstore.git.tree import type_of
from kstore.layout import MAX_FILE, STORE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    Spread: TypeAlias = Callable[["Hasher", Sequence[bytes]], Iterator[bytes]]
    """Applies `hash_batch` to batches and gives the results, in as many processes as it likes."""

_CHECKPOINTS = b"checkpoints"
_OBJECTS = b"objects"
_TYPES = {REGULAR: FILE, stat.S_IFDIR: FOLDER}
_ID = 20
_COUNT = 8

MAX_DEPTH = 16
"""How many folders may lie in one another below store/; the layout has four at most."""


class RootError(KstoreError):
    """What lies under store/ has no root: something there is neither a plain file nor a folder, or is damaged."""


class IncompleteError(RootError):
    """The root cannot be told here, because this clone lacks objects that it needs."""


class Root(NamedTuple):
    """What one commit has under store/.

    Attributes:
        hash: The root, 32 bytes.
        records: How many files lie below store/objects.
    """

    hash: bytes
    records: int


class _Failed(msgspec.Struct, frozen=True, array_like=True):
    """Why a folder has no hash, and whether that is because objects are missing."""

    reason: str
    missing: bool


_Hashes: TypeAlias = dict[bytes, bytes | _Failed]
"""By the ids of their trees, folders' hashes, each followed by the number of files that lie in it, 8 bytes."""

_Listed: TypeAlias = dict[bytes, list[Entry] | _Failed]
"""By the ids of their trees, what lies in folders."""


class Hasher:
    """Hashes folders of one object store; it can be pickled, for a worker process to do the same.

    Attributes:
        known: By the ids of their trees, 20 bytes, the hashes of folders that need not be read: 32 bytes, followed by
            the number of files that lie in the folder, 8 bytes.
    """

    def __init__(
        self, objects: RawObjects, memory: FolderHashes | None = None, known: dict[bytes, bytes] | None = None
    ) -> None:
        """Read some objects, which whoever has opened them closes.

        Args:
            objects: Them.
            memory: Remembers the hashes of files; None remembers nothing.
            known: The hashes of folders that are known already.
        """
        self._objects = objects
        self._memory = memory or FolderHashes(None)
        self.known = {} if known is None else known

    def __reduce__(self) -> tuple[Callable[..., Hasher], tuple[Path, FolderHashes, dict[bytes, bytes]]]:
        """Travel to another process as the place of the objects: open packs cannot be shared."""
        return _opened, (self._objects.folder, self._memory, self.known)

    def store(self, tree: bytes) -> list[Entry] | _Failed:
        """List what the root of a commit covers, given the commit's tree."""
        where = "the root folder"
        try:
            top = split(where, tree, self._read(where, tree))
            found = [entry for entry in top if name_in(entry) == STORE.encode()]
            if not found:
                return []
            if len(found) > 1 or mode_in(found[0]) != stat.S_IFDIR:
                raise RootError(f"{STORE}: expected one folder, found {' and '.join(map(_described, found))}")
            listed = self._entries(STORE, found[0][-_ID:])
        except (RootError, UnreadableError) as error:
            return _failed(error)
        return [each for each in listed if (each.name, each.type) != (_CHECKPOINTS, FOLDER)]

    def look(self, path: str, trees: Iterable[bytes], hashes: _Hashes) -> _Listed:
        """Enter the hashes of those versions of a folder that have no folder in them, and list the others.

        A file that several versions have is read once, and no more than one version is in memory.
        """
        listed: _Listed = {}
        files: dict[bytes, bytes] | None = None
        last: Sequence[Entry] = ()
        for tree in trees:
            if tree in hashes:
                continue
            if tree in self.known:
                hashes[tree] = self.known[tree]
                continue
            try:
                entries = self._entries(path, tree)
                if any(entry.type == FOLDER for entry in entries):
                    listed[tree] = entries
                    continue
                if files is None:
                    files = self._memory.recall_files(path, len(entries))
                hashes[tree] = self._hash(path, entries, {}, files)
                last = entries
            except (RootError, UnreadableError) as error:
                hashes[tree] = _failed(error)
        if files is not None:
            self._memory.keep_files(path, {entry.oid: files[entry.oid] for entry in last})
        return listed

    def finish(self, path: str, listed: _Listed, hashes: _Hashes) -> _Hashes:
        """Hash versions of a folder that are listed, the hashes of the folders in them being known."""
        files: dict[bytes, bytes] = {}
        done: _Hashes = {}
        for tree, entries in listed.items():
            try:
                done[tree] = entries if isinstance(entries, _Failed) else self._hash(path, entries, hashes, files)
            except (RootError, UnreadableError) as error:
                done[tree] = _failed(error)
        return done

    def below(self, path: str, trees: Iterable[bytes], hashes: _Hashes) -> None:
        """Enter the hashes of versions of a folder, and of all folders in it at any depth."""
        listed = self.look(path, trees, hashes)
        for folder, inner in _inner(path, listed).items():
            self.below(folder, inner, hashes)
        hashes |= self.finish(path, listed, hashes)

    def _hash(
        self, path: str, entries: Sequence[Entry], hashes: Mapping[bytes, bytes | _Failed], files: dict[bytes, bytes]
    ) -> bytes | _Failed:
        count = 0
        items = []
        for name, kind, oid in entries:
            if kind == FILE:
                hashed = files.get(oid)
                if hashed is None:
                    hashed = files[oid] = file_hash(self._file(path, name, oid))
                count += 1
            else:
                found = hashes[oid]
                if isinstance(found, _Failed):
                    return found
                hashed = found[:LENGTH]
                count += int.from_bytes(found[LENGTH:])
            items.append((name, kind, hashed))
        return folder_hash(items) + count.to_bytes(_COUNT)

    def _entries(self, path: str, tree: bytes) -> list[Entry]:
        """List a folder in the order of the bytes of its names.

        Raises:
            RootError: Something in it has no place in a root.
            UnreadableError: It is missing, or damaged.
        """
        if path.count("/") > MAX_DEPTH:
            raise RootError(f"{path}: expected folders at most {MAX_DEPTH} deep")
        data = self._read(path, tree)
        entries = uniform(data)
        if entries is not None:
            return entries
        entries = []
        last = b""
        for name, mode, oid in sorted((name_in(each), mode_in(each), each[-_ID:]) for each in split(path, tree, data)):
            kind = _TYPES.get(mode)
            if kind is None:
                raise RootError(
                    f"{_join(path, name)}: expected a plain file of git mode {REGULAR:06o} or a folder, found a "
                    f"{type_of(mode)} of mode {mode:06o}"
                )
            if name == last:
                raise RootError(f"{_join(path, name)}: expected one entry of this name, found it twice in git's tree")
            if b"/" in name or name in (b".", b".."):
                raise RootError(f"{_join(path, name)}: expected a name that a file can have")
            entries.append(Entry(name, kind, oid))
            last = name
        return entries

    def _read(self, path: str, tree: bytes) -> bytes:
        try:
            found, data = self._objects.read(tree, MAX_TREE)
            if found == TREE:
                return data
        except HugeObjectError as error:
            raise DamagedObjectError(f"{path}: {error}") from error
        except UnreadableError as error:
            raise type(error)(f"{path}: {error}") from error
        raise DamagedObjectError(f"{path}: git object {tree.hex()} should be a tree; run git fsck")

    def _file(self, path: str, name: bytes, oid: bytes) -> bytes:
        try:
            found, data = self._objects.read(oid, MAX_FILE)
        except HugeObjectError as error:
            raise too_large(_join(path, name), error.size) from error
        except UnreadableError as error:
            raise type(error)(f"{_join(path, name)}: {error}") from error
        if found != BLOB:
            raise DamagedObjectError(f"{_join(path, name)}: git object {oid.hex()} should be a blob; run git fsck")
        return data


def alone(hasher: Hasher, batches: Sequence[bytes]) -> Iterator[bytes]:
    """Hash batches in this process."""
    return (hash_batch(hasher, batch) for batch in batches)


def hash_batch(hasher: Hasher, batch: bytes) -> bytes:
    """Hash versions of a folder; a worker process may run this."""
    path, trees = _decode_batch(batch)
    hashes: _Hashes = {}
    hasher.below(path, trees, hashes)
    return _encode(list(hashes.items()))


def roots(hasher: Hasher, trees: Iterable[bytes], spread: Spread = alone) -> dict[bytes, Root | RootError]:
    """Give the roots of some commits, by the ids of their trees, 20 bytes each.

    What had to be read is known to the hasher from then on.

    Args:
        hasher: Reads them.
        trees: The commits' trees.
        spread: Does the work on the folders below the first two levels, `store/objects/ab`.

    Returns:
        The roots. Where there is none, why: an `IncompleteError` where objects are missing.
    """
    stores: _Listed = {tree: hasher.store(tree) for tree in trees}
    hashes: _Hashes = {}
    upper: list[tuple[str, _Listed]] = []
    batches = []
    for top, versions in _inner(STORE, stores).items():
        listed = hasher.look(top, versions, hashes)
        upper.append((top, listed))
        for path, inner in _inner(top, listed).items():
            hashes |= {tree: hasher.known[tree] for tree in inner if tree in hasher.known}
            unknown = [tree for tree in inner if tree not in hasher.known]
            if unknown:
                batches.append(_encode((path, unknown)))
    for done in spread(hasher, batches):
        hashes |= _decode_hashes(done)
    for top, listed in upper:
        hashes |= hasher.finish(top, listed, hashes)
    hasher.known.update((tree, hashed) for tree, hashed in hashes.items() if isinstance(hashed, bytes))
    finished = hasher.finish(STORE, stores, hashes)
    return {tree: _root(stores[tree], hashed, hashes) for tree, hashed in finished.items()}


def root(hasher: Hasher, tree: bytes, spread: Spread = alone) -> Root:
    """Give the root of one commit, given its tree's id, 20 bytes; see `roots`.

    Raises:
        RootError: There is none.
        IncompleteError: Objects are missing.
    """
    found = roots(hasher, [tree], spread)[tree]
    if isinstance(found, RootError):
        raise found
    return found


def _opened(objects: Path, memory: FolderHashes, known: dict[bytes, bytes]) -> Hasher:
    return Hasher(RawObjects(objects), memory, known)


def _root(entries: list[Entry] | _Failed, hashed: bytes | _Failed, hashes: _Hashes) -> Root | RootError:
    if isinstance(hashed, _Failed) or isinstance(entries, _Failed):
        assert isinstance(hashed, _Failed), "what cannot be listed has no hash"
        return (IncompleteError if hashed.missing else RootError)(hashed.reason)
    counts = [hashes[entry.oid] for entry in entries if (entry.name, entry.type) == (_OBJECTS, FOLDER)]
    return Root(hashed[:LENGTH], sum(int.from_bytes(each[LENGTH:]) for each in counts if isinstance(each, bytes)))


def _inner(path: str, listed: _Listed) -> dict[str, dict[bytes, None]]:
    """Give the folders in versions of a folder: by path, the ids of their trees."""
    found: dict[str, dict[bytes, None]] = {}
    for entries in listed.values():
        for entry in entries if isinstance(entries, list) else ():
            if entry.type == FOLDER:
                found.setdefault(_join(path, entry.name), {})[entry.oid] = None
    return found


def _failed(error: KstoreError) -> _Failed:
    return _Failed(str(error), isinstance(error, MissingObjectError))


def _described(entry: bytes) -> str:
    return f"a {type_of(mode_in(entry))} of mode {mode_in(entry):06o}"


def _join(path: str, name: bytes) -> str:
    return f"{path}/{printable(name.decode('utf-8', 'surrogateescape'))}"


_encode = msgspec.msgpack.Encoder().encode
_decode_batch = msgspec.msgpack.Decoder(tuple[str, list[bytes]]).decode
_decode_hashes = msgspec.msgpack.Decoder(list[tuple[bytes, bytes | _Failed]]).decode
