"""Check everything in a registry that is signed: statements, trust policies and checkpoints.

Nothing of cryptography is imported for a registry that has none of them.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.inspect import Finding
from kstore.errors import KstoreError, NoTrustError
from kstore.git.files import UnreadableError
from kstore.layout import SIGNED_FOLDERS, SignedPart, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from kstore.attest.chain import Trust
    from kstore.attest.evidence import Evidence
    from kstore.attest.judge import Judged
    from kstore.digest import Digest
    from kstore.git.history import Gap
    from kstore.registry import Registry

COUNTED: dict[SignedPart, str] = {"attestations": "attestations", "trust": "policies", "checkpoints": "checkpoints"}
"""What the files in each folder are counted as."""

NOTHING_SIGNED = "nothing in this registry is signed: it has no trust policy and no statements"


class UnsignedError(KstoreError):
    """A new record must be signed, and is not."""


class Signed(msgspec.Struct, frozen=True):
    """What checking the signed files of a registry came to.

    Attributes:
        checked: How many attestations, policies and checkpoints were looked at.
        findings: Everything that is wrong with them, or that a reader should know.
        gaps: Why not all of it could be checked, against a policy that is pinned.
        notes: What else a person should know.
        endorsed: The records that a signer endorses who counts.
        differing: Where the files are not just those of history: the ids that git gives to them, by path.
    """

    checked: dict[str, int]
    findings: tuple[Finding, ...] = ()
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()
    endorsed: frozenset[Digest] = frozenset()
    differing: dict[str, bytes] | None = None


def is_signed(registry: Registry) -> bool:
    """Tell whether a registry has signed files, or should have: some were pinned, or seen."""
    # Asking for a pin, or for what was seen, would import what reads it.
    remembered = (registry.derived / name for name in ("trust", "checkpoints", "policies"))
    return any(_names(registry, folder) for folder in SIGNED_FOLDERS.values()) or any(map(Path.exists, remembered))


def _names(registry: Registry, folder: str) -> list[str]:
    """Give the names in a folder; none where there is something else in its place, which is reported as such."""
    with contextlib.suppress(UnreadableError):
        return registry.files.names(folder)
    return []


def nothing_signed() -> Signed:
    """Say of a registry that it has no signed files."""
    return Signed(dict.fromkeys(COUNTED.values(), 0), notes=(NOTHING_SIGNED,))


def require_pin(registry: Registry) -> None:
    """Insist that a policy is pinned in this clone.

    Raises:
        NoTrustError: None is.
    """
    from kstore.attest.pin import Pin

    if Pin(registry.derived).recall() is None:
        raise NoTrustError(
            f"{registry.path}: signatures are wanted, and no trust policy is pinned in this clone: ask a maintainer "
            "for a policy's digest, and pin it with `kstore trust pin sha256:<hex>`"
        )


def check_signed(
    registry: Registry, known: Evidence | None, has: Callable[[Digest], bool], *, jobs: int | None = None
) -> Signed:
    """Check all signed files of a registry.

    Args:
        registry: The registry; its files are checked.
        known: What tells which of them count, gathered already; None gathers it.
        has: Tells whether the registry has a record.
        jobs: How many processes check signatures; None is one for each processor where that pays.

    Raises:
        KstoreError: What is pinned cannot be read, or a worker process was killed.
    """
    if not is_signed(registry):
        return nothing_signed()
    from kstore.actions.signed_files import look
    from kstore.attest.evidence import evidence

    known = known or evidence(registry)
    checked = dict.fromkeys(COUNTED.values(), 0)
    findings: list[Finding] = []
    endorsed: set[Digest] = set()
    blobs: dict[str, bytes] = {}
    for looked in look(registry.files, registry.settings.fanout, known.trust.keys, jobs):
        findings.extend(looked.findings)
        checked["attestations"] += len(looked.statements)
        blobs.update(looked.others)
        blobs.update((each.path, each.blob) for each in looked.statements)
        for path, _ in looked.others:
            place = signed_place_of(path, registry.settings.fanout)
            assert place is not None, "it was looked at"
            checked[COUNTED[place.part]] += 1
        for judged in map(known.judge, looked.statements):
            findings.extend(statement_findings(judged, has))
            if judged.counts and judged.statement is not None and judged.statement.kind == "endorsement":
                endorsed.add(judged.subject)
    told = {finding.path for finding in findings if finding.code in {"unreadable", "unexpected-file"}}
    findings += [each for each in evidence_findings(known) if each.path not in told]
    history = registry.history()
    cut = bool(history.shallow) or history.partial
    gaps = tuple(_gaps(known, anything=any(checked.values()), cut=cut))
    differing = None if known.appeared.has_only(blobs) else blobs
    return Signed(checked, tuple(findings), gaps, (), frozenset(endorsed), differing)


def statement_findings(judged: Judged, has: Callable[[Digest], bool]) -> Iterator[Finding]:
    """Say what is wrong with a statement, and with what it refers to."""
    for trouble in judged.problems:
        yield Finding(trouble.severity, trouble.code, judged.path, judged.subject, trouble.message)
    if not has(judged.subject):
        message = "expected a statement about a record that is here, found one about a record that is not"
        yield Finding("error", "orphan-attestation", judged.path, judged.subject, message)
    for field, digest in _references(judged):
        if not has(digest):
            message = f"{field}: {digest} is not in this registry"
            yield Finding("warning", "unresolved-reference", judged.path, judged.subject, message)


def evidence_findings(known: Evidence) -> Iterator[Finding]:
    """Say what is wrong with policies and checkpoints."""
    for each in known.trust.problems:
        yield Finding("error", each.code, each.path, None, each.message.removeprefix(f"{each.path}: "))
    for problem in known.checkpoints.problems:
        message = problem.message.removeprefix(f"{problem.path}: ")
        yield Finding(problem.severity, problem.code, problem.path, None, message)


def refuse_unsigned(base: Registry, kinds: Iterable[str]) -> None:
    """Refuse new records that nobody signs, where the latest policy wants a signature.

    Args:
        base: What they are added to.
        kinds: The kinds of the new records.

    Raises:
        UnsignedError: There is one that must be signed, or it cannot be told, as policies are not to be believed.
    """
    if not _names(base, SIGNED_FOLDERS["trust"]) and not (base.derived / "trust").exists():
        return
    from kstore.attest.trusted import trust_of

    trust = trust_of(base)
    for problem in trust.problems:
        raise UnsignedError(
            f"{problem.code}: {problem.path}: {problem.message}; whether new records must be signed cannot be told, so "
            "nothing was changed"
        )
    policy = trust.latest
    wanted = sorted(kind for kind in set(kinds) if policy is not None and policy.requires(kind))
    if wanted:
        raise UnsignedError(
            f"missing-signature: the trust policy of this registry wants every new {' and '.join(wanted)} signed; "
            "nothing was changed. `kstore add FILE --key KEY` adds and signs in one commit, as do `kstore add "
            "--no-commit`, `kstore sign --no-commit` and `git commit`"
        )


def missing_signatures(records: Iterable[tuple[Digest, str]], endorsed: Container[Digest]) -> Iterator[Finding]:
    """Say of those of some records that no signer endorses who counts that they should be signed.

    Args:
        records: Records that must be endorsed, and the paths of their objects.
        endorsed: The records that are.
    """
    for digest, path in records:
        if digest not in endorsed:
            message = (
                "expected an endorsement by a signer whom the trust policy lists, found none that counts; "
                f"`kstore sign {digest} --key FILE` makes one, and `kstore add --key FILE` adds and signs at once"
            )
            yield Finding("error", "missing-signature", path, digest, message)


def _references(judged: Judged) -> Iterator[tuple[str, Digest]]:
    from kstore.attest.statement import Replication, Supersession

    predicate = None if judged.statement is None else judged.statement.predicate
    if isinstance(predicate, Supersession):
        yield "by", predicate.by.digest
    elif isinstance(predicate, Replication) and predicate.run:
        yield "run", predicate.run.digest


def _gaps(known: Evidence, *, anything: bool, cut: bool) -> Iterator[Gap]:
    """Say why not everything could be checked; `cut` tells whether this clone was made without all of history."""
    from kstore.git.history import Gap

    trust = known.trust
    if anything and not trust.exists:
        yield Gap(
            "there are signed files here, and no trust policy that says whose keys have signed them: nothing can be "
            "said of their signatures",
            "kstore trust init --name NAME --key FILE",
        )
    elif trust.policies and not trust.pinned:
        # The registry's own word is for comparing: a command with it ready-made would be pasted.
        yield Gap(_unpinned(trust), "kstore trust pin sha256:<hex that a maintainer told you>")
    if not known.appeared.complete and cut:
        yield Gap("not all of history is here, so signed files may be older than they seem", "git fetch --unshallow")
    elif not known.appeared.complete:
        damaged = (
            "in some commits a folder of signed files is damaged, or something else lies in its place, so signed files "
            "may be older than they seem, until it is repaired"
        )
        yield Gap(damaged, "kstore audit")
    for gap in known.checkpoints.gaps:
        yield Gap(gap, "git fetch --unshallow")


def _unpinned(trust: Trust) -> str:
    assert trust.latest is not None, "there are policies"
    keys = ", ".join(f"{each.name} {each.id}" for each in trust.latest.signers)
    return (
        "no trust policy is pinned in this clone, so signatures were only checked against the keys that the registry "
        f"itself names, and nothing says that these are whose they seem: {keys}; once a maintainer has told you, by "
        f"another way, that the digest of policy {trust.latest.number} is {trust.digests[-1]}"
    )
