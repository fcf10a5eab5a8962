"""State things about records, signed: all statements of a call in one commit, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kstore.actions.message import statement_message
from kstore.attest.allowed import allowed
from kstore.attest.signing import public_key_of, sign_payload
from kstore.attest.statement import PAYLOAD_TYPE, Kind, kind_of, statement_bytes
from kstore.digest import Digest
from kstore.layout import attestation_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kstore.attest.signing import Signer
    from kstore.attest.statement import Predicate
    from kstore.registry import Registry
    from kstore.schema import Record

    Said: TypeAlias = tuple[Record, Predicate]

Status: TypeAlias = Literal["added", "present"]


class StatementRow(msgspec.Struct, frozen=True):
    """What became of one statement of a call.

    Attributes:
        record: What it is about, and
        name: that record's name.
        predicate: What kind of statement it is.
        statement: The SHA-256 of its file.
        path: Where that lies.
        status: Whether it is new; the same key stating the same again makes the same file.
    """

    record: Digest
    name: str
    predicate: Kind
    statement: Digest
    path: str
    status: Status


class Stated(msgspec.Struct, frozen=True):
    """What a call came to.

    Attributes:
        commit: The new commit, or None when there was nothing to commit or none was wanted.
        signer: The signer's name, as the trust policy has it.
        key: The id of the key.
        statements: Every statement of the call.
        notes: What a person should know.
    """

    commit: str | None
    signer: str
    key: str
    statements: tuple[StatementRow, ...]
    notes: tuple[str, ...] = ()


class Signed(msgspec.Struct, frozen=True):
    """Statements that are signed and not yet written.

    Attributes:
        signer: The signer's name, and
        key: the id of the key.
        rows: All of them.
        changes: The files of those that are new.
    """

    signer: str
    key: str
    rows: tuple[StatementRow, ...]
    changes: dict[str, bytes]


def state(
    registry: Registry,
    say: Callable[[Registry], Iterable[Said]],
    signer: Signer,
    *,
    message: str | None,
    commit: bool,
    dry_run: bool,
    wait: float,
) -> Stated:
    """Sign statements and write them.

    Args:
        registry: Where the records are.
        say: Gives the records and what is said of them, read from the registry that it is given.
        signer: Who says it: any signer of securesystemslib's with an Ed25519 key that the latest policy lists.
        message: The commit's message instead of the usual one; the trailers that name the records follow it.
        commit: With False, the files are written and staged, and whoever calls makes the commit.
        dry_run: Check and sign everything, and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        NoTrustError: The registry has no trust policy.
        NotAllowedError: The policy that HEAD has does not list the key, or not for now.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: A record is not there, or they could not be signed or written; nothing was changed.
    """

    def plan() -> tuple[Signed, list[Said]]:
        head = registry.at_head()
        base = head if commit else registry
        said = list(say(base))
        return signed(head, base, said, signer), said

    if dry_run:
        return _stated(plan()[0], None)
    with registry.writing(wait) as found:
        made, said = plan()
        new = [each for each, row in zip(said, made.rows, strict=True) if row.status == "added"]
        if made.changes and commit:
            kinds = [(kind_of(predicate), record) for record, predicate in new]
            return _stated(made, registry.commit(made.changes, statement_message(kinds, message), wait), found)
        if made.changes:
            registry.stage(made.changes, wait)
        return _stated(made, None, found)


def signed(head: Registry, base: Registry, said: Iterable[Said], signer: Signer) -> Signed:
    """Sign statements, having checked that they will count.

    Args:
        head: The commit that they will follow; its policy says whether the key is allowed.
        base: Where they will be written.
        said: The records, and what is said of them.
        signer: Who says it.

    Raises:
        NoTrustError: There is no trust policy.
        NotAllowedError: The policy does not list the key, or not for now.
        SigningError: The signer does not sign rightly.
    """
    key = public_key_of(signer)
    name = allowed(head.files, key).name
    rows = []
    changes = {}
    for record, predicate in said:
        payload = statement_bytes(record.name, record.digest, predicate)
        data = sign_payload(PAYLOAD_TYPE, payload, [signer]).to_bytes()
        digest = Digest.of(data)
        path = attestation_path(record.digest, digest, base.settings.fanout)
        present = base.files.read(path) == data
        rows.append(
            StatementRow(
                record.digest, record.name, kind_of(predicate), digest, path, "present" if present else "added"
            )
        )
        if not present:
            changes[path] = data
    return Signed(name, key.id, tuple(rows), changes)


def _stated(made: Signed, commit: str | None, notes: tuple[str, ...] = ()) -> Stated:
    return Stated(commit, made.signer, made.key, made.rows, notes)
