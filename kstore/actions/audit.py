"""Audit a registry's history: that it only ever added, and that all it added is sound."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.append_only import UNREADABLE, CommitCheck
from kstore.actions.audit_run import Addition, AuditFinding, Run
from kstore.actions.audit_signed import audit_signed
from kstore.actions.audited import Audited
from kstore.actions.parallel import in_order, usable_processors
from kstore.actions.progress import Progress, silent
from kstore.actions.statements import require_pin
from kstore.git.files import UnreadableError
from kstore.git.history import Commit, Gap
from kstore.git.raw import MissingObjectError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

    from kstore.git.history import History, Lost
    from kstore.registry import Registry

_COMMITS_A_BATCH = 500
"""How many commits a worker process is given at once; up to so many are audited before another would be of any help."""

_AHEAD = 86_400
"""By how many seconds the clock of whoever made a commit may be ahead of this machine's."""


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
        signed: How many attestations, policies and checkpoints HEAD has.
        notes: What else a person should know.
    """

    commits: int
    records_added: int
    complete: bool
    head: str | None
    findings: tuple[AuditFinding, ...]
    by_author: tuple[Author, ...]
    gaps: tuple[Gap, ...]
    signed: dict[str, int]
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong, as far as can be seen."""
        return not self.findings


def audit(
    registry: Registry,
    *,
    since: str | None = None,
    require_signatures: bool = False,
    jobs: int | None = None,
    progress: Progress = silent,
) -> AuditReport:
    """Walk what HEAD reaches, from its first commits on, and check what each commit did under store/.

    Args:
        registry: Whose history.
        since: A revision; it and what it reaches are taken as they are.
        require_signatures: Insist that a signer who counts endorses every record that HEAD has.
        jobs: How many processes do the work; None is one for each processor where that pays.
        progress: Told of every commit.

    Raises:
        NoTrustError: Signatures are required, and no trust policy is pinned in this clone.
        KstoreError: `since` names no commit, or a worker process was killed.
    """
    if require_signatures:
        require_pin(registry)
    history = registry.history()
    parents, lost = history.commits()
    before = history.commits(registry.commit_id(since))[0] if since is not None else {}
    run = Run(history, registry.settings)
    if history.lost_head is not None:
        run.findings.append(AuditFinding("unborn-head", "", "", "", "HEAD", None, history.lost_head))
    for each in lost:
        _note_lost(run, history, each)
    for path, damage in history.damaged_packs():
        message = f"{damage}; run git fsck, and fetch what is damaged from another clone"
        run.findings.append(AuditFinding("damaged-pack", "", "", "", path, None, message))
    audited = [(oid, [parent for parent in parents[oid] if parent in parents]) for oid in parents if oid not in before]
    if jobs is None:
        jobs = usable_processors() if len(audited) > _COMMITS_A_BATCH else 1
    batches = (_encode(audited[at : at + _COMMITS_A_BATCH]) for at in range(0, len(audited), _COMMITS_A_BATCH))
    total = _Total(run)
    with progress(len(audited)) as step:
        for data in in_order(_audit_commits, Run(history, registry.settings), batches, jobs):
            total.take(_decode_outcome(data))
            if step is not None:
                step(_COMMITS_A_BATCH)
    ahead = _ahead(history, parents)
    signed = audit_signed(registry, history, before, required=require_signatures, jobs=jobs)
    run.findings.extend(signed.findings)
    gaps = [*history.gaps(), *([history.promised(len(run.missing))] if run.missing else [])]
    if not gaps:
        _compare_with_last(run, history, parents, Audited(registry.derived), keep=since is None)
    # That history was cut off is said already, and what completes it.
    gaps += [gap for gap in signed.gaps if gap.remedy not in {each.remedy for each in gaps}]
    return AuditReport(
        len(audited),
        len(total.records),
        not gaps,
        history.head.hex() if history.head else None,
        tuple(run.findings),
        tuple(
            Author(author, t.commits, t.kinds.total(), dict(sorted(t.kinds.items())), t.first, t.last)
            for author, t in total.authors.items()
        ),
        tuple(gaps),
        signed.checked,
        (*signed.notes, *ahead),
    )


class _Outcome(msgspec.Struct, array_like=True):
    """What some commits came to; see `Run`."""

    findings: list[AuditFinding]
    missing: set[str]
    additions: list[Addition]


# A digest is a `str`, but msgspec encodes no subclasses of it by itself.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode_commits = msgspec.msgpack.Decoder(list[tuple[bytes, list[bytes]]]).decode
_decode_outcome = msgspec.msgpack.Decoder(_Outcome, dec_hook=lambda kind, value: kind(value)).decode


def _compare_with_last(run: Run, history: History, parents: Container[bytes], memory: Audited, *, keep: bool) -> None:
    """Report that history was rewritten since the last audit; otherwise remember it where nothing is wrong with it."""
    if history.branch is None or history.head is None:
        return
    kept = memory.recall(history.branch)
    if kept is not None and kept not in parents:
        run.findings.append(_rewritten(history, kept, memory))
    elif keep and not run.findings:
        memory.keep(history.branch, history.head)


def _audit_commits(run: Run, batch: bytes) -> bytes:
    """Check some commits; a worker process runs this, with a run of its own."""
    history = run.history
    for oid, parents in _decode_commits(batch):
        commit = history.commit(oid)
        befores = [history.commit(parent) for parent in parents]
        # Of a commit whose parents are not all here nobody can tell what it added itself.
        CommitCheck(run, commit, befores, whole=len(befores) == len(commit.parents)).check()
    outcome = _encode(_Outcome(run.findings, run.missing, run.additions))
    run.findings, run.missing, run.additions = [], set(), []
    return outcome


class _Tally(msgspec.Struct):
    """What an author added so far."""

    first: str
    last: str = ""
    commits: int = 0
    kinds: Counter[str] = msgspec.field(default_factory=Counter)


class _Total:
    """What all commits came to, put together in their order.

    Attributes:
        records: The records that were added.
        authors: What each author added.
    """

    def __init__(self, run: Run) -> None:
        """Put findings, and what is missing, into `run`."""
        self._run = run
        self._told: set[str] = set()
        self.records: set[bytes] = set()
        self.authors: dict[str, _Tally] = {}

    def take(self, outcome: _Outcome) -> None:
        """Add what the next commits came to."""
        for finding in outcome.findings:
            # Each process says by itself, once, that something cannot be read.
            if finding.code not in UNREADABLE or finding.message not in self._told:
                self._run.findings.append(finding)
            self._told.add(finding.message)
        self._run.missing |= outcome.missing
        for author, date, kinds in ((each.author, each.date, each.kinds) for each in outcome.additions):
            new = kinds.keys() - self.records
            if not new:
                continue
            self.records |= new
            tally = self.authors.setdefault(author, _Tally(date))
            tally.last = date
            tally.commits += 1
            tally.kinds.update(kinds[digest] for digest in new)


def _ahead(history: History, commits: Iterable[bytes]) -> list[str]:
    """Say of commits that claim a time to come that they do."""
    limit = time.time() + _AHEAD
    found = [commit.id for commit in map(history.commit, commits) if commit.time > limit]
    if not found:
        return []
    others = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
    said = "the committer's date is more than a day ahead, so that nobody can tell when it was made"
    return [f"commit {found[0]}{others}: {said}"]


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
