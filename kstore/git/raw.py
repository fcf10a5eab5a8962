"""Reading git's objects as they lie on disk: never more bytes than the caller allows, each checked against its id.

Replacements (refs/replace) and grafts do not exist here. Sizes are read before contents, so an object that unpacks to
more than it may is refused without having been in memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

from kstore.git.deflate import DeflateError, decompressobj
from kstore.git.files import UnreadableError
from kstore.git.pack_entry import LONGEST_NUMBER, applied, distance, header, inflate, result_size
from kstore.git.pack_table import PackTable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

COMMIT, TREE, BLOB = 1, 2, 3
MAX_TREE = 64 * 2**20
"""The most bytes of a tree or commit, and of whatever has to be unpacked on the way to an object."""

_NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob", 4: b"tag"}
_NUMBERS = {name: number for number, name in _NAMES.items()}
_OFFSET_DELTA, _REFERENCE_DELTA = 6, 7
_BLOCK = 4096
_FIRST = 1024
"""What most files are shorter than, compressed: reading more costs as much as decompressing them."""
_LARGE = 4 * _FIRST
_LONGEST_BLOCK = 2**20
_LONGEST_CHAIN = 4096
_DEEPEST_ALTERNATE = 5
_CACHED_BYTES = 32 * 2**20
"""A third of what git keeps (core.deltaBaseCacheLimit in git-config(1)): each process that verifies keeps as much, and
an audit takes a twelfth longer than with all."""
_DAMAGE = (
    AssertionError,
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    OSError,
    ValueError,
    struct.error,
    DeflateError,
)
"""What reading damaged bytes comes to."""


class MissingObjectError(UnreadableError):
    """No object of that id is here."""


class DamagedObjectError(UnreadableError):
    """What is stored under an id is not the object of that id."""


class HugeObjectError(UnreadableError):
    """An object is larger than the caller allows; it was not unpacked."""

    def __init__(self, oid: bytes, size: int, limit: int) -> None:
        super().__init__(f"git object {oid.hex()}: expected at most {limit:,} bytes, found {size:,}")
        self.size = size


class _Pack(NamedTuple):
    """An open pack: its file, and where its objects lie in it."""

    file: int
    table: PackTable


class RawObjects:
    """The objects of a repository, loose or packed, its alternates' included (gitrepository-layout(5))."""

    def __init__(self, folder: Path, depth: int = 0) -> None:
        """Read the objects in a folder `objects`."""
        self.folder = folder
        self._depth = depth
        self._packs: dict[str, _Pack] = {}
        self._broken: dict[str, str] = {}
        self._alternates: list[RawObjects] | None = None
        self._cache: OrderedDict[tuple[int, int], tuple[int, bytes]] = OrderedDict()
        self._cached = 0

    def __reduce__(self) -> tuple[type[RawObjects], tuple[Path, int]]:
        """Travel to another process as the folder's place: open packs cannot be shared."""
        return RawObjects, (self.folder, self._depth)

    def close(self) -> None:
        """Close the packs."""
        for pack in self._packs.values():
            os.close(pack.file)
            pack.table.close()
        self._packs.clear()
        self._cache.clear()
        self._cached = 0
        for alternate in self._alternates or ():
            alternate.close()
        self._alternates = None

    def read(self, oid: bytes, limit: int) -> tuple[int, bytes]:
        """Read an object.

        Args:
            oid: Its id, 20 bytes.
            limit: The most bytes that it may have.

        Returns:
            The number of its type (gitformat-pack(5)) and its content, which hashes to the id.

        Raises:
            MissingObjectError: It is not here.
            DamagedObjectError: Its bytes are damaged.
            HugeObjectError: It is larger than that.
        """
        try:
            found = self._find(oid, limit)
        except UnreadableError:
            raise
        except _DAMAGE as error:
            raise DamagedObjectError(f"git object {oid.hex()} is damaged ({error}); run git fsck") from error
        if found is None:
            if self._broken:
                raise DamagedObjectError(f"git object {oid.hex()} cannot be found: {'; '.join(self._broken.values())}")
            raise MissingObjectError(f"git object {oid.hex()} is missing; run git fsck")
        kind, data = found
        hashed = hashlib.sha1(b"%b %d\0" % (_NAMES[kind], len(data)), usedforsecurity=False)
        hashed.update(data)
        if hashed.digest() != oid:
            raise DamagedObjectError(
                f"git object {oid.hex()} is damaged: its bytes hash to {hashed.hexdigest()}; run git fsck"
            )
        return found

    def _find(self, oid: bytes, limit: int) -> tuple[int, bytes] | None:
        found = self._packed(oid, limit) or self._loose(oid, limit)
        # `git repack` may replace a pack between our seeing and our opening it; then there is a new one once more.
        while found is None and self._open_new_packs():
            found = self._packed(oid, limit)
        if found is None:
            for alternate in self._others():
                found = alternate._find(oid, limit)  # noqa: SLF001  (an object of this class)
                if found is not None:
                    break
        return found

    def _others(self) -> list[RawObjects]:
        """Open the folders whose objects are ours too, those of theirs included."""
        if self._alternates is None:
            lines: list[bytes] = []
            if self._depth < _DEEPEST_ALTERNATE:
                with contextlib.suppress(OSError):
                    lines = (self.folder / "info" / "alternates").read_bytes().splitlines()
            self._alternates = [
                RawObjects(self.folder / os.fsdecode(line), self._depth + 1)
                for line in lines
                if line and not line.startswith(b"#")
            ]
        return self._alternates

    def _loose(self, oid: bytes, limit: int) -> tuple[int, bytes] | None:
        name = oid.hex()
        try:
            descriptor = os.open(self.folder / name[:2] / name[2:], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        try:
            head, rest, unpacker = b"", os.read(descriptor, _BLOCK), decompressobj()
            head = unpacker.decompress(rest, _BLOCK)
            kind, _, text = head.partition(b"\0")[0].partition(b" ")
            if kind not in _NUMBERS or not text.isdigit() or len(text) > LONGEST_NUMBER * 2:
                raise ValueError("it does not begin as git's objects do")
            size, start = int(text), len(kind) + len(text) + 2
            if size > limit:
                raise HugeObjectError(oid, size, limit)
            blocks = iter(lambda: os.read(descriptor, _BLOCK), b"")
            return _NUMBERS[kind], inflate(unpacker, head[start:], size, blocks)
        finally:
            os.close(descriptor)

    def _packed(self, oid: bytes, limit: int) -> tuple[int, bytes] | None:
        for pack in self._packs.values():
            offset = pack.table.find(oid)
            if offset is not None:
                return self._unpack(pack, offset, oid, limit)
        return None

    def _open_new_packs(self) -> bool:
        """Open what packs there are by now that are not open yet, and tell whether there were any."""
        try:
            names = {name[:-4] for name in os.listdir(self.folder / "pack") if name.endswith(".idx")}  # noqa: PTH208
        except OSError:
            return False
        new = names - self._packs.keys() - self._broken.keys()
        for name in sorted(new):
            path = self.folder / "pack" / name
            try:
                table = PackTable(path.with_name(f"{name}.idx"))
                try:
                    file = os.open(f"{path}.pack", os.O_RDONLY | os.O_CLOEXEC)
                except OSError:
                    table.close()
                    raise
            except (OSError, ValueError) as error:
                self._broken[name] = f"{path}.idx cannot be read ({error})"
            else:
                self._packs[name] = _Pack(file, table)
        return bool(new)

    def _unpack(self, pack: _Pack, offset: int, oid: bytes, limit: int) -> tuple[int, bytes]:
        """Unpack an entry of a pack: one that is whole, or one that is told as a change of another one."""
        (kind, data), deltas = self._chain(pack, offset, oid, limit)
        while deltas:
            here, delta = deltas.pop()
            size, allowed = result_size(delta), MAX_TREE if deltas else limit
            if size > allowed:
                raise HugeObjectError(oid, size, allowed)
            data = applied(delta, data)
            self._remember(pack, here, (kind, data))
        if len(data) > limit:
            raise HugeObjectError(oid, len(data), limit)
        return kind, data

    def _chain(
        self, pack: _Pack, offset: int, oid: bytes, limit: int
    ) -> tuple[tuple[int, bytes], list[tuple[int, bytes]]]:
        """Collect the changes that make an entry, the last one first, and what they begin with."""
        deltas: list[tuple[int, bytes]] = []
        spent = 0
        while (base := self._recall(pack, offset)) is None:
            block = os.pread(pack.file, _FIRST, offset)
            kind, size, at = header(block)
            if kind in _NAMES:
                allowed = MAX_TREE if deltas else limit
                if size > allowed:
                    raise HugeObjectError(oid, size, allowed)
                base = kind, _content(pack, offset, block, at, size)
                # A file is read once; only that others are told as changes of it makes it worth keeping.
                if deltas or kind != BLOB:
                    self._remember(pack, offset, base)
                return base, deltas
            spent += size
            if spent > MAX_TREE or len(deltas) > _LONGEST_CHAIN:
                raise HugeObjectError(oid, spent, MAX_TREE)
            if kind == _OFFSET_DELTA:
                back, at = distance(block, at)
                begin = offset - back
            elif kind == _REFERENCE_DELTA:
                found = pack.table.find(block[at : at + 20])
                if found is None:
                    raise ValueError("what it is told as a change of is missing")
                begin, at = found, at + 20
            else:
                raise ValueError(f"there is no type {kind}")
            deltas.append((offset, _content(pack, offset, block, at, size)))
            offset = begin
        return base, deltas

    def _recall(self, pack: _Pack, offset: int) -> tuple[int, bytes] | None:
        key = pack.file, offset
        found = self._cache.get(key)
        if found is not None:
            self._cache.move_to_end(key)
        return found

    def _remember(self, pack: _Pack, offset: int, found: tuple[int, bytes]) -> None:
        """Keep what was unpacked, since what comes next is often told as a change of it."""
        self._cache[pack.file, offset] = found
        self._cached += len(found[1])
        while self._cached > _CACHED_BYTES:
            self._cached -= len(self._cache.popitem(last=False)[1][1])


def _content(pack: _Pack, offset: int, block: bytes, at: int, size: int) -> bytes:
    """Decompress what follows the head of a pack entry."""
    if size > _LARGE:
        # Decompressing in one go takes half the time of going on from a first block.
        block = _block(pack, offset, size)
    unpacker = decompressobj()
    head = unpacker.decompress(block[at:], size + 1)
    if unpacker.eof and len(head) == size:
        return head
    return inflate(unpacker, head, size, _blocks(pack, offset + len(block), size))


def _blocks(pack: _Pack, offset: int, size: int) -> Iterator[bytes]:
    while block := _block(pack, offset, size):
        yield block
        offset += len(block)


def _block(pack: _Pack, offset: int, size: int) -> bytes:
    # What was compressed is hardly ever longer than it was.
    return os.pread(pack.file, min(size + _FIRST, _LONGEST_BLOCK), offset)
