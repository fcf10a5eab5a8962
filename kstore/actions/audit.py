"""Audit a registry's history: that it only ever added, and that all it added is sound."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.append_only import AuditFinding, CommitCheck, Run
from kstore.actions.audited import Audited
from kstore.actions.progress import Progress, silent
from kstore.git.files import UnreadableError
from kstore.git.history import Commit, Gap
from kstore.git.raw import MissingObjectError

if TYPE_CHECKING:
    from kstore.git.history import History, Lost
    from kstore.registry import Registry


class Author(msgspec.Struct, frozen=True):
    """What one author added.

    Attributes:
        author: `Name <address>`, as the commits have it.
        commits: In how many commits.
        records: How many records.
        kinds: How many of each kind.
        first: The author's date of the first of these commits, in history's order.
        last: That of the last one.
    """

    author: str
    commits: int
    records: int
    kinds: dict[str, int]
    first: str
    last: str


class AuditReport(msgspec.Struct, frozen=True):
    """What an audit found.

    Attributes:
        commits: How many commits were audited.
        records_added: How many records they added, each counted once.
        complete: Whether all that was asked about could be seen.
        head: The commit that HEAD names, or None before the first commit.
        findings: Everything that is wrong, the oldest first.
        by_author: Who added what, in the order in which they began.
        gaps: Why it is not complete.
    """

    commits: int
    records_added: int
    complete: bool
    head: str | None
    findings: tuple[AuditFinding, ...]
    by_author: tuple[Author, ...]
    gaps: tuple[Gap, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, as far as can be seen."""
        return not self.findings


def audit(registry: Registry, *, since: str | None = None, progress: Progress = silent) -> AuditReport:
    """Walk what HEAD reaches, from its first commits on, and check what each commit did under store/.

    Args:
        registry: Whose history.
        since: A revision; it and what it reaches are taken as they are.
        progress: Told of every commit.

    Raises:
        KstoreError: `since` names no commit.
    """
    history = registry.history()
    parents, lost = history.commits()
    before = history.commits(registry.commit_id(since))[0] if since is not None else {}
    run = Run(history, registry.settings)
    for each in lost:
        _note_lost(run, history, each)
    for path, damage in history.damaged_packs():
        message = f"{damage}; run git fsck, and fetch what is damaged from another clone"
        run.findings.append(AuditFinding("damaged-pack", "", "", "", path, None, message))
    audited = [oid for oid in parents if oid not in before]
    with progress(len(audited)) as step:
        for oid in audited:
            _audit_commit(run, history, oid, [parent for parent in parents[oid] if parent in parents])
            if step is not None:
                step(1)
    gaps = [*history.gaps(), *([history.promised(len(run.missing))] if run.missing else [])]
    memory = Audited(registry.derived)
    if not gaps and history.branch is not None and history.head is not None:
        kept = memory.recall(history.branch)
        if kept is not None and kept not in parents:
            run.findings.append(_rewritten(history, kept, memory))
        elif since is None and not run.findings:
            memory.keep(history.branch, history.head)
    return AuditReport(
        len(audited),
        run.added,
        not gaps,
        history.head.hex() if history.head else None,
        tuple(run.findings),
        tuple(
            Author(author, t.commits, t.kinds.total(), dict(sorted(t.kinds.items())), t.first, t.last)
            for author, t in run.authors.items()
        ),
        tuple(gaps),
    )


def _audit_commit(run: Run, history: History, oid: bytes, parents: list[bytes]) -> None:
    commit = history.commit(oid)
    befores = [history.commit(parent) for parent in parents]
    # Of a commit whose parents are not all here nobody can tell what it added itself.
    CommitCheck(run, commit, befores, whole=len(befores) == len(commit.parents)).check()


def _note_lost(run: Run, history: History, lost: Lost) -> None:
    """Say that a commit cannot be read, where the clone was not made without it."""
    missing = isinstance(lost.error, MissingObjectError)
    if missing and lost.child is not None and lost.child.encode() in history.shallow:
        return
    if missing and history.partial:
        run.missing.add(lost.id)
        return
    code = "missing-object" if missing else "damaged-object"
    child = history.commit(bytes.fromhex(lost.child)) if lost.child is not None else _nobody(lost.id)
    what = "it" if lost.child is None else "its parent"
    run.findings.append(
        AuditFinding(code, child.id, child.author, child.date, "", None, f"{what} cannot be read: {lost.error}")
    )


def _rewritten(history: History, kept: bytes, memory: Audited) -> AuditFinding:
    commit = _nobody(kept.hex())
    with contextlib.suppress(UnreadableError):
        commit = history.commit(kept)
    message = (
        f"this commit was audited here and found sound, and {history.branch} no longer descends from it: its history "
        f"was rewritten. `git log {kept.hex()}` shows it while it is still here; if this was meant, remove "
        f"{memory.file}"
    )
    return AuditFinding("history-rewritten", commit.id, commit.author, commit.date, "", None, message)


def _nobody(oid: str) -> Commit:
    return Commit(oid, b"", (), b"", "")
