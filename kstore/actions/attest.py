"""Attest a replication: that a measurement was repeated, and whether it came out as the record says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import UNSET

from kstore.actions.state import Stated, state
from kstore.attest.statement import Replication, Sha256
from kstore.errors import UsageError
from kstore.registry.lookup import record_of
from kstore.schema import role_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.actions.state import Said
    from kstore.attest.signing import Signer
    from kstore.registry import Registry


def attest(
    registry: Registry,
    ref: str,
    signer: Signer,
    *,
    result: Literal["reproduced", "not-reproduced"],
    run: str | None = None,
    value: str | None = None,
    environment: str | None = None,
    note: str | None = None,
    message: str | None = None,
    commit: bool = True,
    dry_run: bool = False,
    wait: float = 10,
) -> Stated:
    """Say that a measurement was repeated.

    Args:
        registry: Where its record is.
        ref: The record, as `lookup` takes it.
        signer: Who says so; see `kstore.open_signer`.
        result: Whether it came out as the record says.
        run: The record of the run that repeated it, as `lookup` takes it.
        value: What came out, in words, and
        environment: where, for when there is no such record.
        note: What else there is to say.
        message: The commit's message instead of the usual one; the trailer that names the record follows it.
        commit: With False, the file is written and staged, and whoever calls makes the commit.
        dry_run: Check and sign everything, and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        UsageError: The repeating run is the record itself, or no run.
        NotFoundError: A record is not there.
        StatementError: A text is empty or too long.
        NoTrustError: The registry has no trust policy.
        NotAllowedError: The policy does not list the key, or not for now.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: It could not be signed or written; nothing was changed.
    """

    def say(base: Registry) -> Iterator[Said]:
        record = record_of(base, ref)
        repeated = None if run is None else record_of(base, run)
        if repeated is not None and repeated.digest == record.digest:
            raise UsageError(f"{record.digest}: a run is no replication of itself; give the run that repeated it")
        if repeated is not None and role_of(repeated.kind) != "run":
            raise UsageError(f"{repeated.digest}: expected the run that repeated it, found a record of {repeated.kind}")
        predicate = Replication(
            result,
            UNSET if repeated is None else Sha256.of(repeated.digest),
            UNSET if value is None else value,
            UNSET if environment is None else environment,
            UNSET if note is None else note,
        )
        yield record, predicate

    return state(registry, say, signer, message=message, commit=commit, dry_run=dry_run, wait=wait)
