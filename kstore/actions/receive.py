"""Receive a push, or refuse it: every commit of it is checked before the registry has it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kstore.actions.check_change import Remedy, check_change, settings_gone
from kstore.actions.report import Report
from kstore.errors import KstoreError, NoRegistryError
from kstore.git.place import refuse_sha256
from kstore.layout import SETTINGS, Settings
from kstore.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kstore.git.history import Commit
    from kstore.git.incoming import Incoming, Update

_REMEDY = Remedy("take that change out of the commit", "take it out of the commit")


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
    for update in updates:
        if update.name == branch and update.old is not None:
            if update.new is None:
                yield f"{branch}: this branch is the registry's history, and cannot be deleted"
            elif not incoming.is_forward(update):
                yield (
                    f"{branch}: the registry's history only grows, and this push would drop commits from it; "
                    "`git pull` first (without --rebase of what others have), and push again without --force"
                )
    for commit in incoming.commits(updates):
        try:
            findings = _check(incoming, commit).findings
        except KstoreError as error:
            yield f"commit {commit.id}: {error}"
            continue
        for finding in findings:
            if finding.severity == "error":
                yield f"commit {commit.id}: {finding.code}: {finding.path}: {finding.message}"


def _check(incoming: Incoming, commit: Commit) -> Report:
    parents = [incoming.commit(parent) for parent in commit.parents]
    befores = [_settings(incoming, parent) for parent in parents]
    try:
        registry = Registry(incoming.place, incoming.files(commit))
    except NoRegistryError:
        return settings_gone(_REMEDY) if any(before is not None for before in befores) else Report({}, True, ())
    # What a parent had under store/ that was no registry was not checked; then everything is new.
    known = [(parent, before) for parent, before in zip(parents, befores, strict=True) if before is not None]
    changes = list(incoming.changes(commit, [parent for parent, _ in known], registry.settings.fanout))
    return check_change(registry, changes, [before for _, before in known], _REMEDY)


def _settings(incoming: Incoming, commit: Commit) -> Settings | None:
    """Give the settings that a commit has; None where it is no registry, or a damaged one."""
    data = incoming.files(commit).read(SETTINGS)
    if data is not None:
        with contextlib.suppress(KstoreError):
            return Settings.from_bytes(data)
    return None
