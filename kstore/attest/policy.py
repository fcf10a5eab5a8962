"""Trust policies: who may sign what in a registry, as one file says it.

A policy's file is an envelope (`kstore.attest.envelope`) whose payload is canonical JSON. Reading one checks its form
alone; whether it is to be believed depends on those before it (`kstore.attest.chain`). Times are whole seconds since
1970-01-01T00:00:00Z (`kstore.attest.instant`), as commits have them.
"""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kstore.attest.envelope import MAX_SIGNATURES, Envelope, EnvelopeError
from kstore.attest.instant import seconds_of
from kstore.attest.key import KeyRefusedError, PublicKey
from kstore.attest.statement import Sha256
from kstore.errors import KstoreError
from kstore.schema.kinds import KINDS
from kstore.schema.primitives import END, Instant, Strict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PAYLOAD_TYPE = "application/vnd.kstore.trust+json"

MAX_POLICIES = 10_000
"""The largest number that a policy may have."""

MAX_THRESHOLD = MAX_SIGNATURES // 2
"""The largest threshold: two policies with different maintainers may both have to be met by one envelope."""

MAX_SIGNERS = 1000
"""How many keys a policy may list."""

Role: TypeAlias = Literal["maintainer", "signer"]
"""A maintainer may sign policies, checkpoints and statements, a signer statements."""

State: TypeAlias = Literal["valid", "not yet valid", "no longer valid", "revoked"]

SignerName = Annotated[
    str,
    Meta(
        description="a lower-case letter or digit, then lower-case letters, digits, ., _, @, + and -, at most 100",
        pattern=r"^[a-z0-9][a-z0-9._@+-]*" + END,
        max_length=100,
    ),
]
"""The name of a person or a machine that signs; all keys of one name count as one signer."""

Previous: TypeAlias = Sha256 | UnsetType

KeyText = Annotated[str, Meta(pattern=r"^ssh-ed25519 [A-Za-z0-9+/]{68}" + END)]


class PolicyError(KstoreError):
    """Bytes are no trust policy of this form, or what they would say makes no sense."""


class Listed(Strict, frozen=True, dict=True, gc=True):
    """One key that a policy lists.

    Attributes:
        name: Whose it is.
        key: The key as OpenSSH writes it, without a comment.
        roles: What it may do; sorted.
        valid_after: The first instant at which it counts.
        valid_before: The first instant at which it counts no longer.
        revoked_from: The first instant from which nothing that it signs can be trusted.
    """

    name: SignerName
    key: KeyText
    roles: Annotated[tuple[Role, ...], Meta(min_length=1, max_length=2)]
    valid_after: Instant | UnsetType = UNSET
    valid_before: Instant | UnsetType = UNSET
    revoked_from: Instant | UnsetType = UNSET

    @cached_property
    def public_key(self) -> PublicKey:
        """The key itself.

        Raises:
            KeyRefusedError: It is damaged; the keys of a policy that was read are not.
        """
        return _parsed(self.key)

    @property
    def id(self) -> str:
        """The key's name, as signatures have it."""
        return self.public_key.id

    @property
    def is_maintainer(self) -> bool:
        """Whether it may sign policies and checkpoints."""
        return "maintainer" in self.roles

    def is_revoked(self, time: int) -> bool:
        """Tell whether it is revoked at some time, in seconds since 1970."""
        return self.revoked_from is not UNSET and seconds_of(self.revoked_from) <= time

    def is_within(self, time: int) -> bool:
        """Tell whether some time, in seconds since 1970, lies in its window, revoked or not."""
        return (self.valid_after is UNSET or seconds_of(self.valid_after) <= time) and (
            self.valid_before is UNSET or time < seconds_of(self.valid_before)
        )

    def state(self, time: int) -> State:
        """Say what it is at some time, in seconds since 1970."""
        if self.is_revoked(time):
            return "revoked"
        if self.is_within(time):
            return "valid"
        return (
            "not yet valid"
            if self.valid_after is not UNSET and time < seconds_of(self.valid_after)
            else "no longer valid"
        )


