"""Statements about records: in-toto Statements v1, each with one of kstore's predicates.

in-toto: github.com/in-toto/attestation, `spec/v1/statement.md`. A statement's bytes are canonical (RFC 8785), its one
subject is the record, by its name when it was signed and by its digest.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.schema.primitives import Name, Strict

PAYLOAD_TYPE = "application/vnd.in-toto+json"
TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATES = "https://kernelindex.dev/attestation"
"""How the type of every predicate begins; the predicate's name and its version follow."""

MAX_WORDS = 2000
"""How many characters a reason, a note, or a description may have."""

Words = Annotated[str, Meta(min_length=1, max_length=MAX_WORDS)]


class StatementError(KstoreError):
    """A payload is no statement of the form that kstore knows."""


class Sha256(Strict, frozen=True):
    """An in-toto DigestSet with a SHA-256, 64 lower-case hexadecimal digits."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?!\n)$")]

    @classmethod
    def of(cls, digest: Digest) -> Sha256:
        """Take a digest."""
        return cls(digest.hex)

    @property
    def digest(self) -> Digest:
        """The digest that this is."""
        return Digest("sha256:" + self.sha256)


class Subject(Strict, frozen=True):
    """What a statement is about: a record's name, as it was when it was signed, and its digest."""

    name: Name
    digest: Sha256


class Endorsement(Strict, frozen=True):
    """The signer vouches for the record, and has seen these metadata with it.

    Attributes:
        metadata: The SHA-256 of the record's metadata as they were signed, so that a later change of them shows.
    """

    metadata: Sha256


class Replication(Strict, frozen=True):
    """The signer has repeated the measurement.

    Attributes:
        result: Whether it came out as the record says.
        run: The record of the run that repeated it, where there is one.
        value: Otherwise what came out, in words, and
        environment: where.
        note: What else there is to say.
    """

    result: Literal["reproduced", "not-reproduced"]
    run: Sha256 | UnsetType = UNSET
    value: Words | UnsetType = UNSET
    environment: Words | UnsetType = UNSET
    note: Words | UnsetType = UNSET


class Retraction(Strict, frozen=True):
    """The record is withdrawn: nobody should use it any more."""

    reason: Words


class Supersession(Strict, frozen=True):
    """Another record takes the place of this one."""

    by: Sha256
    reason: Words


class _Statement(Strict, frozen=True, tag_field="predicateType"):
    """What all statements have."""

    type: Literal["https://in-toto.io/Statement/v1"] = msgspec.field(name="_type")
    subject: Annotated[tuple[Subject, ...], Meta(min_length=1, max_length=1)]


class EndorsementStatement(_Statement, frozen=True, tag=f"{PREDICATES}/endorsement/v1"):
    """An endorsement of its subject."""

    kind: ClassVar[Kind] = "endorsement"
    predicate: Endorsement


class ReplicationStatement(_Statement, frozen=True, tag=f"{PREDICATES}/replication/v1"):
    """A replication of its subject."""

    kind: ClassVar[Kind] = "replication"
    predicate: Replication


class RetractionStatement(_Statement, frozen=True, tag=f"{PREDICATES}/retraction/v1"):
    """A retraction of its subject."""

    kind: ClassVar[Kind] = "retraction"
    predicate: Retraction


class SupersessionStatement(_Statement, frozen=True, tag=f"{PREDICATES}/supersession/v1"):
    """A supersession of its subject."""

    kind: ClassVar[Kind] = "supersession"
    predicate: Supersession


Kind: TypeAlias = Literal["endorsement", "replication", "retraction", "supersession"]
Predicate: TypeAlias = Endorsement | Replication | Retraction | Supersession
Statement: TypeAlias = EndorsementStatement | ReplicationStatement | RetractionStatement | SupersessionStatement

_STATEMENTS: dict[type[Predicate], type[Statement]] = {
    Endorsement: EndorsementStatement,
    Replication: ReplicationStatement,
    Retraction: RetractionStatement,
    Supersession: SupersessionStatement,
}


def kind_of(predicate: Predicate) -> Kind:
    """Say what kind of statement a predicate makes."""
    return _STATEMENTS[type(predicate)].kind


def statement_bytes(name: str, digest: Digest, predicate: Predicate) -> bytes:
    """Write the statement that a predicate holds of a record.

    Args:
        name: The record's name.
        digest: The record.
        predicate: What is said of it.

    Raises:
        StatementError: A text of the predicate is empty, too long, or no Unicode.
    """
    made = _STATEMENTS[type(predicate)](TYPE, (Subject(name, Sha256.of(digest)),), predicate)  # type: ignore[arg-type] # the table pairs them
    try:
        data = _encode(made)
    except UnicodeEncodeError:
        raise StatementError("expected Unicode text, found a lone surrogate") from None
    read_statement(data)
    return data


def read_statement(data: bytes) -> Statement:
    """Read the payload of an envelope of type `PAYLOAD_TYPE`.

    Raises:
        StatementError: It is no such statement, or another spelling of one.
    """
    try:
        statement = _decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise StatementError(
            f"expected an in-toto Statement v1 with a predicate that this kstore knows: {error}"
        ) from None
    if _encode(statement) != data:
        raise StatementError("expected the canonical form (RFC 8785) of a statement, found another spelling of it")
    return statement


_decode = msgspec.json.Decoder(Statement).decode

# A statement has no numbers, and its keys are ASCII: so msgspec's bytes are the standard's.
_encode = msgspec.json.Encoder(order="sorted").encode
