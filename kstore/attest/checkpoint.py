"""Checkpoints: signed statements of everything that a registry has at one commit, each naming the one before.

A checkpoint is an in-toto Statement v1 in an envelope, like any other statement; its one subject is the registry's
store/, by its root (`kstore.attest.root`) and by its commit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kstore.attest.envelope import Envelope, EnvelopeError
from kstore.attest.instant import instant_of, seconds_of
from kstore.attest.statement import PAYLOAD_TYPE, PREDICATES, TYPE, Sha256
from kstore.errors import KstoreError
from kstore.layout import checkpoint_path
from kstore.schema.primitives import END, Commit, Count, Instant, Strict

if TYPE_CHECKING:
    from kstore.attest.root import Root
    from kstore.digest import Digest

MAX_NUMBER = 9_999_999_999
"""The largest number that a checkpoint may have: its file's name has ten digits."""


class CheckpointError(KstoreError):
    """Bytes are no checkpoint of this form."""


class Contents(Strict, frozen=True):
    """An in-toto DigestSet: the root in hexadecimal digits, and the commit."""

    blake3: Annotated[str, Meta(pattern="^[0-9a-f]{64}" + END)]
    git_commit: Commit


class Store(Strict, frozen=True):
    """What a checkpoint is about."""

    name: Literal["store"]
    digest: Contents


class Summary(Strict, frozen=True):
    """What a checkpoint says beside the root.

    Attributes:
        number: Which checkpoint it is, counted from 1.
        records: How many files lie below store/objects.
        created_at: When it was made, by its maker's clock, and never before the one before it.
        previous: The SHA-256 of the file of the checkpoint before; the first has none.
    """

    number: Annotated[int, Meta(ge=1, le=MAX_NUMBER)]
    records: Count
    created_at: Instant
    previous: Sha256 | UnsetType = UNSET


class Checkpoint(Strict, frozen=True, tag_field="predicateType", tag=f"{PREDICATES}/checkpoint/v1"):
    """A checkpoint as its payload says it."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: Annotated[tuple[Store, ...], Meta(min_length=1, max_length=1)]
    predicate: Summary

    @property
    def number(self) -> int:
        """Which checkpoint it is, counted from 1."""
        return self.predicate.number

    @property
    def root(self) -> str:
        """The root over store/, 64 hexadecimal digits."""
        return self.subject[0].digest.blake3

    @property
    def commit(self) -> str:
        """The commit that it is about, 40 hexadecimal digits."""
        return self.subject[0].digest.git_commit

    @property
    def records(self) -> int:
        """How many files lie below store/objects at that commit."""
        return self.predicate.records

    @property
    def previous(self) -> Digest | None:
        """The SHA-256 of the file of the checkpoint before, or None."""
        return self.predicate.previous.digest if self.predicate.previous else None

    @property
    def time(self) -> int:
        """When it says that it was made, in seconds since 1970."""
        return seconds_of(self.predicate.created_at)


def checkpoint_bytes(number: int, root: Root, commit: str, time: int, previous: Digest | None) -> bytes:
    """Write the payload of a checkpoint.

    Args:
        number: Which one it is, counted from 1.
        root: What store/ has.
        commit: The commit that has it, 40 hexadecimal digits.
        time: When it is made, in seconds since 1970.
        previous: The SHA-256 of the file of the checkpoint before; None for the first.
    """
    summary = Summary(number, root.records, instant_of(time), UNSET if previous is None else Sha256.of(previous))
    return _encode(Checkpoint(TYPE, (Store("store", Contents(root.hash.hex(), commit)),), summary))


def read_checkpoint(data: bytes, number: int) -> tuple[Envelope, Checkpoint]:
    """Read the file of a checkpoint; signatures are not verified.

    Args:
        data: The file's bytes.
        number: The number that its name has.

    Raises:
        CheckpointError: It is no envelope, or its payload is no checkpoint, not this one, or another spelling of one.
    """
    try:
        envelope = Envelope.from_bytes(data)
        if envelope.payload_type != PAYLOAD_TYPE:
            raise CheckpointError(f"expected a payload of type {PAYLOAD_TYPE}, found {envelope.payload_type}")
        checkpoint = _decode(envelope.payload)
    except EnvelopeError as error:
        raise CheckpointError(str(error)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CheckpointError(f"expected an in-toto Statement v1 that is a checkpoint: {error}") from None
    if _encode(checkpoint) != envelope.payload:
        raise CheckpointError("expected the canonical form (RFC 8785) of a checkpoint, found another spelling of it")
    if checkpoint.number != number:
        raise CheckpointError(f"expected number {number}, as in {checkpoint_path(number)}, found {checkpoint.number}")
    if (number == 1) != (checkpoint.previous is None):
        raise CheckpointError("expected `previous` in every checkpoint but the first")
    return envelope, checkpoint


_decode = msgspec.json.Decoder(Checkpoint).decode

# Its strings are ASCII, its numbers integers that a double has: so msgspec's bytes are the standard's.
_encode = msgspec.json.Encoder(order="sorted").encode
