"""Change the trust of a registry: the next policy, committed when enough have signed it, or as a proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.trust.publish import Published, publish, signed
from kstore.attest.amend import successor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.attest.amend import Amendment
    from kstore.attest.signing import Signer
    from kstore.registry import Registry


def amend_trust(
    registry: Registry,
    amendment: Amendment,
    signers: Sequence[Signer],
    *,
    propose: bool = False,
    dry_run: bool = False,
    wait: float = 10,
) -> Published:
    """Make the policy that comes next.

    Args:
        registry: Where.
        amendment: What changes; `kstore.attest.amend` has them.
        signers: The keys that sign it.
        propose: Give the signed envelope, with as many signatures as it has, and commit nothing.
        dry_run: Check everything and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        NoTrustError: There is no policy, or none is pinned in this clone.
        UsageError: There is no signer.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: The change makes no sense, a key is no maintainer's, too few sign, or it could not be written.
    """
    return publish(
        registry,
        lambda last, digest: successor(amendment(last), last, digest),
        lambda policy, last: signed(policy, last, signers),
        may_lack=propose,
        commit=not (propose or dry_run),
        wait=wait,
    )
