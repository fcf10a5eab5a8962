"""The commits that HEAD reaches, read from the raw objects: what replacements and grafts say does not count."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import msgspec

from kstore.git.branches import Head, head_of, lost_head
from kstore.git.difference import Trees, additions, differences
from kstore.git.files import UnreadableError
from kstore.git.listing import name_in
from kstore.git.pack_check import damaged_packs
from kstore.git.raw import BLOB, COMMIT, MAX_TREE, DamagedObjectError, RawObjects
from kstore.git.tree import type_of
from kstore.layout import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Sequence

    from kstore.git.difference import Difference
    from kstore.git.place import Place

_HEADER = re.compile(
    rb"tree (?P<tree>[0-9a-f]{40})\n(?P<parents>(?:parent [0-9a-f]{40}\n)*)(?:author (?P<author>[^\n]*)\n)?"
    rb"(?:committer (?P<committer>[^\n]*)\n)?"
)
_STAMP = re.compile(rb"(?P<who>.*) (?P<time>-?[0-9]{1,18}) (?P<zone>[+-][0-9]{4})")
_CACHED_COMMITS = 16_384
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
        time: When it was committed, in seconds since 1970 by the committer's clock; 0 where it says nothing.
    """

    id: str
    tree: bytes
    parents: tuple[bytes, ...]
    stamp: bytes
    subject: str
    time: int = 0

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
        lost_head: Why HEAD should lead to a commit and does not; see `kstore.git.branches.lost_head`.
        shallow: The commits whose parents a shallow clone left out, by their ids in hexadecimal digits.
        partial: Whether another repository has promised objects that this one may lack.
    """

    def __init__(self, place: Place, objects: RawObjects, head: Head) -> None:
        """Look at the history of what HEAD leads to."""
        self._place = place
        self._objects = objects
        self._head = head
        self.head = None if head.commit is None else bytes.fromhex(head.commit.decode())
        self.branch = head.branch
        self.lost_head = lost_head(place, head)
        self._trees = Trees(objects)
        self._commits: dict[bytes, Commit] = {}
        self.shallow = _ids(place, "shallow")
        self.partial = _is_partial(place)

    def __reduce__(self) -> tuple[type[History], tuple[Place, RawObjects, Head]]:
        """Travel to another process without what was read already."""
        return History, (self._place, self._objects, self._head)

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

    def commits(
        self, start: bytes | None = None, known: Container[bytes] = frozenset()
    ) -> tuple[dict[bytes, tuple[bytes, ...]], list[Lost]]:
        """Find all commits that HEAD reaches, or another commit.

        Args:
            start: Where to begin instead of HEAD.
            known: Commits that are left out, and what they alone reach.

        Returns:
            The parents of every commit, in an order in which parents come before their children and the first parent's
            side before the second's; and what could not be read.
        """
        parents: dict[bytes, tuple[bytes, ...]] = {}
        ordered: dict[bytes, tuple[bytes, ...]] = {}
        lost: dict[bytes, Lost] = {}
        waiting: list[tuple[bytes, str | None]] = [
            (oid, None) for oid in (start or self.head,) if oid and oid not in known
        ]
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
            waiting.extend(
                (each, commit.id) for each in reversed(commit.parents) if each not in parents and each not in known
            )
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
            _time(match["committer"] or b""),
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

    def names(self, commit: Commit, folder: str) -> list[str]:
        """Give the names in a folder of a commit; none where it has no such folder.

        Raises:
            UnreadableError: The folder, or one on the way, cannot be read.
        """
        found = self.find(commit, folder)
        if found is None or type_of(found[0]) != "folder":
            return []
        return [name_in(entry).decode("utf-8", "surrogateescape") for entry in self._trees.get(found[1]).entries]

    def additions(self, folder: str, now: bytes, befores: Sequence[bytes]) -> Iterator[tuple[str, bytes]]:
        """Give what a folder has and had not before; see `kstore.git.difference.additions`."""
        return additions(self._trees, folder, now, befores)

    def differences(
        self,
        commit: Commit,
        parents: Sequence[Commit],
        enters: Callable[[str], bool],
        trouble: Callable[[str, UnreadableError], object],
    ) -> Iterator[Difference]:
        """Compare a commit with its parents; see `kstore.git.difference.differences`."""
        return differences(self._trees, commit.tree, [parent.tree for parent in parents], enters, trouble)


def history_of(place: Place, commit: bytes | None) -> History:
    """Give the history of a commit, 40 hexadecimal digits, or of HEAD; like `head_files` it opens no repository.

    Raises:
        KstoreError: HEAD names something that is no commit id.
    """
    head = head_of(place) if commit is None else Head(None, commit)
    return History(place, RawObjects(place.common_dir / "objects"), head)


def _time(stamp: bytes) -> int:
    match = _STAMP.fullmatch(stamp)
    return 0 if match is None else max(0, int(match["time"]))


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
