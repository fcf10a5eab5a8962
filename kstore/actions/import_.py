"""Import a file of many documents: all of them in one commit, or nothing."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import ItemsView, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.ledger import Ledger
from kstore.actions.message import TRAILERS, import_message
from kstore.actions.parallel import in_order, usable_processors
from kstore.actions.prepare import FORMATS, PreparedLine, PreparedRecord, batch, decode_batch, prepare_batch
from kstore.actions.refer import DAMAGED, Said, kind_of, reference_problems, said_by
from kstore.digest import Digest
from kstore.errors import KstoreError, UsageError
from kstore.layout import path_of, place_of
from kstore.reading.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from kstore.layout import Part
    from kstore.registry import Bulk, Registry

_OID = 20
_LINE = 8


class Remark(msgspec.Struct, frozen=True):
    """A line of the file, and what is wrong or odd about it."""

    line: int
    reason: str


class Imported(msgspec.Struct, frozen=True):
    """What an import came to.

    Attributes:
        rows: How many lines the file has, empty ones left out.
        documents: How many documents they hold; a record that stands in several lines counts each time.
        added: How many records are new.
        present: How many records of the file the registry had already.
        metadata_updated: How many records it had with other metadata.
        rejected: The lines that were not taken. Unless going on was asked for, any of them means that nothing was.
        skipped: How many rows each table has that holds no documents of its own.
        commit: The new commit, or None.
        warnings: What is odd about new records and no reason to leave them out.
        notes: What a person should know about the registry.
    """

    rows: int
    documents: int
    added: int
    present: int
    metadata_updated: int
    rejected: tuple[Remark, ...]
    skipped: dict[str, int]
    commit: str | None
    warnings: tuple[Remark, ...]
    notes: tuple[str, ...] = ()


def import_file(
    registry: Registry,
    file: str,
    *,
    format: str = "jsonl",
    keep_going: bool = False,
    dry_run: bool = False,
    message: str | None = None,
    wait: float = 10,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Imported:
    """Import every document of a file.

    Args:
        registry: Where to add them.
        file: A path, `.zst` by its name; `-` is standard input.
        format: `jsonl`, one document a line, or `catalog`, the public catalogue's rows.
        keep_going: Add what is sound even if some lines are not.
        dry_run: Check everything and write nothing.
        message: The commit's message instead of the usual one.
        wait: Seconds to wait for another writer.
        jobs: How many processes do the work; None is one for each processor.
        progress: Called with the number of bytes of the file that were read since the last call.

    Raises:
        KstoreError: The file cannot be read, or the registry cannot be written; nothing was changed.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r} to import from; there are {', '.join(FORMATS)}")
    batches = (batch(first, lines) for first, lines in read_lines(file, progress))
    results = in_order(prepare_batch, format, batches, jobs or usable_processors())
    with registry.writing(wait) as found, registry.bulk() as bulk:
        intake = _Intake(registry.at_head(), bulk, found)
        for result in results:
            for line in decode_batch(result):
                intake.take(line)
        intake.check_references()
        if intake.rejected and not keep_going:
            return intake.result(None, nothing=True)
        if dry_run or not intake.records:
            return intake.result(None)
        first = [Digest.from_raw(digest) for digest in heapq.nsmallest(TRAILERS, intake.records)]
        text = import_message(intake.kinds(new=True), intake.kinds(new=False), first, message)
        return intake.result(bulk.commit(intake.blobs(), text, wait))


