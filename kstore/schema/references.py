"""Which fields refer to which kinds of records: the one table of them."""

from __future__ import annotations

import re
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from kstore.digest import Digest
from kstore.schema.kinds import role_of

if TYPE_CHECKING:
    from collections.abc import Callable


class ReferenceField(msgspec.Struct, frozen=True):
    """A field of a spec that holds the digest of another record.

    Attributes:
        field: The path below `spec`, in the document's spelling, such as `operation.specDigest`.
        kinds: The kinds that the other record may have.
    """

    field: str
    kinds: tuple[str, ...]

    @property
    def role(self) -> str:
        """The other record's role, such as `operation`; all allowed kinds have the same."""
        return role_of(self.kinds[0])


class Reference(msgspec.Struct, frozen=True):
    """What one record says about another one.

    Attributes:
        field: The path below `spec`, in the document's spelling, such as `operation.specDigest`.
        digest: The other record.
        kinds: The kinds that it may have.
        role: Its role, such as `operation`.
    """

    field: str
    digest: Digest
    kinds: tuple[str, ...]
    role: str


REFERENCES: dict[str, tuple[ReferenceField, ...]] = {
    "WorkloadCase": (ReferenceField("operationSpecDigest", ("OperationSpec",)),),
    "WorkloadSuite": (ReferenceField("operationSpecDigest", ("OperationSpec",)),),
    "ImplementationRevision": (ReferenceField("operation.specDigest", ("OperationSpec",)),),
    "BenchmarkRun": (
        ReferenceField("implementationDigest", ("ImplementationRevision",)),
        ReferenceField("workloadDigest", ("WorkloadCase", "WorkloadSuite")),
        ReferenceField("protocolDigest", ("BenchmarkProtocol",)),
        ReferenceField("environmentDigest", ("ExecutionEnvironment",)),
    ),
    "ServingConfiguration": (ReferenceField("stackDigest", ("ServingStackRevision",)),),
    "ServingRun": (
        ReferenceField("modelDigest", ("ModelRevision",)),
        ReferenceField("configurationDigest", ("ServingConfiguration",)),
        ReferenceField("workloadDigest", ("ServingWorkload",)),
    ),
}
"""For each kind that refers to others, its fields that do; every one of them is required."""

REFERENCE_FIELDS = frozenset(field.field for fields in REFERENCES.values() for field in fields)
"""The names of all fields that refer to records, as a registry's `requires` lists some."""


def references(kind: str, spec: object) -> tuple[Reference, ...]:
    """Give what a validated spec of a kind refers to, in the order of the table."""
    return tuple(
        Reference(field.field, Digest(read(spec)), field.kinds, field.role) for field, read in _READERS.get(kind, ())
    )


def targets(kind: str, spec: object) -> tuple[str, ...]:
    """Give only the digests of `references`, for those who ask about many records."""
    return _TARGETS[kind](spec) if kind in _TARGETS else ()


def _python_name(field: ReferenceField) -> str:
    """Give a field's path in Python, `operation.spec_digest`."""
    return re.sub("([A-Z])", r"_\1", field.field).lower()


_READERS = {
    kind: tuple((field, attrgetter(_python_name(field))) for field in fields) for kind, fields in REFERENCES.items()
}


def _all_of(names: list[str]) -> Callable[[object], tuple[str, ...]]:
    read: attrgetter[Any] = attrgetter(*names)
    # One that reads a single field gives its value and no tuple.
    return read if len(names) > 1 else lambda spec: (read(spec),)


_TARGETS = {kind: _all_of([_python_name(field) for field in fields]) for kind, fields in REFERENCES.items()}
