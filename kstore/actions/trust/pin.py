"""Pin a policy in a clone: from there on, everything that follows from it is trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.attest.pin import Pin
from kstore.attest.trusted import trust_from
from kstore.errors import KstoreError, NoTrustError

if TYPE_CHECKING:
    from kstore.attest.policy import Policy
    from kstore.digest import Digest
    from kstore.registry import Registry


class Pinned(msgspec.Struct, frozen=True):
    """What was pinned.

    Attributes:
        number: The policy's number.
        digest: The digest of its file.
        before: The digest that was pinned before, or None.
        latest: The number of the last policy that follows from it.
        problems: What is wrong with later policies, or those before it.
    """

    number: int
    digest: Digest
    before: Digest | None
    latest: int
    problems: tuple[str, ...]


def pin_trust(registry: Registry, digest: Digest) -> Pinned:
    """Remember the digest of a policy that the reader trusts, in the git directory.

    Raises:
        NoTrustError: The registry has no policy.
        KstoreError: It has none with that digest.
    """
    trust = trust_from(registry, digest)
    if not trust.exists:
        raise NoTrustError("this registry has no trust policy that could be pinned")
    if not trust.pinned:
        raise KstoreError(
            f"no policy of this registry has the digest {digest}; nothing was pinned: either the digest is wrong, or "
            "this is not the registry that it is of; `kstore trust list` shows what there is"
        )
    pin = Pin(registry.derived)
    before = pin.recall()
    pin.keep(digest)
    number = next(each.number for each, its in zip(trust.policies, trust.digests, strict=True) if its == digest)
    problems = tuple(f"{each.path}: {each.message}" for each in trust.problems)
    return Pinned(number, digest, before, trust.policies[-1].number, problems)


def candidate(registry: Registry) -> tuple[Policy, Digest]:
    """Give the policy that a reader may want to pin, and its digest: the last one that agrees with those before it.

    Raises:
        NoTrustError: The registry has no policy.
        KstoreError: Its first policy is not even signed by itself.
    """
    trust = trust_from(registry, None)
    if trust.latest is None:
        for problem in trust.problems:
            raise KstoreError(f"{problem.path}: {problem.message}")
        raise NoTrustError("this registry has no trust policy that could be pinned")
    return trust.latest, trust.digests[-1]
