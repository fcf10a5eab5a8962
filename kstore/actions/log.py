"""Tell history: what each commit did to the registry."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from kstore.git.files import UnreadableError
from kstore.layout import is_folder, path_of, place_of
from kstore.schema import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.digest import Digest
    from kstore.git.difference import Difference
    from kstore.git.history import Commit, History
    from kstore.registry import Registry

FEW = 10
"""Up to so many new records of a commit are named one by one."""

UNKNOWN = "unreadable"
"""Stands for the kind of a record that cannot be read."""


class Named(msgspec.Struct, frozen=True):
    """A record by its digest, kind and name; the name is None where the metadata have none that can be read."""

    digest: Digest
    kind: str
    name: str | None


class Logged(msgspec.Struct, frozen=True):
    """What one commit did.

    Attributes:
        commit: Its id.
        author: Who made it, `Name <address>`.
        date: When, by the author's clock, in ISO 8601.
        subject: The first line of its message.
        added: How many records of each kind are new.
        records: The new records, where they are few.
        updated: Of how many records the metadata changed.
        changed: How many objects are other than before, which no commit may do.
        removed: How many objects are gone, which no commit may do.
    """

    commit: str
    author: str
    date: str
    subject: str
    added: dict[str, int]
    records: tuple[Named, ...]
    updated: int
    changed: int
    removed: int


class _Kind(msgspec.Struct):
    kind: str


class _Name(msgspec.Struct):
    name: str


_kind = msgspec.json.Decoder(_Kind).decode
_name = msgspec.json.Decoder(_Name).decode


def log(registry: Registry, limit: int | None = None) -> Iterator[Logged]:
    """Go through the commits that changed records, the newest first.

    Args:
        registry: Whose history.
        limit: At most so many of them; None is all.
    """
    history = registry.history()
    parents, _ = history.commits()
    told = 0
    for oid in reversed(parents):
        if limit is not None and told >= limit:
            return
        commit = history.commit(oid)
        if any(parent not in parents for parent in commit.parents):
            # What it added cannot be told from what was there before it.
            continue
        logged = _logged(history, commit, [history.commit(parent) for parent in commit.parents], registry)
        if logged is not None:
            told += 1
            yield logged


def _logged(history: History, commit: Commit, parents: list[Commit], registry: Registry) -> Logged | None:
    fanout = registry.settings.fanout
    added: Counter[str] = Counter()
    counts = Counter(updated=0, changed=0, removed=0)
    new: list[tuple[Digest, str]] = []

    def enters(path: str) -> bool:
        return is_folder(path, fanout)

    for difference in history.differences(commit, parents, enters, lambda *_: None):
        place = place_of(difference.path, fanout)
        if place is None or place.right != difference.path:
            continue
        happened = _happened(difference)
        if place.part == "metadata":
            counts["updated"] += happened == "changed"
        elif happened == "added":
            assert difference.now is not None, "what was added is there"
            kind = _kind_of(history, difference.now.oid)
            added[kind] += 1
            if len(new) <= FEW:
                new.append((place.digest, kind))
        elif happened:
            counts[happened] += 1
    if not added and not counts.total():
        return None
    records = [Named(digest, kind, name_of(history, commit, digest, fanout)) for digest, kind in new]
    return Logged(
        commit.id,
        commit.author,
        commit.date,
        commit.subject,
        dict(sorted(added.items())),
        tuple(records if len(records) <= FEW else ()),
        **counts,
    )


def _happened(difference: Difference) -> str:
    """Say what happened to a file; nothing where the commit only has it from one of its parents."""
    if difference.now is None:
        return "removed"
    if difference.now in difference.before:
        return ""
    return "changed" if any(difference.before) else "added"


def _kind_of(history: History, oid: bytes) -> str:
    try:
        kind = _kind(history.blob(oid)).kind
    except (UnreadableError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return UNKNOWN
    return kind if kind in KINDS else UNKNOWN


def name_of(history: History, commit: Commit, digest: Digest, fanout: int) -> str | None:
    """Give the name that a record has in a commit, where its metadata can be read."""
    try:
        found = history.find(commit, path_of("metadata", digest, fanout))
        return None if found is None else _name(history.blob(found[1])).name
    except (UnreadableError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
