"""List the records of a registry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.errors import UsageError
from kstore.schema import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.digest import Digest
    from kstore.registry import Registry


class Row(msgspec.Struct, frozen=True):
    """What a list says of one record; `title` is None where it has none."""

    digest: Digest
    kind: str
    name: str
    title: str | None


def list_records(registry: Registry, kind: str | None = None) -> Iterator[Row]:
    """Go through the records in the order of their digests, each read checked.

    Args:
        registry: Whose records.
        kind: Of which kind; None is all.

    Raises:
        UsageError: There is no such kind.
        DamageError: A record is not what its name says.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    return _rows(registry, kind)


def _rows(registry: Registry, kind: str | None) -> Iterator[Row]:
    for digest in registry.digests():
        record = registry.get(digest)
        if kind is None or record.kind == kind:
            yield Row(digest, record.kind, record.name, record.title or None)
