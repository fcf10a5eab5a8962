"""List whom a registry trusts: its policies, and the keys of the last one that is believed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.attest.instant import now
from kstore.attest.pin import Pin
from kstore.attest.trusted import trust_from
from kstore.layout import policy_path

if TYPE_CHECKING:
    from kstore.attest.policy import Role, State
    from kstore.digest import Digest
    from kstore.registry import Registry


class PolicyRow(msgspec.Struct, frozen=True):
    """One policy that is believed: its number, its file, and that file's digest."""

    number: int
    path: str
    digest: Digest
    pinned: bool


class KeyRow(msgspec.Struct, frozen=True, rename="camel"):
    """One key of the last policy; `state` is what it is now."""

    name: str
    keyid: str
    key: str
    roles: tuple[Role, ...]
    valid_after: str | None
    valid_before: str | None
    revoked_from: str | None
    state: State


class ProblemRow(msgspec.Struct, frozen=True):
    """A policy that is not believed, and why."""

    path: str
    code: str
    message: str


class TrustList(msgspec.Struct, frozen=True, rename="camel"):
    """Whom a registry trusts.

    Attributes:
        pinned: The digest that is pinned in this clone, or None.
        trusted: Whether the policies follow from it.
        policies: Those that are believed, in order.
        threshold: How many maintainers must sign the next one; None where there is no policy.
        requires_signature: What must be signed: True is all, otherwise kinds.
        signers: The keys of the last policy.
        problems: What is wrong with the other policies.
    """

    pinned: Digest | None
    trusted: bool
    policies: tuple[PolicyRow, ...]
    threshold: int | None
    requires_signature: bool | tuple[str, ...]
    signers: tuple[KeyRow, ...]
    problems: tuple[ProblemRow, ...]


def list_trust(registry: Registry) -> TrustList:
    """Say whom a registry trusts, as this clone sees it.

    Raises:
        KstoreError: What is pinned cannot be read.
    """
    pinned = Pin(registry.derived).recall()
    trust = trust_from(registry, pinned)
    latest, time = trust.latest, now()
    required = False if latest is None else latest.requires_signature or False
    return TrustList(
        pinned,
        trust.pinned,
        tuple(
            PolicyRow(policy.number, policy_path(policy.number), digest, digest == pinned)
            for policy, digest in zip(trust.policies, trust.digests, strict=True)
        ),
        None if latest is None else latest.threshold,
        required,
        tuple(
            KeyRow(
                each.name,
                each.id,
                each.key,
                each.roles,
                each.valid_after or None,
                each.valid_before or None,
                each.revoked_from or None,
                each.state(time),
            )
            for each in (() if latest is None else latest.signers)
        ),
        tuple(ProblemRow(each.path, each.code, each.message) for each in trust.problems),
    )
