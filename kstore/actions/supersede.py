"""Supersede a record: say which other one takes its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.state import Stated, state
from kstore.attest.statement import Sha256, Supersession
from kstore.errors import UsageError
from kstore.registry.lookup import record_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.actions.state import Said
    from kstore.attest.signing import Signer
    from kstore.registry import Registry


def supersede(
    registry: Registry,
    old: str,
    new: str,
    signer: Signer,
    *,
    reason: str,
    message: str | None = None,
    commit: bool = True,
    dry_run: bool = False,
    wait: float = 10,
) -> Stated:
    """Say that a record takes the place of another of its kind.

    Args:
        registry: Where both are.
        old: The record that is replaced, as `lookup` takes it.
        new: The record that replaces it, likewise.
        signer: Who says so; see `kstore.open_signer`.
        reason: Why.
        message: The commit's message instead of the usual one; the trailer that names the old record follows it.
        commit: With False, the file is written and staged, and whoever calls makes the commit.
        dry_run: Check and sign everything, and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        UsageError: Both are the same record, or they are of different kinds.
        NotFoundError: A record is not there.
        StatementError: The reason is empty or too long.
        NoTrustError: The registry has no trust policy.
        NotAllowedError: The policy does not list the key, or not for now.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: It could not be signed or written; nothing was changed.
    """

    def say(base: Registry) -> Iterator[Said]:
        record, replacing = record_of(base, old), record_of(base, new)
        if record.digest == replacing.digest:
            raise UsageError(f"{record.digest}: a record does not take its own place; `kstore retract` withdraws it")
        if record.kind != replacing.kind:
            raise UsageError(
                f"{record.digest} is of kind {record.kind}, {replacing.digest} of {replacing.kind}: a record is "
                "replaced by one of its kind; `kstore retract` withdraws it"
            )
        yield record, Supersession(Sha256.of(replacing.digest), reason)

    return state(registry, say, signer, message=message, commit=commit, dry_run=dry_run, wait=wait)
