"""Tell history: what each commit did to the registry."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.parallel import in_order, usable_processors
from kstore.digest import Digest
from kstore.git.files import UnreadableError
from kstore.layout import is_known_folder, path_of, place_of, signed_place_of
from kstore.schema import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.git.difference import Difference
    from kstore.git.history import Commit, History
    from kstore.layout import Place
    from kstore.registry import Registry

_COMMITS_A_BATCH = 500
"""How many commits a worker process is given at once; for so few another process would be of no help."""

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
        changed: How many objects and statements are other than before, which no commit may do.
        removed: How many objects and statements are gone, which no commit may do.
        statements: How many statements of each kind are new, whoever signed them.
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
    statements: dict[str, int]


class _Kind(msgspec.Struct):
    kind: str


class _Name(msgspec.Struct):
    name: str


_kind = msgspec.json.Decoder(_Kind).decode
_name = msgspec.json.Decoder(_Name).decode


def log(registry: Registry, limit: int | None = None, jobs: int | None = None) -> Iterator[Logged]:
    """Go through the commits that changed records, the newest first.

    Args:
        registry: Whose history.
        limit: At most so many of them; None is all.
        jobs: How many processes do the work; None is one for each processor where that pays.

    Raises:
        KstoreError: A worker process was killed.
    """
    history = registry.history()
    parents, _ = history.commits()
    # What a commit added cannot be told from what was there before it, unless all its parents are here.
    told = [(oid, parents[oid]) for oid in reversed(parents) if all(parent in parents for parent in parents[oid])]
    if jobs is None:
        jobs = usable_processors() if limit is None and len(told) > _COMMITS_A_BATCH else 1
    size = _COMMITS_A_BATCH if limit is None else max(1, min(limit, _COMMITS_A_BATCH))
    batches = (_encode(told[at : at + size]) for at in range(0, len(told), size))
    tools = (history, registry.settings.fanout)
    each = (logged for data in in_order(_log_commits, tools, batches, jobs) for logged in _decode_logged(data))
    yield from islice(each, limit)


# A digest is a `str`, but msgspec encodes no subclasses of it by itself.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode_commits = msgspec.msgpack.Decoder(list[tuple[bytes, list[bytes]]]).decode
_decode_logged = msgspec.msgpack.Decoder(list[Logged], dec_hook=lambda _, value: Digest(value)).decode


def _log_commits(tools: tuple[History, int], batch: bytes) -> bytes:
    """Tell what some commits did; a worker process runs this."""
    history, fanout = tools
    commits = [(history.commit(oid), parents) for oid, parents in _decode_commits(batch)]
    found = [
        _logged(history, commit, [history.commit(parent) for parent in parents], fanout) for commit, parents in commits
    ]
    return _encode([logged for logged in found if logged is not None])


def _logged(history: History, commit: Commit, parents: list[Commit], fanout: int) -> Logged | None:
    tally = _Tally(history)

    def enters(path: str) -> bool:
        return is_known_folder(path, fanout)

    for difference in history.differences(commit, parents, enters, lambda *_: None):
        place = place_of(difference.path, fanout)
        signed = signed_place_of(difference.path, fanout) if place is None else None
        if place is not None and place.right == difference.path:
            tally.take(place, difference)
        elif signed is not None and signed.right == difference.path and signed.part == "attestations":
            tally.take_statement(difference)
    if not tally.added and not tally.statements and not tally.counts.total():
        return None
    records = [Named(digest, kind, name_of(history, commit, digest, fanout)) for digest, kind in tally.new]
    return Logged(
        commit.id,
        commit.author,
        commit.date,
        commit.subject,
        dict(sorted(tally.added.items())),
        tuple(records if len(records) <= FEW else ()),
        **tally.counts,
        statements=dict(sorted(tally.statements.items())),
    )


class _Tally:
    """What one commit did, counted; `new` has the first few records that it added, and one more where there are."""

    def __init__(self, history: History) -> None:
        self._history = history
        self.added: Counter[str] = Counter()
        self.counts = Counter(updated=0, changed=0, removed=0)
        self.statements: Counter[str] = Counter()
        self.new: list[tuple[Digest, str]] = []

    def take(self, place: Place, difference: Difference) -> None:
        """Count a file of a record."""
        happened = _happened(difference)
        if place.part == "metadata":
            self.counts["updated"] += happened == "changed"
        elif happened == "added":
            assert difference.now is not None, "what was added is there"
            kind = _kind_of(self._history, difference.now.oid)
            self.added[kind] += 1
            if len(self.new) <= FEW:
                self.new.append((place.digest, kind))
        elif happened:
            self.counts[happened] += 1

    def take_statement(self, difference: Difference) -> None:
        """Count a signed statement."""
        happened = _happened(difference)
        if happened == "added":
            assert difference.now is not None, "what was added is there"
            self.statements[_statement_kind(self._history, difference.now.oid)] += 1
        elif happened:
            self.counts[happened] += 1


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


def _statement_kind(history: History, oid: bytes) -> str:
    from kstore.attest.envelope import Envelope, EnvelopeError
    from kstore.attest.statement import StatementError, read_statement

    try:
        return read_statement(Envelope.from_bytes(history.blob(oid)).payload).kind
    except (UnreadableError, EnvelopeError, StatementError):
        return UNKNOWN


def name_of(history: History, commit: Commit, digest: Digest, fanout: int) -> str | None:
    """Give the name that a record has in a commit, where its metadata can be read."""
    try:
        found = history.find(commit, path_of("metadata", digest, fanout))
        return None if found is None else _name(history.blob(found[1])).name
    except (UnreadableError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
