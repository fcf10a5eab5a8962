"""Sign a policy that another maintainer has proposed, and commit it when enough have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.trust.publish import Published, publish, signed
from kstore.attest.policy import PolicyError, read_policy
from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.attest.envelope import Envelope
    from kstore.attest.policy import Policy
    from kstore.attest.signing import Signer
    from kstore.digest import Digest
    from kstore.registry import Registry


def cosign_trust(
    registry: Registry,
    proposal: bytes,
    signers: Sequence[Signer],
    *,
    dry_run: bool = False,
    wait: float = 10,
) -> Published:
    """Add signatures to a proposed policy.

    Args:
        registry: Where.
        proposal: The bytes of the proposal.
        signers: The keys that sign it.
        dry_run: Check everything and write nothing.
        wait: Seconds to wait for another writer.

    Returns:
        What became of it: where signatures are still missing, `envelope` is the proposal with those that it has now.

    Raises:
        NoTrustError: There is no policy, or none is pinned in this clone.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: It is no proposal for this registry as it is now, has a wrong signature, a key is no maintainer's,
            or it could not be written.
    """
    try:
        envelope, policy = read_policy(proposal)
    except PolicyError as error:
        raise KstoreError(f"this is no proposal of a trust policy: {error}") from None

    def draw(last: Policy, digest: Digest) -> Policy:
        if policy.number != last.number + 1 or not policy.previous or policy.previous.digest != digest:
            raise KstoreError(
                f"this proposal does not follow policy {last.number} of this registry ({digest}), which is the last; "
                "make it anew from there"
            )
        _check_signatures(envelope, policy, last)
        return policy

    return publish(
        registry,
        draw,
        lambda policy, last: signed(policy, last, signers, envelope),
        may_lack=True,
        commit=not dry_run,
        wait=wait,
    )


def _check_signatures(envelope: Envelope, policy: Policy, last: Policy) -> None:
    for each in envelope.signatures:
        entry = policy.entry(each.keyid) or last.entry(each.keyid)
        if entry is None or not entry.public_key.verifies(each.sig, envelope.signed):
            raise KstoreError(f"the proposal's signature of {each.keyid} is wrong, or is that of a stranger")