class _Intake:
    """What has been read of a file so far, compared with the registry that it goes into."""

    def __init__(self, base: Registry, bulk: Bulk, notes: tuple[str, ...]) -> None:
        self._base = base
        self._notes = notes
        self._bulk = bulk
        self._ledger = Ledger()
        self._present: dict[bytes, bytes] = {}
        self.records: dict[bytes, bytes] = {}
        """Of each new or changed record the ids of its two blobs, the number of its line, and whether it is new: one
        short byte string, because there may be a million."""
        self.rejected: list[Remark] = []
        self._warnings: list[Remark] = []
        self._rows = 0
        self._documents = 0
        self._skipped: Counter[str] = Counter()

    def take(self, line: PreparedLine) -> None:
        """Take a line in."""
        self._rows += 1
        if line.reason:
            self.rejected.append(Remark(line.number, line.reason))
        elif not line.records:
            self._skipped[line.table] += 1
        for record in line.records:
            self._documents += 1
            self._take(record, line.number)

    def _take(self, record: PreparedRecord, line: int) -> None:
        blobs = record.body.oid + record.metadata.oid
        known = self.records.get(record.digest) or self._present.get(record.digest)
        if known is not None:
            if known[: 2 * _OID] != blobs:
                reason = f"{Digest.from_raw(record.digest)} stands in line {_line(known)} too, with different metadata"
                self.rejected.append(Remark(line, reason))
            return
        digest = Digest.from_raw(record.digest)
        body = self._base.blob("objects", digest)
        if body is not None and body != record.body.oid:
            raise KstoreError(f"{digest} is damaged in the registry; `kstore verify` names everything that is wrong")
        self._ledger.enter(record.digest, record.said)
        entry = blobs + line.to_bytes(_LINE) + bytes((body is None,))
        if body is not None and self._base.blob("metadata", digest) == record.metadata.oid:
            self._present[record.digest] = entry
            return
        self.records[record.digest] = entry
        self._bulk.put(record.body)
        self._bulk.put(record.metadata)

    def check_references(self) -> None:
        """Reject the records whose references are wrong, and then those that referred to one of these."""
        looked_up: dict[bytes, Said | None] = {}

        def known(digest: bytes) -> Said | None:
            said = self._ledger.get(digest)
            if said is None:
                if digest not in looked_up:
                    looked_up[digest] = self._stored(Digest.from_raw(digest))
                said = looked_up[digest]
            return said

        while wrong := self._problems(known, refused=True):
            for digest, reason in wrong.items():
                self.rejected.append(Remark(_line(self.records.pop(digest)), reason))
                self._ledger.drop(digest)
        odd = self._problems(known, refused=False)
        self._warnings.extend(Remark(_line(self.records[digest]), reason) for digest, reason in odd.items())
        self.rejected.sort(key=lambda remark: remark.line)

    def _problems(self, known: Callable[[bytes], Said | None], *, refused: bool) -> dict[bytes, str]:
        """Say what is wrong with the references of new records, or what is odd about them."""
        found: dict[bytes, str] = {}
        for digest in self.records:
            problems = [
                f"{problem.field}: {problem.message}"
                for problem in reference_problems(
                    self._ledger.get(digest) or DAMAGED, known, self._base.settings.requires
                )
                if problem.refused == refused and problem.code != "unresolved-reference"
            ]
            if problems:
                found[digest] = f"{Digest.from_raw(digest)}: {'; '.join(problems)}"
        return found

    def _stored(self, digest: Digest) -> Said | None:
        return said_by(self._base.get(digest)) if digest in self._base else None

    def kinds(self, *, new: bool) -> Counter[str]:
        """Count by kind the records that are new, or those that have new metadata."""
        records = self.records
        return Counter(
            kind_of(said) for digest, said in self._ledger.entered() if digest in records and records[digest][-1] == new
        )

    def blobs(self) -> Mapping[str, bytes]:
        """Give the files to commit: path to blob id."""
        return _Blobs(self.records, self._base.settings.fanout)

    def result(self, commit: str | None, *, nothing: bool = False) -> Imported:
        """Sum up; with `nothing`, no record was added whatever was found."""
        new = sum(entry[-1] for entry in self.records.values())
        return Imported(
            self._rows,
            self._documents,
            0 if nothing else new,
            len(self._present),
            0 if nothing else len(self.records) - new,
            tuple(self.rejected),
            dict(self._skipped),
            commit,
            tuple(self._warnings),
            self._notes,
        )


def _line(entry: bytes) -> int:
    return int.from_bytes(entry[2 * _OID : 2 * _OID + _LINE])


class _Blobs(Mapping[str, bytes]):
    """The files of many records, path to blob id, in the order of their paths; no path is kept."""

    def __init__(self, records: dict[bytes, bytes], fanout: int) -> None:
        self._records = records
        self._fanout = fanout

    def __len__(self) -> int:
        return 2 * len(self._records)

    def __iter__(self) -> Iterator[str]:
        return (path for path, _ in self.pairs())

    def pairs(self) -> Iterator[tuple[str, bytes]]:
        """Go through paths and blob ids."""
        digests = [Digest.from_raw(raw) for raw in sorted(self._records)]
        parts: tuple[tuple[Part, slice], ...] = (("metadata", slice(_OID, 2 * _OID)), ("objects", slice(_OID)))
        for part, where in parts:
            for digest in digests:
                yield path_of(part, digest, self._fanout), self._records[digest.raw][where]

    def items(self) -> ItemsView[str, bytes]:
        """Be gone through without looking every path up again."""
        return _Pairs(self)

    def __getitem__(self, path: str) -> bytes:
        place = place_of(path, self._fanout)
        if place is None:
            raise KeyError(path)
        entry = self._records[place.digest.raw]
        return entry[:_OID] if place.part == "objects" else entry[_OID : 2 * _OID]


class _Pairs(ItemsView[str, bytes]):
    _mapping: _Blobs

    def __iter__(self) -> Iterator[tuple[str, bytes]]:
        return self._mapping.pairs()
