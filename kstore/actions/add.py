"""Add records to a registry: all of a call in one commit, or nothing."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kstore.actions.bundles import check_bundles
from kstore.actions.message import commit_message, statement_message
from kstore.actions.read import Read, Source, read
from kstore.actions.refer import Said, Unresolved, reference_problems, said_by
from kstore.actions.statements import refuse_unsigned
from kstore.digest import Digest
from kstore.errors import Fault, InvalidDocumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kstore.actions.state import StatementRow
    from kstore.attest.signing import Signer
    from kstore.registry import Registry
    from kstore.schema import Record

Status: TypeAlias = Literal["added", "present", "metadata-updated"]


class AddedRecord(msgspec.Struct, frozen=True):
    """What became of one record of a call."""

    digest: Digest
    kind: str
    name: str
    status: Status


class Added(msgspec.Struct, frozen=True):
    """What a call came to.

    Attributes:
        commit: The new commit, or None when there was nothing to commit or none was wanted.
        records: Every record of the call, in the order of its documents.
        unresolved: References to what the registry does not have and need not have.
        notes: What a person should know about the files.
        statements: The endorsements of the records, where they were signed.
    """

    commit: str | None
    records: tuple[AddedRecord, ...]
    unresolved: tuple[Unresolved, ...]
    notes: tuple[str, ...] = ()
    statements: tuple[StatementRow, ...] = ()


def add(
    registry: Registry,
    sources: Source | Iterable[Source],
    *,
    signer: Signer | None = None,
    message: str | None = None,
    commit: bool = True,
    dry_run: bool = False,
    wait: float = 10,
) -> Added:
    """Read documents from files, or take them as Python values, and add them to a registry.

    Args:
        registry: Where to add them.
        sources: Paths of single documents and bundles, `-` for standard input, or documents as dicts; or one of these.
        signer: Who vouches for all of the records, in the same commit; nobody by default. See `kstore.actions.sign`.
        message: The commit's message instead of the usual one; the trailers that name the records follow it.
        commit: With False, the files are written and staged, and whoever calls makes the commit.
        dry_run: Check everything and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        InvalidDocumentError: Something is wrong with the documents; nothing was changed.
        NoTrustError: They are to be signed, and the registry has no trust policy.
        UnsignedError: They are not signed, and the policy wants it.
        NotAllowedError: The policy does not list the signer's key, or not for now.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: They could not be written; nothing was changed.
    """
    reads, notes = read([sources] if isinstance(sources, str | os.PathLike | dict) else sources)
    reads = _distinct(reads)

    def plan_on(base: Registry) -> _Plan:
        plan = _plan(base, reads)
        if signer is not None:
            return _with_endorsements(plan, registry, base, reads, signer)
        if commit:
            refuse_unsigned(base, (record.kind for record in plan.new))
        return plan

    if dry_run:
        return _with_notes(plan_on(registry.at_head() if commit else registry).added, notes, None)
    with registry.writing(wait) as found:
        plan = plan_on(registry.at_head() if commit else registry)
        made = None
        if plan.changes and commit:
            made = registry.commit(plan.changes, _message(plan, reads, message), wait)
        elif plan.changes:
            registry.stage(plan.changes, wait)
    return _with_notes(plan.added, (*found, *notes), made)


def _with_notes(added: Added, notes: tuple[str, ...], commit: str | None) -> Added:
    return msgspec.structs.replace(added, commit=commit, notes=notes + added.notes)


class _Plan(msgspec.Struct, frozen=True):
    """What adding some records would do."""

    added: Added
    changes: dict[str, bytes]
    new: tuple[Record, ...]
    updated: tuple[Record, ...]


def _plan(base: Registry, reads: list[Read]) -> _Plan:
    """Compare the documents with what a registry has.

    Raises:
        InvalidDocumentError: A reference is wrong.
    """
    faults = check_bundles(base, reads)
    # A neighbour's other digest explains a missing record better than its absence does.
    explained = {(fault.source, fault.path) for fault in faults}
    references = _check_references(base, reads)
    faults += [fault for fault in references.faults if (fault.source, fault.path) not in explained]
    if faults:
        raise InvalidDocumentError(tuple(faults))
    changes: dict[str, bytes] = {}
    by_status: dict[Status, list[Record]] = {"added": [], "present": [], "metadata-updated": []}
    rows = []
    for each in reads:
        record = each.record
        status = _status(base, record)
        by_status[status].append(record)
        rows.append(AddedRecord(record.digest, record.kind, record.name, status))
        if status != "present":
            written = base.files_of(record)
            changes.update((path, data) for path, data in written.items() if base.files.read(path) != data)
    added = Added(None, tuple(rows), tuple(references.unresolved), tuple(references.notes))
    return _Plan(added, changes, tuple(by_status["added"]), tuple(by_status["metadata-updated"]))


def _with_endorsements(plan: _Plan, registry: Registry, base: Registry, reads: list[Read], signer: Signer) -> _Plan:
    """Have a signer vouch for the records too."""
    from kstore.actions.sign import endorsement
    from kstore.actions.state import signed

    made = signed(registry.at_head(), base, [(each.record, endorsement(each.record)) for each in reads], signer)
    return msgspec.structs.replace(
        plan,
        added=msgspec.structs.replace(plan.added, statements=made.rows),
        changes=plan.changes | made.changes,
    )


def _message(plan: _Plan, reads: list[Read], message: str | None) -> str:
    """Write the commit's message; where all records are there already, what is new is who signs them."""
    if plan.new or plan.updated:
        return commit_message(plan.new, plan.updated, message)
    rows = zip(reads, plan.added.statements, strict=True)
    return statement_message([("endorsement", each.record) for each, row in rows if row.status == "added"], message)


