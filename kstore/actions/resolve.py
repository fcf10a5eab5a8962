"""Resolve a record: it, and what it refers to, each under its role."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.refer import Unresolved
from kstore.registry.lookup import lookup
from kstore.schema import Record, role_of

if TYPE_CHECKING:
    from kstore.registry import Registry


_ORDER = ("protocol", "environment", "model", "configuration", "stack", "workload", "implementation", "operation")
"""In which order references are followed: a workload before an implementation, since a run's operation is that of its
workload."""


class Resolved(msgspec.Struct, frozen=True):
    """A record and what it refers to.

    Attributes:
        records: By role, the record itself first: `run`, `protocol`, `environment`, and so on.
        unresolved: References to what the registry does not have.
    """

    records: dict[str, Record]
    unresolved: tuple[Unresolved, ...]


def resolve(registry: Registry, ref: str) -> Resolved:
    """Find a record and follow its references, and those of what they lead to.

    Args:
        registry: Where to look.
        ref: A digest, a unique start of one, or a name; see `lookup`.

    Raises:
        NotFoundError: No record is called that.
        DamageError: A record on the way is not what its name says.
    """
    record = registry.get(lookup(registry, ref))
    records = {role_of(record.kind): record}
    unresolved: dict[tuple[str, str], Unresolved] = {}
    waiting = [record]
    while waiting:
        current = waiting.pop(0)
        for reference in sorted(current.references(), key=lambda reference: _ORDER.index(reference.role)):
            if reference.digest not in registry:
                missing = Unresolved(current.digest, reference.field, reference.digest)
                unresolved[missing.field, missing.digest] = missing
            elif reference.role not in records:
                records[reference.role] = registry.get(reference.digest)
                waiting.append(records[reference.role])
    return Resolved(records, tuple(unresolved.values()))
