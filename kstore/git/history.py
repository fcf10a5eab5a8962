"""The commits that HEAD reaches, read from the raw objects: what replacements and grafts say does not count."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import msgspec

from kstore.git.difference import Trees, differences
from kstore.git.files import UnreadableError
from kstore.git.pack_check import damaged_packs
from kstore.git.raw import BLOB, COMMIT, MAX_TREE, DamagedObjectError
from kstore.layout import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kstore.git.difference import Difference
    from kstore.git.place import Place
    from kstore.git.raw import RawObjects

_HEADER = re.compile(
    rb"tree (?P<tree>[0-9a-f]{40})\n(?P<parents>(?:parent [0-9a-f]{40}\n)*)(?:author (?P<author>[^\n]*)\n)?"
)
_STAMP = re.compile(rb"(?P<who>.*) (?P<time>-?[0-9]{1,18}) (?P<zone>[+-][0-9]{4})")
_CACHED_COMMITS = 1024
_PARENT_LINE = len("parent ") + 40 + 1
_PROMISOR = re.compile(rb"^\s*(?:partialclone\s*=|promisor\s*=\s*true)", re.IGNORECASE | re.MULTILINE)


class Commit(msgspec.Struct, frozen=True):
    r"""What a commit says of itself.

    Attributes:
        id: Its id, 40 hexadecimal digits.
        tree: Its tree's id, 20 bytes.
        parents: Its parents' ids.
        stamp: The line that says who made it, and when, as it is.
        subject: The first line of its message.
    """

    id: str
    tree: bytes
    parents: tuple[bytes, ...]
    stamp: bytes
    subject: str

    @property
    def author(self) -> str:
        r"""Who made it, `Name <address>`; bytes that are no UTF-8 stand as `\xff`."""
        match = _STAMP.fullmatch(self.stamp)
        return _text(self.stamp if match is None else match["who"])

    @property
    def date(self) -> str:
        """When, in ISO 8601 with the author's zone; the number that the commit has where no date is that far away."""
        match = _STAMP.fullmatch(self.stamp)
        return "" if match is None else _date(int(match["time"]), match["zone"].decode())


class Gap(msgspec.Struct, frozen=True):
    """A reason why not all of history can be seen here.

    Attributes:
        reason: Why.
        remedy: The command that fills it.
    """

    reason: str
    remedy: str


class Lost(msgspec.Struct, frozen=True):
    """A commit that history needs and that cannot be read; `child` is one that names it, if any does."""

    id: str
    child: str | None
    error: UnreadableError


