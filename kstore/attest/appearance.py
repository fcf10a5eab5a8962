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
from kstore.layout import SIGNED_FOLDERS, numbers_in, policy_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kstore.attest.chain import Trust
    from kstore.git.history import Commit, History

_FOLDERS = tuple(SIGNED_FOLDERS.values())
_TRUST = SIGNED_FOLDERS["trust"]
_WAYS = 8
"""How many of the commits that brought a file are remembered."""

DAY = 86_400
"""By how many seconds a commit's date may lie ahead of this machine's clock; one that lies further ahead is wrong."""


class Appearance(msgspec.Struct, frozen=True):
    """How a file came into history.

    Attributes:
        commit: The first commit that has it, 40 hexadecimal digits.
        time: When it came, in seconds since 1970: the committer's time, yet not before that of any commit that this one
            descends from, and not after now. A time that lies more than a day ahead is not believed.
        policy: The highest number of a policy that the commit's parents have, 0 where they have none; what is in its
            file does not matter here (see `Appearances.before`).
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
        history: Where commits are read from; None where there are none.
    """

    def __init__(self, tables: Sequence[Table], policy: int, *, complete: bool, history: History | None = None) -> None:
        self.tables = tables
        self.history = history
        self._befores: dict[tuple[str | None, tuple[bytes, ...]], int] = {}
        self._only: dict[tuple[bytes, ...], bool] = {}
        self.policy = policy
        self.complete = complete
        self._now = int(time.time())

    @classmethod
    def together(cls, several: Sequence[Appearances]) -> Appearances:
        """Take the histories of some commits together: of a file that is in more than one, the first one tells."""
        tables = [table for each in several for table in each.tables]
        policy = max((each.policy for each in several), default=0)
        history = several[0].history if several else None
        return cls(tables, policy, complete=all(each.complete for each in several), history=history)

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
        return next(self.all_of(path, blob), None)

    def all_of(self, path: str, blob: bytes) -> Iterator[Appearance]:
        """Give all ways in which a file came into history: branches may have brought it independently of each other.

        The first one is what `of_blob` gives; of many, only some.
        """
        key = file_key(path, blob)
        for table in self.tables:
            for oid in table.commits_of(key):
                row = table.row(oid)
                yield Appearance(oid.hex(), min(row.time, self._now), row.policy, row.cut)

    def before(self, appearance: Appearance | None, trust: Trust) -> int:
        """Give the highest number of a policy that is believed and came before something; 0 where none did.

        What else is in a file that has a policy's number does not count: anybody can plant such a file.

        Args:
            appearance: How that came into history; None where it is not committed.
            trust: The policies that are believed.
        """
        number = self.policy if appearance is None else appearance.policy
        # Where history never had another policy than those, a number is all that there is to know.
        if self.history is None or (appearance is not None and appearance.cut) or self._had_only(trust):
            return number
        commit = None if appearance is None else appearance.commit
        key = (commit, trust.blobs)
        if key not in self._befores:
            self._befores[key] = self._find_before(self.history, commit, trust)
        return self._befores[key]

    def _had_only(self, trust: Trust) -> bool:
        """Tell whether history never had other policies than those that are believed."""
        found = self._only.get(trust.blobs)
        if found is None:
            files = zip(trust.policies, trust.blobs, strict=True)
            keys = [file_key(policy_path(policy.number), blob) for policy, blob in files]
            known = (sum(bool(table.commits_of(key)) for key in keys) == table.policies for table in self.tables)
            found = self._only[trust.blobs] = all(known)
        return found

    def _find_before(self, history: History, commit: str | None, trust: Trust) -> int:
        try:
            if commit is None:
                oids: Sequence[bytes] = [table.head for table in self.tables]
            else:
                oids = history.commit(bytes.fromhex(commit)).parents
            befores = [history.commit(oid) for oid in oids]
            for policy, blob in zip(reversed(trust.policies), reversed(trust.blobs), strict=True):
                found = (history.find(before, policy_path(policy.number)) for before in befores)
                if any(entry is not None and entry[1] == blob for entry in found):
                    return policy.number
        except UnreadableError:
            # Nothing is taken to be older than it can be shown to be.
            pass
        return 0

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
        table = Table.of(history.head, walk.commits, walk.files, walk.policies)
        # What is dated ahead today is not so for ever: nothing is remembered that would differ then.
        if derived is not None and remember and walk.complete and not walk.ahead:
            keep(derived, table)
    return Appearances((table,), policy, complete=walk.complete, history=history)


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
        files: The commits that brought each file, the first one first and only so many, by `file_key`.
        policies: How many of these files are policies.
        complete: Whether everything could be read.
        ahead: Whether a commit's date lies too far ahead of the clock.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self._folders: dict[bytes, tuple[bytes, ...]] = {}
        self._highest: dict[bytes, int] = {}
        self.commits: dict[bytes, Row] = {}
        self.files: dict[bytes, list[bytes]] = {}
        self.policies = 0
        self.complete = True
        self.ahead = False
        self._latest = int(time.time()) + DAY

    def go_on_from(self, table: Table) -> None:
        """Take over what is known already."""
        self.commits = table.all_commits()
        self.files = table.all_files()
        self.policies = table.policies

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
            self._highest[folder] = max(numbers_in("trust", names), default=0)
        return self._highest[folder]

    def _enter(self, oid: bytes, parents: list[bytes], *, cut: bool) -> None:
        commit = self._history.commit(oid)
        befores = [self._history.commit(parent) for parent in parents]
        stated = commit.time
        if stated > self._latest:
            # Everything that descends from it would come then, too.
            stated, self.ahead = 0, True
        policy = max((self.highest(each) for each in ([commit, *befores] if cut else befores)), default=0)
        folders = self.folders(commit)
        if any(folders) and all(folders != self.folders(before) for before in befores):
            for number, folder in enumerate(_FOLDERS):
                olds = [old[number] for old in map(self.folders, befores) if old[number]]
                if folders[number]:
                    for path, blob in self._history.additions(folder, folders[number], olds):
                        brought = self.files.setdefault(file_key(path, blob), [])
                        self.policies += not brought and _FOLDERS[number] == _TRUST
                        if len(brought) < _WAYS:
                            brought.append(oid)
        self.commits[oid] = Row(max(stated, 0, *(self.commits[parent].time for parent in parents)), policy, cut)
