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
    from collections.abc import Collection, Mapping, Sequence

    from kstore.registry.registry import Registry
    from kstore.schema import Record

_PREFIX = re.compile(r"(sha256:)?([0-9a-f]{4,63})")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_NAMES = re.compile(rb'"name":"([a-z0-9._-]*)"').findall
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
    return lookup_all(registry, [ref])[0]


def lookup_all(registry: Registry, refs: Sequence[str]) -> list[Digest]:
    """Find the one record that each REF names; see `lookup`. However many names there are, metadata are read once.

    Raises:
        NotFoundError: No record is called that.
        KstoreError: More than one is; the message lists them.
    """
    whole = {ref: digest for ref in refs if (digest := _whole(ref)) is not None}
    by_name = named(registry, {ref for ref in refs if ref not in whole and _NAME.fullmatch(ref)})
    return [_present(registry, whole[ref]) if ref in whole else _found(registry, ref, by_name) for ref in refs]


def _whole(ref: str) -> Digest | None:
    try:
        return Digest.parse(ref)
    except ValueError:
        return None


def _present(registry: Registry, digest: Digest) -> Digest:
    if digest not in registry:
        raise NotFoundError(f"{digest} is not in this registry")
    return digest


def _found(registry: Registry, ref: str, by_name: Mapping[str, list[Digest]]) -> Digest:
    found = set(by_name.get(ref, ()))
    prefix = _PREFIX.fullmatch(ref)
    if prefix is not None:
        found.update(registry.digests(prefix[2]))
    if not found:
        raise NotFoundError(
            f"no record here is called {ref!r}: expected a digest, at least 4 digits of its start, or a record's "
            "metadata.name; `kstore list` shows what there is"
        )
    if len(found) > 1:
        raise KstoreError(_ambiguous(registry, ref, sorted(found)))
    return found.pop()


def record_of(registry: Registry, ref: str) -> Record:
    """Read the one record that a REF names; see `lookup`.

    Raises:
        NotFoundError: No record is called that.
        DamageError: What is stored there is something else.
        KstoreError: More than one is called that; the message lists them.
    """
    return records_of(registry, [ref])[0]


def records_of(registry: Registry, refs: Sequence[str]) -> list[Record]:
    """Read the one record that each REF names; see `lookup_all`.

    Raises:
        NotFoundError: No record is called that.
        DamageError: What is stored there is something else.
        KstoreError: More than one is called that; the message lists them.
    """
    others = [ref for ref in refs if _whole(ref) is None]
    found = dict(zip(others, lookup_all(registry, others), strict=True))
    return [registry.get(found.get(ref) or Digest.parse(ref)) for ref in refs]


def named(registry: Registry, names: Collection[str]) -> dict[str, list[Digest]]:
    """Give the digests of all records whose `metadata.name` is one of these, by name and in order."""
    found: dict[str, list[Digest]] = {}
    if not names:
        return found
    decode = msgspec.json.Decoder(_Named).decode
    # A name has no character that JSON would escape, so most files need not be decoded.
    sought = {name.encode() for name in names}
    for digest in registry.digests():
        data = registry.metadata(digest)
        if data is not None and not sought.isdisjoint(_NAMES(data)):
            with contextlib.suppress(msgspec.DecodeError):
                name = decode(data).name
                if name in names:
                    found.setdefault(name, []).append(digest)
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
