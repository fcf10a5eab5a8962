"""From an unsigned policy to a commit that has it, once enough have signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.attest.amend import differences
from kstore.attest.chain import policy_problem
from kstore.attest.envelope import sealed
from kstore.attest.instant import now
from kstore.attest.policy import PAYLOAD_TYPE
from kstore.attest.signing import public_key_of, sign_payload
from kstore.attest.trusted import trust_of
from kstore.digest import Digest
from kstore.errors import KstoreError, NoTrustError, UsageError
from kstore.layout import policy_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kstore.attest.chain import Trust
    from kstore.attest.envelope import Envelope
    from kstore.attest.policy import Policy
    from kstore.attest.signing import Signer
    from kstore.registry import Registry


class Missing(msgspec.Struct, frozen=True):
    """A rule that the signatures of a policy do not meet yet.

    Attributes:
        policy: The number of the policy whose rule it is: of the one before, or of the new one itself.
        needed: How many different maintainers of it must sign.
        signed: The names of those who have.
        others: The names of those who have not and may.
    """

    policy: int
    needed: int
    signed: tuple[str, ...]
    others: tuple[str, ...]

    def __str__(self) -> str:
        """Say what is missing."""
        lack = self.needed - len(self.signed)
        return (
            f"policy {self.policy} needs {self.needed} of its maintainers, {len(self.signed)} "
            f"{'has' if len(self.signed) == 1 else 'have'} signed{': ' * bool(self.signed)}{', '.join(self.signed)}; "
            f"{lack} of {', '.join(self.others) or 'nobody'} must sign too"
        )


class Published(msgspec.Struct, frozen=True):
    """What became of a policy.

    Attributes:
        number: Its number.
        digest: The SHA-256 of its file, by which it can be pinned, or None while signatures are missing.
        commit: The commit that has it, or None where none was made.
        changes: What it changes, in words.
        missing: What its signatures do not meet yet.
        envelope: The bytes of its file, or of the proposal.
        notes: What a person should know about what was found.
    """

    number: int
    digest: Digest | None
    commit: str | None
    changes: tuple[str, ...]
    missing: tuple[Missing, ...]
    envelope: bytes
    notes: tuple[str, ...] = ()


def publish(
    registry: Registry,
    draw: Callable[[Policy, Digest], Policy],
    sign: Callable[[Policy, Policy], Envelope],
    *,
    may_lack: bool,
    commit: bool,
    wait: float,
) -> Published:
    """Commit a policy that follows the last one, when enough have signed it.

    Args:
        registry: Where.
        draw: Gives the new policy, from the last one and the digest of that one's file.
        sign: Gives the new policy in its envelope, from itself and the last one.
        may_lack: Whether too few signatures give a proposal, not an error.
        commit: Whether to write anything at all.
        wait: Seconds to wait for another writer.

    Raises:
        NoTrustError: There is no policy, or none is pinned in this clone.
        KstoreError: The new policy makes no sense, a key must not sign it, too few have, or it could not be written.
    """
    if not commit:
        return _check(registry.at_head(), draw, sign, may_lack)
    with registry.writing(wait) as found:
        published = _check(registry.at_head(), draw, sign, may_lack)
        made = None
        if published.changes and not published.missing:
            made = registry.commit(
                {policy_path(published.number): published.envelope},
                message_of(published.number, published.changes),
                wait,
            )
    return msgspec.structs.replace(published, commit=made, notes=found)


def believed(trust: Trust) -> tuple[Policy, Digest]:
    """Give the last policy of a registry that a clone trusts, and the digest of its file.

    Raises:
        NoTrustError: There is no policy, or none is pinned in this clone.
        KstoreError: One of its policies is not to be believed.
    """
    for problem in trust.problems:
        raise KstoreError(f"{problem.path}: {problem.message}")
    last = trust.latest
    if last is None:
        raise NoTrustError("this registry has no trust policy; `kstore trust init --name NAME --key FILE` makes one")
    if not trust.pinned:
        raise NoTrustError(
            "no policy is pinned in this clone, so nothing here is trusted yet; `kstore trust pin sha256:<hex>` pins "
            "the one whose digest its maintainers have told you"
        )
    return last, trust.digests[-1]


def signed(
    policy: Policy, before: Policy | None, signers: Sequence[Signer], envelope: Envelope | None = None
) -> Envelope:
    """Sign a policy with some keys, on top of the signatures that it has.

    Raises:
        UsageError: There are none.
        KstoreError: One of the keys is no maintainer's, or does not count now.
    """
    made = {} if envelope is None else {each.keyid: each.sig for each in envelope.signatures}
    for signer in signers:
        key = public_key_of(signer).id
        entries = [entry for rule in (before, policy) if rule is not None and (entry := rule.entry(key)) is not None]
        if not any(entry.is_maintainer for entry in entries):
            who = f"{entries[0].name}, who is no maintainer" if entries else "nobody whom a policy lists"
            raise KstoreError(f"{key} is the key of {who}: only maintainers sign policies")
        states = {entry.state(now()) for entry in entries if entry.is_maintainer}
        if "valid" not in states:
            raise KstoreError(
                f"{key}, a key of {entries[0].name}, is {' and '.join(sorted(states))}; sign with another"
            )
    payload = policy.to_bytes()
    if signers:
        made |= {each.keyid: each.sig for each in sign_payload(PAYLOAD_TYPE, payload, signers).signatures}
    if not made:
        raise UsageError("a policy needs a signature; --key FILE names the key of a maintainer")
    return sealed(PAYLOAD_TYPE, payload, made)


def message_of(number: int, changes: Sequence[str]) -> str:
    """Write the message of the commit that has a policy."""
    if len(changes) == 1:
        return f"Trust policy {number}: {changes[0]}\n"
    return f"Trust policy {number}\n\n" + "".join(f"- {change}\n" for change in changes)


def _check(
    head: Registry,
    draw: Callable[[Policy, Digest], Policy],
    sign: Callable[[Policy, Policy], Envelope],
    may_lack: bool,
) -> Published:
    """Draw a policy up and check that it may follow the last; nothing is written."""
    last, digest = believed(trust_of(head))
    policy = draw(last, digest)
    changes = tuple(differences(last, policy))
    if not changes:
        return Published(last.number, digest, None, (), (), head.files.read(policy_path(last.number)) or b"")
    envelope, time = sign(policy, last), now()
    missing = tuple(_missing(envelope, policy, last, time))
    if missing and not may_lack:
        raise KstoreError(
            "; ".join(map(str, missing))
            + "; give all their keys with --key, or write a proposal with --propose FILE, which they sign with "
            "`kstore trust sign FILE --key FILE`"
        )
    problem = None if missing else policy_problem(policy, envelope, last, time)
    if problem is not None:
        raise KstoreError(f"policy {policy.number}: {problem}")
    data = envelope.to_bytes()
    return Published(policy.number, None if missing else Digest.of(data), None, changes, missing, data)


def _missing(envelope: Envelope, policy: Policy, last: Policy, time: int) -> Iterator[Missing]:
    for rule in (last, policy):
        names = rule.counted((each.keyid for each in envelope.signatures), time, policy)
        if len(names) < rule.threshold:
            others = rule.counted((each.id for each in rule.maintainers), time, policy) - names
            yield Missing(rule.number, rule.threshold, tuple(sorted(names)), tuple(sorted(others)))
