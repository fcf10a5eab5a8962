"""Whose signatures of a checkpoint count: those of maintainers, by the policies that were in force when it appeared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.attest.in_force import rules
from kstore.attest.instant import seconds_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.attest.chain import Trust
    from kstore.attest.envelope import Envelope, Signature
    from kstore.attest.policy import Policy


class Signers(msgspec.Struct, frozen=True):
    """What the signatures of a checkpoint come to.

    Attributes:
        names: The maintainers whose signatures count; for each the instant, in seconds since 1970, from which on the
            key is revoked by the last policy that lists it, or None.
        troubles: The code of each thing that is wrong, and its message.
    """

    names: dict[str, int | None]
    troubles: tuple[tuple[str, str], ...]


def signers_of(envelope: Envelope, number: int, trust: Trust, time: int) -> Signers:
    """Judge the signatures of a checkpoint.

    Args:
        envelope: What it came in.
        number: The highest number of a believed policy that came before it by history, or 0.
        trust: The policies that are believed.
        time: When it came, in seconds since 1970.
    """
    names: dict[str, int | None] = {}
    troubles = []
    in_force = rules(trust, number, time)
    for signature in envelope.signatures:
        trouble = _trouble(envelope, signature, in_force, trust, time)
        if trouble is not None:
            troubles.append(trouble)
            continue
        entry = in_force[-1].entry(signature.keyid)
        assert entry, "a key that no policy lists is trouble"
        revoked = trust.revoked_from(signature.keyid)
        since = None if revoked is None else seconds_of(revoked)
        # Of two keys of one name the one that was not revoked says more.
        if since is None or names.get(entry.name, 0) is not None:
            names[entry.name] = since if since is None else max(since, names.get(entry.name) or 0)
    return Signers(names, tuple(troubles))


def _trouble(
    envelope: Envelope, signature: Signature, in_force: Sequence[Policy], trust: Trust, time: int
) -> tuple[str, str] | None:
    key = trust.keys.get(signature.keyid)
    if key is not None and not key.verifies(signature.sig, envelope.signed):
        return "bad-checkpoint", f"the signature of {signature.keyid} is not right for what it signs"
    if not in_force:
        return "unknown-signer", (
            f"expected a signature of a maintainer, found one of {signature.keyid}; no policy that is believed was in "
            "force then"
        )
    for policy in in_force:
        entry = policy.entry(signature.keyid)
        if entry is None:
            late = ", which was added with it or later" if trust.latest and trust.latest.entry(signature.keyid) else ""
            return "unknown-signer", (
                f"expected a signature of a maintainer of policy {policy.number}, which was in force before it "
                f"appeared, found one of {signature.keyid}{late}"
            )
        if not entry.is_maintainer:
            number = policy.number
            return (
                "signer-not-valid",
                f"only maintainers sign checkpoints, and {entry.name} was none by policy {number}",
            )
        state = entry.state(time)
        if state != "valid":
            return "signer-not-valid", (
                f"the key of {entry.name} ({signature.keyid}) was {state} by policy {policy.number} when this appeared"
            )
    return None
