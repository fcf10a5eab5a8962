"""Export whom a registry trusts, for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.trust.publish import believed
from kstore.attest.instant import now
from kstore.attest.openssh import allowed_signers
from kstore.attest.trusted import trust_of

if TYPE_CHECKING:
    from kstore.registry import Registry


def export_allowed_signers(registry: Registry) -> list[str]:
    """Give the lines of an OpenSSH allowed signers file: the keys of the last policy that count now or will.

    Raises:
        NoTrustError: There is no policy, or none is pinned in this clone.
        KstoreError: One of the policies is not to be believed.
    """
    last, _ = believed(trust_of(registry))
    return list(allowed_signers(last, now()))
