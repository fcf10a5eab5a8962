"""From what a person types to a digest: a whole digest, the start of one, or a record's name. Nothing is guessed."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

import msgspec

from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.registry.errors import NotFoundError

if TYPE_CHECKING:
    from kstore.registry.registry import Registry

_PREFIX = re.compile(r"(sha256:)?([0-9a-f]{4,63})")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_LISTED = 10


class _Named(msgspec.Struct):
    name: str


def lookup(registry: Registry, ref: str) -> Digest:
    """Find the one record that a REF names.

    Args:
        registry: Where to look.
        ref: `sha256:` and 64 hexadecimal digits, with or without the `sha256:`; or at least the first 4 of them,
            where only one record begins so; or a `metadata.name`, where only one record has it.

    Raises:
        NotFoundError: No record is called that.
        KstoreError: More than one is; the message lists them.
    """
    with contextlib.suppress(ValueError):
        digest = Digest.parse(ref)
        if digest in registry:
            return digest
        raise NotFoundError(f"{digest} is not in this registry")
    found: set[Digest] = set()
    prefix = _PREFIX.fullmatch(ref)
    if prefix is not None:
        found.update(registry.digests(prefix[2]))
    if _NAME.fullmatch(ref):
        found.update(named(registry, ref))
    if not found:
        raise NotFoundError(
            f"no record here is called {ref!r}: expected a digest, at least 4 digits of its start, or a record's "
            "metadata.name; `kstore list` shows what there is"
        )
    if len(found) > 1:
        raise KstoreError(_ambiguous(registry, ref, sorted(found)))
    return found.pop()


def named(registry: Registry, name: str) -> list[Digest]:
    """Give the digests of all records whose `metadata.name` is this name, in order."""
    decode = msgspec.json.Decoder(_Named).decode
    # A name has no character that JSON would escape, so most files need not be decoded.
    sought = f'"name":"{name}"'.encode()
    found = []
    for digest in registry.digests():
        data = registry.metadata(digest)
        if data is not None and sought in data:
            with contextlib.suppress(msgspec.DecodeError):
                if decode(data).name == name:
                    found.append(digest)
    return found


def _ambiguous(registry: Registry, ref: str, found: list[Digest]) -> str:
    lines = [f"{ref!r} names {len(found)} records; say which one by more of its digest:"]
    for digest in found[:_LISTED]:
        try:
            record = registry.get(digest)
        except KstoreError:
            lines.append(f"  {digest} (damaged)")
        else:
            lines.append(f"  {digest} {record.kind} {record.name}")
    if len(found) > _LISTED:
        lines.append(f"  and {len(found) - _LISTED} more")
    return "\n".join(lines)
