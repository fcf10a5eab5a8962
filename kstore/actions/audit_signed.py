"""Audit what is signed: HEAD's statements, policies and checkpoints, each fault with the commit that brought it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.audit_run import AuditFinding
from kstore.actions.statements import Signed, check_signed, is_signed, missing_signatures, nothing_signed
from kstore.errors import KstoreError, NoRegistryError
from kstore.git.files import UnreadableError
from kstore.git.history import Gap
from kstore.layout import path_of

if TYPE_CHECKING:
    from collections.abc import Container

    from kstore.actions.inspect import Finding
    from kstore.attest.evidence import Evidence
    from kstore.git.history import History
    from kstore.registry import Registry

_TOLD = {"unexpected-file", "wrong-path", "bad-mode"}
"""What the commit that did it is charged with already."""


class SignedAudit(msgspec.Struct, frozen=True):
    """What auditing the signed files of HEAD came to; see `Signed`."""

    checked: dict[str, int]
    findings: list[AuditFinding] = []
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = ()


def audit_signed(
    registry: Registry, history: History, before: Container[bytes], *, required: bool, jobs: int | None
) -> SignedAudit:
    """Check everything in HEAD that is signed, the roots of checkpoints too.

    Args:
        registry: The registry.
        history: Its history.
        before: Commits that are taken as they are.
        required: Whether every record must be endorsed by a signer who counts.
        jobs: How many processes do the work; None is one for each processor where that pays.
    """
    try:
        head = registry.at_head()
    except NoRegistryError:
        return SignedAudit(nothing_signed().checked)
    except KstoreError as error:
        # What is damaged is charged to the commit that did it; that no signature was looked at must be said, too.
        gap = Gap(f"what is signed could not be checked: {error}", "git fsck")
        return SignedAudit(nothing_signed().checked, gaps=(gap,))
    if not is_signed(head):
        signed = nothing_signed()
        return SignedAudit(signed.checked, notes=signed.notes)
    from kstore.actions.root import Roots
    from kstore.attest.evidence import evidence
    from kstore.attest.seen import SeenCheckpoints

    known = evidence(head, roots=Roots(head, jobs=jobs), seen=SeenCheckpoints(registry.derived))
    fanout = registry.settings.fanout
    signed = check_signed(head, known, lambda digest: bool(head.blob("objects", digest)), jobs=jobs)
    findings = [finding for finding in signed.findings if finding.code not in _TOLD]
    if required:
        records = ((digest, path_of("objects", digest, fanout)) for digest in head.digests())
        findings += missing_signatures(records, signed.endorsed)
    notes = [*signed.notes, *_warnings(signed)]
    if not required and known.trust.latest is not None and known.trust.latest.requires_signature:
        from kstore.actions.audit_required import unsigned

        missing = unsigned(head, history, known, signed.endorsed)
        findings += missing_signatures(((each, path_of("objects", each, fanout)) for each in missing.later), ())
        notes += _beside(len(missing.beside))
    errors = [_charged(head, history, known, each) for each in findings if each.severity == "error"]
    kept = [each for each in errors if not each.commit or bytes.fromhex(each.commit) not in before]
    if history.branch is None:
        notes.append(
            "HEAD names no branch: what this clone has seen of a branch's checkpoints was not compared with it"
        )
    return SignedAudit(signed.checked, kept, signed.gaps, tuple(notes))


def _charged(head: Registry, history: History, known: Evidence, finding: Finding) -> AuditFinding:
    """Say of a fault which commit brought the file that it is in."""
    with contextlib.suppress(UnreadableError):
        data = head.files.read(finding.path)
        appearance = None if data is None else known.appeared.of(finding.path, data)
        if appearance is not None:
            commit = history.commit(bytes.fromhex(appearance.commit))
            return AuditFinding(
                finding.code, commit.id, commit.author, commit.date, finding.path, finding.digest, finding.message
            )
    return AuditFinding(finding.code, "", "", "", finding.path, finding.digest, finding.message)


def _beside(count: int) -> list[str]:
    said = (
        f"{count:,} record{'s' * (count != 1)} came by a branch that did not have the policy yet that wants them "
        "signed, and nobody has signed them who counts; `kstore audit --require-signatures` names them"
    )
    return [said] if count else []


def _warnings(signed: Signed) -> list[str]:
    count = sum(finding.severity == "warning" for finding in signed.findings)
    return [f"`kstore verify` has {count:,} warning{'s' * (count != 1)} about what is signed"] if count else []