def _status(base: Registry, record: Record) -> Status:
    if record.digest not in base:
        return "added"
    # Read checked: bytes that were damaged must not pass for the record that they once were.
    stored = base.get(record.digest)
    return "present" if stored.metadata_bytes == record.metadata_bytes else "metadata-updated"


class _References(msgspec.Struct):
    """What looking references up came to: what is refused, what is left open, and what is odd."""

    faults: list[Fault] = []
    unresolved: list[Unresolved] = []
    notes: list[str] = []


def _check_references(base: Registry, reads: list[Read]) -> _References:
    """Look every reference of the documents up, among them and in a registry."""
    known = {each.record.digest.raw: said_by(each.record) for each in reads}

    def look_up(digest: bytes) -> Said | None:
        if digest not in known and Digest.from_raw(digest) in base:
            known[digest] = said_by(base.get(Digest.from_raw(digest)))
        return known.get(digest)

    found = _References()
    for each in reads:
        for problem in reference_problems(known[each.record.digest.raw], look_up, base.settings.requires):
            if problem.code == "unresolved-reference":
                found.unresolved.append(Unresolved(each.record.digest, problem.field, problem.target))
                continue
            fault = each.document.fault(("spec", *problem.field.split(".")), problem.message)
            if problem.refused:
                found.faults.append(fault)
            else:
                found.notes.append(str(fault))
    return found


def _distinct(reads: list[Read]) -> list[Read]:
    """Drop repetitions of a document within a call.

    Raises:
        InvalidDocumentError: The same record comes with different metadata: which is meant is not ours to guess.
    """
    first: dict[Digest, Read] = {}
    faults: list[Fault] = []
    for each in reads:
        known = first.setdefault(each.record.digest, each)
        if known.record.metadata_bytes != each.record.metadata_bytes:
            message = (
                f"this is the same record as the one in {known.document.source} ({each.record.digest}) with different "
                "metadata; keep the metadata that is meant in both, or give one document only"
            )
            faults.append(each.document.fault(("metadata",), message))
    if faults:
        raise InvalidDocumentError(tuple(faults))
    return list(first.values())
