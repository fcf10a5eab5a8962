"""Receive a push, or refuse it: every commit of it is checked before the registry has it."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.check_change import Remedy, check_change, settings_gone
from kstore.actions.report import Report
from kstore.errors import KstoreError, NoRegistryError
from kstore.git.place import refuse_sha256
from kstore.layout import SETTINGS, SIGNED_FOLDERS, Settings, path_of
from kstore.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kstore.attest.appearance import Appearances
    from kstore.attest.appearance_table import Table
    from kstore.attest.evidence import Evidence
    from kstore.git.history import Commit, History
    from kstore.git.incoming import Incoming, Update

_REMEDY = Remedy("take that change out of the commit", "take it out of the commit")
_AHEAD = 86_400
"""By how many seconds the clock of whoever made a commit may be ahead of this machine's."""


def refusals(incoming: Incoming, updates: Sequence[Update]) -> Iterator[str]:
    """Give the reasons to refuse a push; there are none when it may be accepted.

    Args:
        incoming: The repository, and what is pushed to it.
        updates: The references that the push wants to move.

    Raises:
        KstoreError: What is pushed cannot be found.
    """
    refuse_sha256(incoming.place)
    branch = incoming.branch()
    head = None if branch is None else incoming.tip(branch)
    # A HEAD that names another branch, as of a server that was set up anew, leaves no branch without protection.
    lone = head is not None and _settings(incoming, head) is not None
    for update in updates:
        if update.old is None or not (update.name == branch or (not lone and _was_registry(incoming, update))):
            continue
        if update.new is None:
            yield f"{update.name}: this branch is the registry's history, and cannot be deleted"
        elif not incoming.is_forward(update):
            yield (
                f"{update.name}: the registry's history only grows, and this push would drop commits from it; "
                "`git pull` first (without --rebase of what others have), and push again without --force"
            )
    push = _Push(incoming, head)
    for commit in incoming.commits(updates):
        try:
            findings = push.check(commit).findings
        except KstoreError as error:
            yield f"commit {commit.id}: {error}"
            continue
        for finding in findings:
            if finding.severity == "error":
                yield f"commit {commit.id}: {finding.code}: {finding.path}: {finding.message}"


def _was_registry(incoming: Incoming, update: Update) -> bool:
    """Tell whether a branch was a registry before the push."""
    if update.old is None or not update.name.startswith("refs/heads/"):
        return False
    return _settings(incoming, incoming.commit(bytes.fromhex(update.old))) is not None


class _Push:
    """The commits of a push, one after another; what was found out of one is used for those that follow from it."""

    def __init__(self, incoming: Incoming, head: Commit | None) -> None:
        self._incoming = incoming
        self._head = None if head is None else incoming.files(head)
        self._table: Table | None = None
        self._checked: set[bytes] = set()
        self._known: tuple[bytes, tuple[bytes, ...], Evidence] | None = None

    def check(self, commit: Commit) -> Report:
        """Check one of them.

        Raises:
            KstoreError: It cannot be checked, or be taken as it is.
        """
        self._checked.add(bytes.fromhex(commit.id))
        incoming = self._incoming
        parents = [incoming.commit(parent) for parent in commit.parents]
        befores = [_settings(incoming, parent) for parent in parents]
        try:
            registry = Registry(incoming.place, incoming.files(commit))
        except NoRegistryError:
            return settings_gone(_REMEDY) if any(before is not None for before in befores) else Report({}, True, ())
        _refuse_future(commit)
        # What a parent had under store/ that was no registry was not checked; then everything is new.
        known = [(parent, before) for parent, before in zip(parents, befores, strict=True) if before is not None]
        changes = list(incoming.changes(commit, [parent for parent, _ in known], registry.settings.fanout))
        return check_change(
            registry,
            changes,
            [before for _, before in known],
            _REMEDY,
            lambda: self._evidence(commit, registry),
            settled=lambda digest: self._has(path_of("objects", digest, registry.settings.fanout)),
        )

    def _has(self, path: str) -> bool:
        """Tell whether the registry had a file before this push."""
        return self._head is not None and self._head.read(path) is not None

    def _evidence(self, commit: Commit, registry: Registry) -> Evidence:
        """Tell what counts at a commit by its own history, itself included: a file that it adds came when it was made.

        Where nothing but statements has changed, policies and checkpoints are what they were.
        """
        from kstore.attest.evidence import Past, evidence

        history = self._incoming.history(commit)
        appeared = self._appearances(history, registry.derived)
        found = (history.find(commit, SIGNED_FOLDERS[part]) for part in ("trust", "checkpoints"))
        folders = tuple(b"" if each is None else each[1] for each in found)
        if self._known is not None and self._known[1] == folders and self._follows(commit, self._known[0]):
            known = msgspec.structs.replace(self._known[2], appeared=appeared)
        else:
            known = evidence(registry, Past(history, appeared))
        self._known = bytes.fromhex(commit.id), folders, known
        return known

    def _appearances(self, history: History, derived: Path) -> Appearances:
        from kstore.attest.appearance import appearances
        from kstore.git.history import history_of

        if self._table is None:
            first = appearances(history_of(self._incoming.place, None), derived)
            self._table = first.tables[0] if first.tables else None
        appeared = appearances(history, derived, remember=False, known=self._table)
        self._table = appeared.tables[0] if appeared.tables else self._table
        return appeared

    def _follows(self, commit: Commit, earlier: bytes) -> bool:
        """Tell whether a commit follows from an earlier one of the push with no merge between them."""
        while len(commit.parents) == 1 and earlier not in commit.parents and commit.parents[0] in self._checked:
            commit = self._incoming.commit(commit.parents[0])
        return commit.parents == (earlier,)


def _refuse_future(commit: Commit) -> None:
    """Refuse a commit of a time to come: by history, nothing that descends from it could be older.

    Raises:
        KstoreError: It is one.
    """
    if commit.time > time.time() + _AHEAD:
        raise KstoreError(
            "expected a commit that was made before now, found one whose committer's date is more than a day ahead; "
            "set that machine's clock, and make it anew: `git commit --amend --no-edit`, or `git rebase`"
        )


def _settings(incoming: Incoming, commit: Commit) -> Settings | None:
    """Give the settings that a commit has; None where it is no registry, or a damaged one."""
    data = incoming.files(commit).read(SETTINGS)
    if data is not None:
        with contextlib.suppress(KstoreError):
            return Settings.from_bytes(data)
    return None
