"""Import a file of many documents: all of them in one commit, or nothing."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.message import TRAILERS, import_message
from kstore.actions.parallel import begun, usable_processors
from kstore.actions.prepare import FORMATS, batch, decode_batch, prepare_batch
from kstore.digest import Digest
from kstore.errors import UsageError
from kstore.reading.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from kstore.actions.intake import Intake
    from kstore.actions.remarks import Remark
    from kstore.registry import Registry


class Imported(msgspec.Struct, frozen=True):
    """What an import came to.

    Attributes:
        rows: How many lines the file has, empty ones left out.
        documents: How many documents they hold; a record that stands in several lines counts each time.
        added: How many records are new.
        present: How many records of the file the registry had already.
        metadata_updated: How many records it had with other metadata.
        rejected: What was not taken and why, by line, at most the first thousand. Unless going on was asked for, any of
            it means that nothing was taken.
        rejected_total: How many there are, those that are not listed included.
        skipped: How many rows each table has that holds no documents of its own; `(others)` of a file with over a
            hundred such tables.
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
    rejected_total: int
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

    The writer's lock is held until the file is at its end, which is for its writer to say where it is a pipe.

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
        UnsignedError: The trust policy wants new records of these kinds signed, which importing does not do.
        KstoreError: The file cannot be read, or the registry cannot be written; nothing was changed.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r} to import from; there are {', '.join(FORMATS)}")
    batches = (batch(first, lines) for first, lines in read_lines(file, progress))
    with begun(prepare_batch, format, batches, jobs or usable_processors()) as results:
        # Workers are busy while these are loaded.
        from kstore.actions.intake import Intake
        from kstore.actions.new_files import NewFiles
        from kstore.actions.statements import refuse_unsigned

        with registry.writing(wait) as notes, registry.bulk() as bulk:
            base = registry.at_head()
            intake = Intake(base, bulk)
            for result in results:
                intake.take(decode_batch(result))
            intake.check_references()
            if intake.rejected.total and not keep_going:
                return _imported(intake, notes, None, nothing=True)
            new, changed = intake.kinds()
            refuse_unsigned(base, new)
            if dry_run or not intake.records:
                return _imported(intake, notes, None)
            first = [Digest.from_raw(digest) for digest in heapq.nsmallest(TRAILERS, intake.records)]
            text = import_message(new, changed, first, message)
            commit = bulk.commit(NewFiles(intake.records, base.settings.fanout), text, wait)
            return _imported(intake, notes, commit)


def _imported(intake: Intake, notes: tuple[str, ...], commit: str | None, *, nothing: bool = False) -> Imported:
    """Sum up; with `nothing`, no record was added whatever was found."""
    new = intake.new
    return Imported(
        rows=intake.rows,
        documents=intake.documents,
        added=0 if nothing else new,
        present=intake.present,
        metadata_updated=0 if nothing else len(intake.records) - new,
        rejected=intake.rejected.listed(),
        rejected_total=intake.rejected.total,
        skipped=intake.skipped,
        commit=commit,
        warnings=tuple(intake.warnings),
        notes=notes,
    )
