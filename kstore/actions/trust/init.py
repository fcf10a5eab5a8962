"""Begin the trust of a registry: policy 1, signed by its one maintainer, and pinned in this clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.trust.publish import Published, message_of, signed
from kstore.attest.amend import differences, first_policy
from kstore.attest.chain import policy_numbers
from kstore.attest.pin import Pin
from kstore.attest.signing import public_key_of
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.layout import policy_path

if TYPE_CHECKING:
    from kstore.attest.signing import Signer
    from kstore.registry import Registry


def init_trust(registry: Registry, name: str, signer: Signer, *, dry_run: bool = False, wait: float = 10) -> Published:
    """Make policy 1 of a registry and pin it.

    Args:
        registry: Where.
        name: What the one maintainer is called.
        signer: That maintainer's key.
        dry_run: Check everything and write nothing.
        wait: Seconds to wait for another writer.

    Raises:
        UsageError: The name is none.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        KstoreError: There is a policy already, or it could not be written.
    """
    policy = first_policy(name, public_key_of(signer))
    data = signed(policy, None, [signer]).to_bytes()
    changes = tuple(differences(None, policy))
    published = Published(1, Digest.of(data), None, changes, (), data)
    if dry_run:
        _refuse(registry)
        return published
    with registry.writing(wait) as found:
        _refuse(registry)
        commit = registry.commit({policy_path(1): data}, message_of(1, changes), wait)
        Pin(registry.derived).keep(Digest.of(data))
    return Published(1, Digest.of(data), commit, changes, (), data, found)


def _refuse(registry: Registry) -> None:
    if policy_numbers(registry.at_head().files) or policy_numbers(registry.files):
        raise KstoreError(
            "this registry has a trust policy already; `kstore trust list` shows it, `kstore trust add` changes it"
        )
    pin = Pin(registry.derived)
    pinned = pin.recall()
    if pinned is not None:
        raise KstoreError(
            f"{pinned} is pinned in this clone, and the registry has no policy: it was rolled back; bring its history "
            f"back, or remove {pin.path} to begin anew"
        )
