"""What a push brings, as git's pre-receive hook sees it before it is accepted (githooks(5), "pre-receive")."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kstore.errors import KstoreError
from kstore.git.branches import Head
from kstore.git.change import Change
from kstore.git.files import UnreadableError
from kstore.git.history import History
from kstore.git.place import Place, place_named
from kstore.git.program import handed_down, output
from kstore.git.raw import RawObjects
from kstore.git.tree import TreeFiles
from kstore.layout import is_known_folder

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kstore.git.files import Entry
    from kstore.git.history import Commit

_UPDATE = re.compile(r"(?P<old>[0-9a-f]{40,64}) (?P<new>[0-9a-f]{40,64}) (?P<name>.+)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"|([^:"][^:]*)')
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_LETTERS = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}


class Update(NamedTuple):
    """One reference that a push wants to move.

    Attributes:
        name: The reference's whole name, `refs/heads/main`.
        old: What it names now; None is for a new one.
        new: What it shall name; None is for one that shall go.
    """

    name: str
    old: str | None
    new: str | None


class Incoming:
    """The repository that is pushed to, with what is pushed in quarantine; a context manager."""

    def __init__(self) -> None:
        """Find both where git's environment says.

        Raises:
            KstoreError: git did not start this.
        """
        git_dir = os.environ.get("GIT_DIR")
        if git_dir is None:
            raise KstoreError("git runs this in its pre-receive hook; `kstore hook install --pre-receive` makes it so")
        self.place: Place = place_named(Path(git_dir), None)
        self._environment = handed_down()
        self._objects = _Objects(Path(os.environ.get("GIT_OBJECT_DIRECTORY") or self.place.common_dir / "objects"))
        self._history = History(self.place, self._objects, Head(None, None))

    def __enter__(self) -> Incoming:
        return self

    def __exit__(self, *_: object) -> None:
        self._objects.close()

    def branch(self) -> str | None:
        """Give the whole name of the branch that HEAD names, or None where it names none."""
        return self._git("symbolic-ref", "--quiet", "HEAD", good=(0, 1)).decode().strip() or None

    def tip(self, branch: str) -> Commit | None:
        """Give the commit that a branch has before the push; None where there is no such branch.

        Raises:
            UnreadableError: That is missing, or damaged.
        """
        oid = self._git("rev-parse", "--quiet", "--verify", branch, good=(0, 1)).decode().strip()
        return self.commit(bytes.fromhex(oid)) if oid else None

    def is_forward(self, update: Update) -> bool:
        """Tell whether everything that a reference had stays in its history."""
        base = self._git("merge-base", str(update.old), str(update.new), good=(0, 1))
        return base.decode().strip() == update.old

    def commits(self, updates: Iterable[Update]) -> Iterator[Commit]:
        """Give every commit that comes with a push and that no reference has yet, parents before their children."""
        new = [update.new for update in updates if update.new is not None]
        if new:
            listed = self._git("rev-list", "--reverse", "--topo-order", *new, "--not", "--all")
            for name in listed.decode().split():
                yield self.commit(bytes.fromhex(name))

    def commit(self, oid: bytes) -> Commit:
        """Read a commit by its id, 20 bytes.

        Raises:
            UnreadableError: It is missing, or damaged.
        """
        return self._history.commit(oid)

    def history(self, commit: Commit) -> History:
        """Give the history of a commit."""
        return History(self.place, self._objects, Head(None, commit.id.encode()))

    def files(self, commit: Commit) -> TreeFiles:
        """Give the files of a commit."""
        return TreeFiles(self._objects, commit.tree.hex().encode())

    def changes(self, commit: Commit, parents: list[Commit], fanout: int) -> Iterator[Change]:
        """Give what differs under store/ between a commit and its parents.

        Raises:
            UnreadableError: A folder of either is missing or damaged.
        """

        def enters(path: str) -> bool:
            return is_known_folder(path, fanout)

        for path, now, before in self._history.differences(commit, parents, enters, _stop):
            yield Change(path, _named(now), tuple(map(_named, before)))

    def _git(self, *arguments: str, good: tuple[int, ...] = (0,)) -> bytes:
        return output(None, self._environment, *arguments, good=good)


def parse_updates(text: str) -> list[Update]:
    """Read what git tells a pre-receive hook on its standard input.

    Raises:
        KstoreError: That is something else.
    """
    updates = []
    for line in text.splitlines():
        match = _UPDATE.fullmatch(line)
        if match is None:
            raise KstoreError(f"expected `OLD NEW REFERENCE` lines, as git gives them to pre-receive, found {line!r}")
        old, new = (match[which] if match[which].strip("0") else None for which in ("old", "new"))
        updates.append(Update(match["name"], old, new))
    return updates


class _Objects(RawObjects):
    """Objects in quarantine, together with those that the repository has already."""

    def _others(self) -> list[RawObjects]:
        named = os.environ.get("GIT_ALTERNATE_OBJECT_DIRECTORIES", "")
        if self._alternates is None:
            self._alternates = [*super()._others(), *(RawObjects(Path(folder)) for folder in _split(named))]
        return self._alternates


def _split(folders: str) -> Iterator[str]:
    """Take a list of folders apart: those that hold a colon are quoted (git(1), "GIT_ALTERNATE_OBJECT_DIRECTORIES")."""
    for match in _QUOTED.finditer(folders):
        if match[1] is None:
            yield match[2]
        else:
            yield os.fsdecode(_ESCAPED.sub(_unescaped, os.fsencode(match[1])))


def _unescaped(match: re.Match[bytes]) -> bytes:
    found = match[1]
    return bytes((int(found, 8) & 0xFF,)) if len(found) == 3 else _LETTERS.get(found, found)


def _stop(path: str, error: UnreadableError) -> None:
    raise UnreadableError(f"{path}: {error}")


def _named(entry: Entry | None) -> Entry | None:
    """Give an entry with its object's id as `TreeFiles` has it."""
    return entry if entry is None else msgspec.structs.replace(entry, oid=entry.oid.hex().encode())