class Policy(Strict, frozen=True, dict=True, gc=True):
    """What a registry's n-th policy says.

    Attributes:
        format: The version of this form.
        number: Which policy it is, counted from 1.
        threshold: How many different names of maintainers must sign the next policy, and had to sign this one.
        signers: The keys, sorted by name and key.
        previous: The SHA-256 of the file of the policy before; the first has none.
        requires_signature: Kinds of records that must be endorsed by a key of a policy; True is all kinds.
    """

    format: Literal[1]
    number: Annotated[int, Meta(ge=1, le=MAX_POLICIES)]
    threshold: Annotated[int, Meta(ge=1, le=MAX_THRESHOLD)]
    signers: Annotated[tuple[Listed, ...], Meta(min_length=1, max_length=MAX_SIGNERS)]
    previous: Previous = UNSET
    requires_signature: bool | Annotated[tuple[str, ...], Meta(min_length=1)] | UnsetType = UNSET

    @property
    def maintainers(self) -> tuple[Listed, ...]:
        """The keys of maintainers, revoked ones too."""
        return tuple(each for each in self.signers if each.is_maintainer)

    @property
    def lasting(self) -> tuple[str, ...]:
        """The names of the maintainers that have a key that is not revoked, now or from some later time; sorted."""
        return tuple(sorted({each.name for each in self.maintainers if not each.revoked_from}))

    def entry(self, key_id: str) -> Listed | None:
        """Find a key by its id."""
        return self._by_id.get(key_id)

    def counted(self, key_ids: Iterable[str], time: int, policy: Policy) -> frozenset[str]:
        """Give the names of the maintainers of this policy whose signatures of a policy count.

        A key that is revoked, from whatever instant, by this policy or by the one that is signed, never counts: what
        follows this policy is later than it, whatever the clocks say.

        Args:
            key_ids: The keys that have signed it.
            time: When it appeared, in seconds since 1970.
            policy: The policy that is signed: this one, or the next.
        """
        found = (self.entry(key_id) for key_id in key_ids if not policy.revokes(key_id) and not self.revokes(key_id))
        return frozenset(
            each.name for each in found if each is not None and each.is_maintainer and each.is_within(time)
        )

    def revokes(self, key_id: str) -> bool:
        """Tell whether it lists a key as revoked, from whatever instant."""
        entry = self.entry(key_id)
        return entry is not None and entry.revoked_from is not UNSET

    def requires(self, kind: str) -> bool:
        """Tell whether records of a kind must be signed."""
        return self.requires_signature is True or (
            isinstance(self.requires_signature, tuple) and kind in self.requires_signature
        )

    def to_bytes(self) -> bytes:
        """Write the payload: RFC 8785, for which sorted keys are enough as all of its text is ASCII."""
        return _encode(self)

    def check(self) -> None:
        """Check what the types do not say.

        Raises:
            PolicyError: The policy makes no sense.
        """
        for problem in _problems(self):
            raise PolicyError(problem)

    @cached_property
    def _by_id(self) -> dict[str, Listed]:
        return {each.id: each for each in self.signers}


def read_policy(data: bytes) -> tuple[Envelope, Policy]:
    """Read the file of a policy; signatures are not verified.

    Raises:
        PolicyError: It is no envelope, or its payload is no policy of this form, or another spelling of one.
    """
    try:
        envelope = Envelope.from_bytes(data)
    except EnvelopeError as error:
        raise PolicyError(str(error)) from None
    if envelope.payload_type != PAYLOAD_TYPE:
        raise PolicyError(f"expected a payload of type {PAYLOAD_TYPE}, found {envelope.payload_type}")
    return envelope, read_payload(envelope.payload)


def read_payload(data: bytes) -> Policy:
    """Read the payload of a policy's envelope.

    Raises:
        PolicyError: It is no policy of this form, or another spelling of one.
    """
    try:
        policy = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PolicyError(f"expected a trust policy of format 1: {error}") from None
    policy.check()
    if policy.to_bytes() != data:
        raise PolicyError("expected the canonical form (RFC 8785) of a policy, found another spelling of it")
    return policy


def _problems(policy: Policy) -> Iterator[str]:
    if (policy.number == 1) != (policy.previous is UNSET):
        yield "expected `previous` in every policy but the first"
    for each in policy.signers:
        yield from _problems_of_entry(each)
    order = [(each.name, each.key) for each in policy.signers]
    if order != sorted(order):
        yield "expected signers sorted by name and key"
    if len({each.key for each in policy.signers}) != len(order):
        yield "expected every key once, found one listed twice: a key belongs to one name"
    if policy.threshold > len(policy.lasting):
        yield (
            f"expected a threshold of at most {len(policy.lasting)}, the number of maintainers that are not revoked "
            f"(all keys of one name count once), found {policy.threshold}"
        )
    yield from _problems_of_kinds(policy.requires_signature)


def _problems_of_entry(entry: Listed) -> Iterator[str]:
    try:
        _ = entry.public_key
    except KeyRefusedError as error:
        yield f"the key of {entry.name}: {error}"
    if list(entry.roles) != sorted(set(entry.roles)):
        yield f"the roles of {entry.name}: expected them sorted, each once"
    after, before = entry.valid_after, entry.valid_before
    if after is not UNSET and before is not UNSET and seconds_of(after) >= seconds_of(before):
        yield f"the key of {entry.name}: expected validAfter before validBefore, found {after} and {before}"


def _problems_of_kinds(kinds: bool | tuple[str, ...] | UnsetType) -> Iterator[str]:
    if kinds is False:
        yield "requiresSignature: expected true or kinds; where nothing must be signed, leave the field out"
    if isinstance(kinds, tuple):
        unknown = sorted(set(kinds) - set(KINDS))
        if unknown:
            yield f"requiresSignature: there is no kind {unknown[0]!r}; the kinds are {', '.join(KINDS)}"
        if list(kinds) != sorted(set(kinds)):
            yield "requiresSignature: expected kinds sorted, each once"


# The policies of a registry list much the same keys.
_parsed = lru_cache(maxsize=4 * MAX_SIGNERS)(PublicKey.parse)

_decode = msgspec.json.Decoder(Policy).decode

# Its strings are ASCII, its numbers small integers: so msgspec's bytes are the standard's.
_encode = msgspec.json.Encoder(order="sorted").encode
