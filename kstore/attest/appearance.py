"""When each signed file first appeared in history, and which policy was in force just before.

A signer's own clock proves nothing, and neither does a committer's; but a commit cannot be older than those that it
descends from, and what a checkpoint does not have came later. What was found is kept in the git directory and taken
further when history has grown, so that asking again costs next to nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec

from kstore.attest.appearance_table import Row, Table, file_key, keep, recall
from kstore.git.files import UnreadableError
from kstore.git.uncommitted import blob_id
from kstore.layout import SIGNED_FOLDERS, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from kstore.git.history import Commit, History

_FOLDERS = tuple(SIGNED_FOLDERS.values())
_TRUST = SIGNED_FOLDERS["trust"]


class Appearance(msgspec.Struct, frozen=True):
    """How a file came into history.

    Attributes:
        commit: The first commit that has it, 40 hexadecimal digits.
        time: When it came, in seconds since 1970: the committer's time, yet not before that of any commit that this one
            descends from, and not after now.
        policy: The highest number of a policy that the commit's parents have, 0 where they have none.
        cut: Whether some of that commit's parents are not here (a shallow clone): then it may be older than that, and
            `policy` is the highest number that the commit itself has.
    """

    commit: str
    time: int
    policy: int
    cut: bool = False


class Appearances:
    """How every signed file of a history came into it, or of several that are about to be merged.

    Attributes:
        tables: What is known of each of those histories.
        policy: The highest number of a policy that HEAD has, which is in force for what is not committed yet.
        complete: Whether all of history could be read.
    """

    def __init__(self, tables: Sequence[Table], policy: int, *, complete: bool) -> None:
        self.tables = tables
        self.policy = policy
        self.complete = complete
        self._now = int(time.time())

    @classmethod
    def together(cls, several: Sequence[Appearances]) -> Appearances:
        """Take the histories of some commits together: of a file that is in more than one, the first one tells."""
        tables = [table for each in several for table in each.tables]
        policy = max((each.policy for each in several), default=0)
        return cls(tables, policy, complete=all(each.complete for each in several))

    def of(self, path: str, data: bytes) -> Appearance | None:
        """Say how a file came into history.

        Args:
            path: Where it lies.
            data: Its bytes: what had that path with other bytes was another file.

        Returns:
            None where history has no such file.
        """
        return self.of_blob(path, blob_id(data))

    def of_blob(self, path: str, blob: bytes) -> Appearance | None:
        """Say how a file came into history whose blob has an id of git's, 20 bytes; see `of`."""
        key = file_key(path, blob)
        for table in self.tables:
            oid = table.commit_of(key)
            if oid is not None:
                row = table.row(oid)
                return Appearance(oid.hex(), min(row.time, self._now), row.policy, row.cut)
        return None

    def has_only(self, files: Mapping[str, bytes]) -> bool:
        """Tell whether some files, ids of blobs by path, are all that history ever had, and no others."""
        known = {key for table in self.tables for key in table.all_files()}
        return known == {file_key(path, blob) for path, blob in files.items()}


def appearances(
    history: History, derived: Path | None, *, remember: bool = True, known: Table | None = None
) -> Appearances:
    """Find out how the signed files of a history came into it.

    Args:
        history: The history of HEAD, or of another commit.
        derived: The folder in the git directory where what was found may be kept (`Registry.derived`), or None.
        remember: Whether to keep what is found; only HEAD's history is worth that.
        known: What is known of a commit that this one was probably made from, instead of what was kept.
    """
    walk = _Walk(history)
    try:
        head = None if history.head is None else history.commit(history.head)
        if head is None or not any(walk.folders(head)):
            return Appearances((), 0, complete=True)
        policy = walk.highest(head)
    except UnreadableError:
        return Appearances((), 0, complete=False)
    assert history.head is not None, "a commit was read"
    table = known or (None if derived is None else recall(derived))
    if table is None or table.head != history.head:
        if table is not None and _grew_from(history, table):
            walk.go_on_from(table)
        walk.walk()
        table = Table.of(history.head, walk.commits, walk.files)
        if derived is not None and remember and walk.complete:
            keep(derived, table)
    return Appearances((table,), policy, complete=walk.complete)


def _grew_from(history: History, table: Table) -> bool:
    """Tell whether a table's commit is HEAD's first parent, or that one's, and so on.

    Then the walk through all of history begins as the walk that made the table did, and only has to be taken further.
    """
    known = table.all_commits()
    oid = history.head
    while oid is not None and oid not in known:
        try:
            parents = history.commit(oid).parents
        except UnreadableError:
            return False
        oid = parents[0] if parents else None
    return oid == table.head


class _Walk:
    """One walk through history, parents before children and the first parent's side before the second's.

    Attributes:
        commits: What is known of the commits so far.
        files: The first commit of each file, by `file_key`.
        complete: Whether everything could be read.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._folders: dict[bytes, tuple[bytes, ...]] = {}
        self._highest: dict[bytes, int] = {}
        self.commits: dict[bytes, Row] = {}
        self.files: dict[bytes, bytes] = {}
        self.complete = True

    def go_on_from(self, table: Table) -> None:
        """Take over what is known already."""
        self.commits = table.all_commits()
        self.files = table.all_files()

    def walk(self) -> None:
        """Go through all commits that are not known yet."""
        new, lost = self._history.commits(known=self.commits.keys())
        self.complete = not lost
        for oid, parents in new.items():
            here = [parent for parent in parents if parent in self.commits]
            try:
                self._enter(oid, here, cut=len(here) < len(parents))
            except UnreadableError:
                # It counts as one that is not here; what it brings, the next commit seems to bring.
                self.complete = False

    def folders(self, commit: Commit) -> tuple[bytes, ...]:
        """Give the ids of the folders that signed files lie in; nothing for one that is not there.

        Raises:
            UnreadableError: They cannot be found.
        """
        oid = bytes.fromhex(commit.id)
        found = self._folders.get(oid)
        if found is None:
            there = (self._history.find(commit, folder) for folder in _FOLDERS)
            found = self._folders[oid] = tuple(b"" if entry is None else entry[1] for entry in there)
        return found

    def highest(self, commit: Commit) -> int:
        """Give the highest number of a policy that a commit has, whatever is in its file; 0 where it has none.

        Raises:
            UnreadableError: The folder cannot be read.
        """
        folder = self.folders(commit)[_FOLDERS.index(_TRUST)]
        if folder not in self._highest:
            names = self._history.names(commit, _TRUST)
            places = (signed_place_of(f"{_TRUST}/{name}", 1) for name in names)
            self._highest[folder] = max((place.number or 0 for place in places if place is not None), default=0)
        return self._highest[folder]

    def _enter(self, oid: bytes, parents: list[bytes], *, cut: bool) -> None:
        commit = self._history.commit(oid)
        befores = [self._history.commit(parent) for parent in parents]
        times = (self.commits[parent].time for parent in parents)
        policy = max((self.highest(each) for each in ([commit, *befores] if cut else befores)), default=0)
        folders = self.folders(commit)
        if any(folders) and all(folders != self.folders(before) for before in befores):
            for number, folder in enumerate(_FOLDERS):
                olds = [old[number] for old in map(self.folders, befores) if old[number]]
                if folders[number]:
                    for path, blob in self._history.additions(folder, folders[number], olds):
                        self.files.setdefault(file_key(path, blob), oid)
        self.commits[oid] = Row(max(commit.time, *times, 0), policy, cut)
