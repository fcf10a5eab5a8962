"""`kstore import`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kstore.cli import output
from kstore.cli.options import DryRun, Jobs, Json, Quiet, Wait

if TYPE_CHECKING:
    from kstore.actions.import_ import Imported

_FIELDS = (
    "rows",
    "documents",
    "added",
    "present",
    "metadata_updated",
    "rejected",
    "rejected_total",
    "skipped",
    "commit",
    "warnings",
)
_SHOWN = 5
"""How many warnings are shown one by one."""


def command(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON lines, plain or .zst; - is standard input, until the end of which nobody else can write.",
        ),
    ],
    format: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="FORMAT",
            help="jsonl: what `kstore export` writes. catalog: the public catalogue's export.",
        ),
    ] = "jsonl",
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="Add what is sound, list the rest, and end with exit code 1.")
    ] = False,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="MESSAGE", help="The commit's message.")
    ] = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    jobs: Jobs = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Import a file of many documents, in one commit.

    Every document of the file becomes a record, or nothing is added when anything is wrong with any of them. Digests
    that a row of the catalogue states are compared with those of its documents. Of the lines that are rejected the
    first 1,000 are listed; all are counted, as rejected_total in --json.

    Examples:

        kstore import records.jsonl.zst

        kstore import --from catalog catalog.jsonl.zst
    """
    from kstore.actions.import_ import import_file
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry, output.progress("Importing", output.size_of(file)) as progress:
        imported = import_file(
            registry,
            file,
            format=format,
            keep_going=keep_going,
            dry_run=dry_run,
            message=message,
            wait=wait,
            jobs=jobs,
            progress=progress,
        )
    if json:
        output.json({field: getattr(imported, field) for field in _FIELDS})
    _explain(imported, file, keep_going=keep_going, dry_run=dry_run, quiet=quiet)
    if imported.rejected_total:
        raise typer.Exit(1)


def _explain(imported: Imported, file: str, *, keep_going: bool, dry_run: bool, quiet: bool) -> None:
    for rejected in imported.rejected:
        output.complain(f"{file}:{rejected.line}: {rejected.reason}")
    more = imported.rejected_total - len(imported.rejected)
    if more:
        output.complain(f"{file}: {more:,} more were rejected; only the first {len(imported.rejected):,} are listed")
    for warning in imported.warnings[:_SHOWN]:
        output.note(f"{file}:{warning.line}: {warning.reason}", quiet=quiet)
    if len(imported.warnings) > _SHOWN:
        output.note(f"and {len(imported.warnings) - _SHOWN} more like these; --json lists all", quiet=quiet)
    output.notes(imported.notes, quiet=quiet)
    if imported.skipped:
        tables = ", ".join(f"{table} ({count:,})" for table, count in sorted(imported.skipped.items()))
        output.note(f"rows without documents of their own were left out: {tables}", quiet=quiet)
    counts = (
        f"{imported.rows:,} rows, {imported.documents:,} documents: {imported.added:,} records added, "
        f"{imported.metadata_updated:,} with new metadata, {imported.present:,} present, "
        f"{imported.rejected_total:,} lines rejected"
    )
    output.note(counts, quiet=quiet)
    if imported.commit is not None:
        output.note(f"committed as {imported.commit}", quiet=quiet)
    elif imported.rejected_total and not keep_going:
        output.note("nothing was written; --keep-going adds what is sound", quiet=quiet)
    elif dry_run:
        output.note("nothing was written (--dry-run)", quiet=quiet)
    else:
        why = "everything is there already" if imported.present else "there is nothing to add"
        output.note(f"{why}; nothing to commit", quiet=quiet)
