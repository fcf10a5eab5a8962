"""What has been read of a bulk file so far, compared with the registry that it goes into."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kstore.actions.ledger import Ledger
from kstore.actions.prepare import LISTED, PreparedBatch, PreparedRecord, count_table
from kstore.actions.refer import DAMAGED, Said, is_sound, kind_of, reference_problems, said_by
from kstore.actions.remarks import Remark, Remarks
from kstore.digest import Digest
from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from kstore.registry import Bulk, Registry

OID = 20
_LINE = 8


class Intake:
    """The records of a file that are new, or have new metadata, and what is wrong with the rest.

    Attributes:
        records: Of each new or changed record, by the 32 bytes of its digest, the ids of its two blobs, the number of
            its line, and whether it is new: one short byte string, because there may be a million.
        rejected: The lines that are not taken.
        warnings: What is odd about some that are.
        rows: How many lines are not empty.
        documents: How many documents they hold.
        skipped: How many rows hold none, by table.
    """

    def __init__(self, base: Registry, bulk: Bulk) -> None:
        """Compare with a registry at a commit, and give the contents of its new files to `bulk`."""
        self._base = base
        # Of the first import into a registry nothing needs to be looked up.
        self._compare = next(base.digests(), None) is not None
        self._bulk = bulk
        self._ledger = Ledger()
        self._present: dict[bytes, bytes] = {}
        self.records: dict[bytes, bytes] = {}
        self.rejected = Remarks(LISTED)
        self.warnings: list[Remark] = []
        self.rows = 0
        self.documents = 0
        self.skipped: dict[str, int] = {}

    @property
    def present(self) -> int:
        """How many of the records the registry has already."""
        return len(self._present)

    @property
    def new(self) -> int:
        """How many records are new."""
        return sum(entry[-1] for entry in self.records.values())

    def take(self, batch: PreparedBatch) -> None:
        """Take some lines in."""
        self.rows += batch.rows
        self.documents += len(batch.places)
        for table, rows in batch.skipped.items():
            count_table(self.skipped, table, rows)
        for line, reason in batch.rejected:
            self.rejected.add(line, reason)
        self.rejected.count(batch.unlisted)
        records = batch.records
        for line, place in batch.places:
            self._take(records[place], line)

    def _take(self, record: PreparedRecord, line: int) -> None:
        digest = record.digest
        blobs = record.body.oid + record.metadata.oid
        known = self.records.get(digest) or self._present.get(digest)
        if known is not None:
            if not known.startswith(blobs):
                reason = f"{Digest.from_raw(digest)} stands in line {_line(known)} too, with different metadata"
                self.rejected.add(line, reason)
            return
        body = metadata = None
        if self._compare:
            body, metadata = self._stored_blobs(record)
        self._ledger.enter(digest, record.said)
        entry = b"%b%b%c" % (blobs, line.to_bytes(_LINE), body is None)
        if body is not None and metadata == record.metadata.oid:
            self._present[digest] = entry
            return
        self.records[digest] = entry
        self._bulk.put(record.body)
        self._bulk.put(record.metadata)

    def _stored_blobs(self, record: PreparedRecord) -> tuple[bytes | None, bytes | None]:
        """Give the ids of the blobs that the registry has of a record, or None."""
        digest = Digest.from_raw(record.digest)
        body = self._base.blob("objects", digest)
        if body is not None and body != record.body.oid:
            raise KstoreError(f"{digest} is damaged in the registry; `kstore verify` names everything that is wrong")
        return body, None if body is None else self._base.blob("metadata", digest)

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

        doubtful = self._doubtful()
        while wrong := self._problems(doubtful, known, refused=True):
            for digest, reason in wrong.items():
                self.rejected.add(_line(self.records.pop(digest)), reason)
                self._ledger.drop(digest)
            doubtful = self._doubtful()
        odd = self._problems(doubtful, known, refused=False)
        self.warnings.extend(Remark(_line(self.records[digest]), reason) for digest, reason in odd.items())

    def _doubtful(self) -> list[bytes]:
        """Give the records whose references are not all to sound records of the file."""
        said = self._ledger.entries()
        return [digest for digest in self.records if not is_sound(said[digest], said)]

    def _problems(
        self, doubtful: list[bytes], known: Callable[[bytes], Said | None], *, refused: bool
    ) -> dict[bytes, str]:
        """Say what is wrong with the references of some records, or what is odd about them."""
        found: dict[bytes, str] = {}
        requires = self._base.settings.requires
        for digest in doubtful:
            problems = [
                f"{problem.field}: {problem.message}"
                for problem in reference_problems(self._ledger.get(digest) or DAMAGED, known, requires)
                if problem.refused == refused and problem.code != "unresolved-reference"
            ]
            if problems:
                found[digest] = f"{Digest.from_raw(digest)}: {'; '.join(problems)}"
        return found

    def _stored(self, digest: Digest) -> Said | None:
        return said_by(self._base.get(digest)) if digest in self._base else None

    def kinds(self) -> tuple[Counter[str], Counter[str]]:
        """Count by kind the records that are new, and those that have new metadata."""
        said = self._ledger.entries()
        counts = Counter((said[digest][0], entry[-1]) for digest, entry in self.records.items())
        new: Counter[str] = Counter()
        changed: Counter[str] = Counter()
        for (number, is_new), count in counts.items():
            (new if is_new else changed)[kind_of(bytes((number,)))] = count
        return new, changed


def _line(entry: bytes) -> int:
    return int.from_bytes(entry[2 * OID : 2 * OID + _LINE])
