"""Tell the life of one record: when it was added, by whom, how its metadata changed, and what was said of it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from kstore.digest import Digest
from kstore.git.files import UnreadableError
from kstore.layout import attestation_folder, path_of, signed_place_of
from kstore.registry.errors import NotFoundError
from kstore.registry.lookup import lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kstore.attest.judge import Judged
    from kstore.attest.statement import Predicate
    from kstore.git.difference import Difference
    from kstore.git.history import Commit, History
    from kstore.registry import Registry

What: TypeAlias = Literal[
    "added",
    "changed",
    "removed",
    "metadata-added",
    "metadata-changed",
    "metadata-removed",
    "statement-added",
    "statement-changed",
    "statement-removed",
]

_File: TypeAlias = "tuple[int, bytes] | None"


class Field(msgspec.Struct, frozen=True):
    """A field of metadata that differs: its name, `labels.platform` or `authors.0.name`, and its values in JSON.

    A value is None where the field is not there.
    """

    field: str
    before: str | None
    after: str | None


class Said(msgspec.Struct, frozen=True):
    """What somebody said of the record.

    Attributes:
        digest: The name of the statement's file.
        kind: `endorsement`, `replication`, `retraction` or `supersession`; None where it is none that can be read.
        by: The names of its signers, as far as they count; none where no policy is pinned here.
        keys: The ids of the keys that have signed it, and whose signers count by the registry's own policies.
        counts: Whether it counts: a policy is pinned here, and there is a signer who counts.
        why: What is wrong with it.
        predicate: What it says.
    """

    digest: Digest
    kind: str | None
    by: tuple[str, ...]
    keys: tuple[str, ...]
    counts: bool
    why: tuple[str, ...]
    predicate: Predicate | None


class Event(msgspec.Struct, frozen=True):
    """Something that happened to the record.

    Attributes:
        commit: The commit that did it.
        author: Who made it, `Name <address>`.
        date: When, by the author's clock, in ISO 8601.
        subject: The first line of its message.
        event: What happened.
        changes: The fields of the metadata that changed; of a record that is added, all that it came with.
        statement: The signed statement that was added, or that is gone, where the event is about one.
    """

    commit: str
    author: str
    date: str
    subject: str
    event: What
    changes: tuple[Field, ...]
    statement: Said | UnsetType = UNSET


class Life(msgspec.Struct, frozen=True):
    """A record's digest, and what happened to it, the oldest first."""

    digest: Digest
    events: tuple[Event, ...]


class _State(NamedTuple):
    """What a commit has of the record: mode and id of its object, its metadata, and the folder of its statements."""

    object: _File
    metadata: _File
    statements: _File


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
    fanout = registry.settings.fanout
    folder = attestation_folder(digest, fanout)
    paths = [path_of("objects", digest, fanout), path_of("metadata", digest, fanout), folder]
    said: Mapping[str, Said] | None = None
    states: dict[bytes, _State] = {}
    events: list[Event] = []
    for oid, parents in history.commits()[0].items():
        commit = history.commit(oid)
        states[oid] = state = _State(*(_file(history, commit, path) for path in paths))
        befores = [states[parent] for parent in parents if parent in states]
        if len(befores) == len(parents):
            events.extend(_events(history, commit, state, befores))
            if any(state.statements != before.statements for before in befores or [_NOTHING]):
                said = _said_now(registry, digest) if said is None else said
                events.extend(_statement_events(history, commit, folder, fanout, said))
    if not events:
        raise NotFoundError(f"{digest} is not in this registry's history")
    return Life(digest, tuple(events))


_NOTHING = _State(None, None, None)


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


def _statement_events(
    history: History, commit: Commit, folder: str, fanout: int, said: Mapping[str, Said]
) -> Iterator[Event]:
    """Say which statements a commit added, changed or dropped itself."""

    def enters(path: str) -> bool:
        return f"{folder}/".startswith(f"{path}/")

    parents = [history.commit(parent) for parent in commit.parents]
    for difference in history.differences(commit, parents, enters, lambda *_: None):
        place = signed_place_of(difference.path, fanout)
        if (
            place is None
            or place.digest is None
            or place.right != difference.path
            or difference.now in difference.before
        ):
            continue
        what: What = "statement-removed"
        if difference.now is not None:
            what = "statement-changed" if any(difference.before) else "statement-added"
        statement = said.get(difference.path) if what == "statement-added" else None
        statement = statement or _said_then(history, place.digest, difference)
        yield Event(commit.id, commit.author, commit.date, commit.subject, what, (), statement)


def _said_now(registry: Registry, digest: Digest) -> dict[str, Said]:
    """Give what is said of a record now, by the paths of the statements."""
    from kstore.attest.statements import judged_statements

    judgement = judged_statements(registry, [digest])
    return {each.path: _said(each, pinned=judgement.trust.pinned) for each in judgement.judged}


def _said(judged: Judged, *, pinned: bool) -> Said:
    statement = judged.statement
    return Said(
        judged.digest,
        None if statement is None else statement.kind,
        judged.signers if pinned else (),
        judged.keys,
        judged.counts and pinned,
        tuple(trouble.message for trouble in judged.problems),
        None if statement is None else statement.predicate,
    )


def _said_then(history: History, digest: Digest, difference: Difference) -> Said:
    """Give what a statement says that is not in the registry any more; its signatures are not looked at."""
    from kstore.attest.envelope import Envelope, EnvelopeError
    from kstore.attest.statement import StatementError, read_statement

    entry = difference.now or next(before for before in difference.before if before is not None)
    statement = None
    with contextlib.suppress(UnreadableError, EnvelopeError, StatementError):
        statement = read_statement(Envelope.from_bytes(history.blob(entry.oid)).payload)
    return Said(
        digest,
        None if statement is None else statement.kind,
        (),
        (),
        False,
        ("it is not in the registry any more",),
        None if statement is None else statement.predicate,
    )


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
