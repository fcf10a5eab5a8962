"""Sign records: endorse them, with their metadata as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.state import Stated, state
from kstore.attest.statement import Endorsement, Sha256
from kstore.digest import Digest
from kstore.errors import UsageError
from kstore.registry.lookup import records_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kstore.actions.state import Said
    from kstore.attest.signing import Signer
    from kstore.registry import Registry
    from kstore.schema import Record


def sign(
    registry: Registry,
    refs: str | Iterable[str],
    signer: Signer,
    *,
    message: str | None = None,
    commit: bool = True,
    dry_run: bool = False,
    wait: float = 10,
) -> Stated:
    """Vouch for records, all in one commit; signing again what is unchanged changes nothing.

    Args:
        registry: Where they are.
        refs: Digests, unique starts of them, or names, as `lookup` takes them; or one of these.
        signer: Who vouches; see `kstore.open_signer`.
        message: The commit's message instead of the usual one; the trailers that name the records follow it.
        commit: With False, the files are written and staged, and whoever calls makes the commit.
        dry_run: Check and sign everything, and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        UsageError: There is no REF.
        NotFoundError: A record is not there.
        NoTrustError: The registry has no trust policy.
        NotAllowedError: The policy does not list the key, or not for now.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: They could not be signed or written; nothing was changed.
    """
    wanted = [refs] if isinstance(refs, str) else list(refs)
    if not wanted:
        raise UsageError("expected at least one record to sign, found none")

    def say(base: Registry) -> list[Said]:
        records = {record.digest: record for record in records_of(base, list(dict.fromkeys(wanted)))}
        return [(record, endorsement(record)) for record in records.values()]

    return state(registry, say, signer, message=message, commit=commit, dry_run=dry_run, wait=wait)


def endorsement(record: Record) -> Endorsement:
    """Say that the signer vouches for a record, and has seen its metadata."""
    return Endorsement(Sha256.of(Digest.of(record.metadata_bytes)))
