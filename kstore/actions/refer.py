"""The rules of references between records: targets are there, are of the right kind, and agree with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from kstore.digest import Digest
from kstore.schema import KINDS, REFERENCES
from kstore.schema.references import targets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from kstore.schema import Body

Code: TypeAlias = Literal["missing-reference", "unresolved-reference", "wrong-kind", "operation-mismatch"]


Said: TypeAlias = bytes
"""What a record says of others, short enough to keep a million of them: the number of its kind, one byte, and the 32
bytes of the digest of each record that it refers to, in the order of its kind's reference fields."""

Known: TypeAlias = "Callable[[bytes], Said | None]"
"""Gives what a record says, by the 32 bytes of its digest, or None where it is not known."""

DAMAGED: Said = b"\0"
"""What is known of a record that is there and too damaged to say anything."""

NOTHING: Said = b""
"""What metadata say of other records."""

_KINDS = ("", *KINDS)
_NUMBERS = {kind: bytes((number,)) for number, kind in enumerate(_KINDS)}
_FIELDS = tuple(tuple(REFERENCES.get(kind, ())) for kind in _KINDS)
_DIGEST_BYTES = 32
_OF_AN_OPERATION = ("workload", "implementation")
"""The roles of records that refer to an operation, as the first and only thing that they refer to."""

_FIRST = slice(1, 1 + _DIGEST_BYTES)
_CHECKS = tuple(
    tuple(
        (
            slice(1 + _DIGEST_BYTES * at, 1 + _DIGEST_BYTES * (at + 1)),
            b"".join(_NUMBERS[kind] for kind in field.kinds),
            field.role in _OF_AN_OPERATION,
        )
        for at, field in enumerate(fields)
    )
    for fields in _FIELDS
)
"""For each reference field of each kind: where its digest stands in what a record says, the numbers of the kinds that
it may name, and whether these refer to an operation."""


def said_by(body: Body) -> Said:
    """Sum up what a record refers to."""
    return _NUMBERS[body.kind] + bytes.fromhex("".join([target[7:] for target in targets(body.kind, body.spec)]))


def said_unchecked(data: bytes) -> Said:
    """Sum up what the bytes of a stored object refer to, without checking anything else of them.

    Checking an object takes its kind's decoder, and making that takes milliseconds, which a hook would spend on each
    that a new record refers to.
    """
    try:
        body = msgspec.json.decode(data)
        digests = [b""]
        for field in REFERENCES.get(body["kind"], ()):
            value = body["spec"]
            for step in field.field.split("."):
                value = value[step]
            digests.append(Digest.parse(value).raw)
        return _NUMBERS[body["kind"]] + b"".join(digests)
    except (msgspec.DecodeError, LookupError, TypeError, ValueError):
        return DAMAGED


def is_sound(said: Said, known: Mapping[bytes, Said]) -> bool:
    """Tell at once that a record's references are all known and right, as they mostly are.

    False says nothing: `reference_problems` tells what is wrong, if anything is.
    """
    number = said[0]
    operations = set()
    for at, allowed, of_an_operation in _CHECKS[number]:
        target = known.get(said[at])
        if not target or target[0] not in allowed:
            return False
        if of_an_operation:
            operations.add(target[_FIRST])
    return len(operations) <= 1


def kind_of(said: Said) -> str:
    """Give the kind of a record; empty where it is too damaged to say."""
    return _KINDS[said[0]]


class ReferenceProblem(NamedTuple):
    """One thing that is wrong with a record's references, or left open by them.

    Attributes:
        code: What it is, as `verify` calls it.
        field: The field, `workloadDigest` or `operation.specDigest`.
        target: The digest that the field states.
        message: What was expected and found.
    """

    code: Code
    field: str
    target: Digest
    message: str

    @property
    def refused(self) -> bool:
        """Whether a record with it is not taken; the rest is said and let through.

        The published catalogue has runs whose implementation is stated for another operation than their workload: the
        format allows it, so it cannot be refused, and a reader should know.
        """
        return self.code in ("missing-reference", "wrong-kind")


class Unresolved(msgspec.Struct, frozen=True):
    """A reference to a record that the registry does not have and need not have.

    Attributes:
        by: The record that refers.
        field: Its field, `workloadDigest` or `operation.specDigest`.
        digest: The record that is not there.
    """

    by: Digest
    field: str
    digest: Digest


def reference_problems(said: Said, known: Known, requires: Collection[str]) -> Iterator[ReferenceProblem]:
    """Check one record's references.

    Args:
        said: What the record refers to.
        known: Looks other records up.
        requires: The fields whose targets must be known.
    """
    operations: dict[str, bytes] = {}
    start = 1
    for field in _FIELDS[said[0]]:
        target = said[start : start + _DIGEST_BYTES]
        start += _DIGEST_BYTES
        found = known(target)
        if found is None:
            digest = Digest.from_raw(target)
            required = field.field in requires
            code: Code = "missing-reference" if required else "unresolved-reference"
            remedy = f"; this registry requires it: add the {' or '.join(field.kinds)} too" if required else ""
            yield ReferenceProblem(code, field.field, digest, f"{digest} is not in the registry{remedy}")
        elif found[0] and _KINDS[found[0]] not in field.kinds:
            digest = Digest.from_raw(target)
            message = f"expected the digest of a {' or '.join(field.kinds)}, but {digest} is a {kind_of(found)}"
            yield ReferenceProblem("wrong-kind", field.field, digest, message)
        elif field.role in _OF_AN_OPERATION:
            operations[field.role] = found[1 : 1 + _DIGEST_BYTES]
    workload, implementation = (operations.get(role) for role in _OF_AN_OPERATION)
    if workload and implementation and workload != implementation:
        expected, digest = Digest.from_raw(workload), Digest.from_raw(implementation)
        message = f"expected an implementation of the workload's operation, {expected}, found one of {digest}"
        yield ReferenceProblem("operation-mismatch", "implementationDigest", digest, message)