class History:
    """The history of one repository's HEAD.

    Attributes:
        head: The commit that HEAD names, 20 bytes, or None before the first commit.
        branch: The branch that HEAD names, `refs/heads/main`, or None where it names a commit itself.
        shallow: The commits whose parents a shallow clone left out, by their ids in hexadecimal digits.
        partial: Whether another repository has promised objects that this one may lack.
    """

    def __init__(self, place: Place, objects: RawObjects, head: bytes | None, branch: str | None) -> None:
        """Look at the history of the commit `head`, 20 bytes; None is a repository without commits."""
        self._place = place
        self._objects = objects
        self.head = head
        self.branch = branch
        self._trees = Trees(objects)
        self._commits: dict[bytes, Commit] = {}
        self.shallow = _ids(place, "shallow")
        self.partial = _is_partial(place)

    def gaps(self) -> Iterator[Gap]:
        """Say what of this clone hides parts of history, without looking whether they are missed."""
        if self.shallow:
            yield Gap("this is a shallow clone, whose history was cut off", "git fetch --unshallow")
        grafts = self._place.common_dir / "info" / "grafts"
        if _ids(self._place, "info/grafts"):
            yield Gap(f"{grafts} gives commits other parents than they have", f"rm '{grafts}'")

    def damaged_packs(self) -> Iterator[tuple[str, str]]:
        """Give each damaged file of a pack, and what is wrong; see `kstore.git.pack_check.damaged_packs`."""
        return damaged_packs(self._objects.folder)

    def promised(self, missing: int) -> Gap:
        """Say that a partial clone lacks some objects."""
        return Gap(
            f"this is a partial clone, which lacks {missing:,} object{'s' * (missing > 1)} that history needs",
            "git fetch --refetch --no-filter",
        )

    def commits(self, start: bytes | None = None) -> tuple[dict[bytes, tuple[bytes, ...]], list[Lost]]:
        """Find all commits that HEAD reaches, or another commit.

        Returns:
            The parents of every commit, in an order in which parents come before their children and the first parent's
            side before the second's; and what could not be read.
        """
        parents: dict[bytes, tuple[bytes, ...]] = {}
        ordered: dict[bytes, tuple[bytes, ...]] = {}
        lost: dict[bytes, Lost] = {}
        waiting: list[tuple[bytes, str | None]] = [(oid, None) for oid in (start or self.head,) if oid]
        while waiting:
            oid, child = waiting[-1]
            if oid in parents or oid in lost:
                waiting.pop()
                if oid in parents:
                    ordered.setdefault(oid, parents[oid])
                continue
            try:
                commit = self.commit(oid)
            except UnreadableError as error:
                lost[oid] = Lost(oid.hex(), child, error)
                continue
            parents[oid] = commit.parents
            waiting.extend((each, commit.id) for each in reversed(commit.parents) if each not in parents)
        return ordered, list(lost.values())

    def commit(self, oid: bytes) -> Commit:
        """Read a commit.

        Raises:
            UnreadableError: It is missing, or damaged.
        """
        if oid in self._commits:
            return self._commits[oid]
        kind, data = self._objects.read(oid, MAX_TREE)
        match = _HEADER.match(data)
        if kind != COMMIT or match is None:
            raise DamagedObjectError(f"git object {oid.hex()} should be a commit; run git fsck")
        lines = match["parents"]
        starts = range(len("parent "), len(lines), _PARENT_LINE)
        commit = Commit(
            oid.hex(),
            bytes.fromhex(match["tree"].decode()),
            tuple(bytes.fromhex(lines[start : start + 40].decode()) for start in starts),
            match["author"] or b"",
            _text(data.partition(b"\n\n")[2].lstrip(b"\n").partition(b"\n")[0]),
        )
        if len(self._commits) >= _CACHED_COMMITS:
            del self._commits[next(iter(self._commits))]
        self._commits[oid] = commit
        return commit

    def blob(self, oid: bytes) -> bytes:
        """Read a file's content.

        Raises:
            UnreadableError: It is missing, damaged, no file's or too large.
        """
        kind, data = self._objects.read(oid, MAX_FILE)
        if kind != BLOB:
            raise DamagedObjectError(f"git object {oid.hex()} should be a blob; run git fsck")
        return data

    def find(self, commit: Commit, path: str) -> tuple[int, bytes] | None:
        """Give the git mode and the id of what a commit has at a path, or None where it has nothing.

        Raises:
            UnreadableError: A folder on the way cannot be read.
        """
        return self._trees.find(commit.tree, path)

    def differences(
        self,
        commit: Commit,
        parents: Sequence[Commit],
        enters: Callable[[str], bool],
        trouble: Callable[[str, UnreadableError], object],
    ) -> Iterator[Difference]:
        """Compare a commit with its parents; see `kstore.git.difference.differences`."""
        return differences(self._trees, commit.tree, [parent.tree for parent in parents], enters, trouble)


def _date(time: int, zone: str) -> str:
    with contextlib.suppress(ValueError, OverflowError):
        minutes = int(zone[1:3]) * 60 + int(zone[3:])
        offset = timezone(timedelta(minutes=-minutes if zone[0] == "-" else minutes))
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time)).astimezone(offset).isoformat()
    return f"{time} {zone}"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _ids(place: Place, name: str) -> frozenset[bytes]:
    """Read the first id of each line of one of git's lists."""
    with contextlib.suppress(OSError):
        lines = (place.common_dir / name).read_bytes().splitlines()
        return frozenset(line[:40].lower() for line in lines if line and not line.startswith(b"#"))
    return frozenset()


def _is_partial(place: Place) -> bool:
    """Tell whether another repository has promised objects to this one (git's partial-clone(7))."""
    with contextlib.suppress(OSError):
        if _PROMISOR.search((place.common_dir / "config").read_bytes()):
            return True
    return any((place.common_dir / "objects" / "pack").glob("*.promisor"))
