"""Retract a record: it stays where it is, and everybody who meets it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.state import Stated, state
from kstore.attest.statement import Retraction
from kstore.registry.lookup import record_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.actions.state import Said
    from kstore.attest.signing import Signer
    from kstore.registry import Registry


def retract(
    registry: Registry,
    ref: str,
    signer: Signer,
    *,
    reason: str,
    message: str | None = None,
    commit: bool = True,
    dry_run: bool = False,
    wait: float = 10,
) -> Stated:
    """Withdraw a record.

    Args:
        registry: Where it is.
        ref: The record, as `lookup` takes it.
        signer: Who withdraws it; see `kstore.open_signer`.
        reason: Why.
        message: The commit's message instead of the usual one; the trailer that names the record follows it.
        commit: With False, the file is written and staged, and whoever calls makes the commit.
        dry_run: Check and sign everything, and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        NotFoundError: The record is not there.
        StatementError: The reason is empty or too long.
        NoTrustError: The registry has no trust policy.
        NotAllowedError: The policy does not list the key, or not for now.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: It could not be signed or written; nothing was changed.
    """

    def say(base: Registry) -> Iterator[Said]:
        yield record_of(base, ref), Retraction(reason)

    return state(registry, say, signer, message=message, commit=commit, dry_run=dry_run, wait=wait)
