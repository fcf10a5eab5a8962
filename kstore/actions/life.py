"""Tell the life of one record: when it was added, by whom, and how its metadata changed."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from kstore.digest import Digest
from kstore.git.files import UnreadableError
from kstore.layout import path_of
from kstore.registry.errors import NotFoundError
from kstore.registry.lookup import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kstore.git.history import Commit, History
    from kstore.registry import Registry

What: TypeAlias = Literal["added", "changed", "removed", "metadata-added", "metadata-changed", "metadata-removed"]

_File: TypeAlias = "tuple[int, bytes] | None"


class Field(msgspec.Struct, frozen=True):
    """A field of metadata that differs: its name, `labels.platform` or `authors.0.name`, and its values in JSON.

    A value is None where the field is not there.
    """

    field: str
    before: str | None
    after: str | None


class Event(msgspec.Struct, frozen=True):
    """Something that happened to the record.

    Attributes:
        commit: The commit that did it.
        author: Who made it, `Name <address>`.
        date: When, by the author's clock, in ISO 8601.
        subject: The first line of its message.
        event: What happened.
        changes: The fields of the metadata that changed; of a record that is added, all that it came with.
    """

    commit: str
    author: str
    date: str
    subject: str
    event: What
    changes: tuple[Field, ...]


class Life(msgspec.Struct, frozen=True):
    """A record's digest, and what happened to it, the oldest first."""

    digest: Digest
    events: tuple[Event, ...]


class _State(NamedTuple):
    """What a commit has of the record: mode and id of its object and of its metadata."""

    object: _File
    metadata: _File


def life(registry: Registry, ref: str) -> Life:
    """Follow a record through what HEAD reaches.

    Args:
        registry: Whose history.
        ref: A record of the registry (see `lookup`), or the whole digest of one that it does not have any more.

    Raises:
        NotFoundError: No record is or was called that.
        KstoreError: More than one is.
    """
    try:
        digest = Digest.parse(ref)
    except ValueError:
        digest = lookup(registry, ref)
    history = registry.history()
    paths = [path_of(part, digest, registry.settings.fanout) for part in ("objects", "metadata")]
    states: dict[bytes, _State] = {}
    events: list[Event] = []
    for oid, parents in history.commits()[0].items():
        commit = history.commit(oid)
        states[oid] = state = _State(*(_file(history, commit, path) for path in paths))
        befores = [states[parent] for parent in parents if parent in states]
        if len(befores) == len(parents):
            events.extend(_events(history, commit, state, befores))
    if not events:
        raise NotFoundError(f"{digest} is not in this registry's history")
    return Life(digest, tuple(events))


def _file(history: History, commit: Commit, path: str) -> _File:
    with contextlib.suppress(UnreadableError):
        return history.find(commit, path)
    return None


def _events(history: History, commit: Commit, now: _State, befores: Sequence[_State]) -> Iterator[Event]:
    """Say what a commit did itself: what it has from one of its parents, it did not do, but it may drop it."""

    def event(what: What, changes: tuple[Field, ...] = ()) -> Event:
        return Event(commit.id, commit.author, commit.date, commit.subject, what, changes)

    before = [state.object for state in befores if state.object is not None]
    metadata = [state.metadata for state in befores if state.metadata is not None]
    added = now.object is not None and not before
    if now.object is None and before:
        yield event("removed")
    elif added:
        yield event("added", _differing(history, None, now.metadata))
    elif before and now.object not in before:
        yield event("changed")
    if now.metadata is None and metadata:
        yield event("metadata-removed")
    elif now.metadata is not None and now.metadata not in metadata:
        if metadata:
            yield event("metadata-changed", _differing(history, metadata[0], now.metadata))
        elif not added:
            yield event("metadata-added", _differing(history, None, now.metadata))


def _differing(history: History, before: _File, after: _File) -> tuple[Field, ...]:
    old, new = (dict(_fields(history, file)) for file in (before, after))
    return tuple(
        Field(name, old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if old.get(name) != new.get(name)
    )


def _fields(history: History, file: _File) -> Iterator[tuple[str, str]]:
    """Give the fields of metadata and their values; of what is no metadata, nothing."""
    if file is None:
        return
    try:
        value: Any = msgspec.json.decode(history.blob(file[1]))
    except (UnreadableError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict | list) and value:
            inner = value.items() if isinstance(value, dict) else enumerate(value)
            waiting.extend((f"{name}.{key}" if name else str(key), each) for key, each in inner)
        else:
            yield name, msgspec.json.encode(value).decode()
