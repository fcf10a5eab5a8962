"""`kstore add`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kstore.cli import output
from kstore.cli.options import DryRun, Files, Json, Quiet, Wait

if TYPE_CHECKING:
    from kstore.actions.add import Added


def command(
    context: typer.Context,
    files: Files,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="MESSAGE", help="The commit's message.")
    ] = None,
    no_commit: Annotated[
        bool, typer.Option("--no-commit", help="Write and stage the files; the commit is yours to make.")
    ] = False,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add records to the registry, in one commit.

    Every document of every FILE is added, or nothing when anything is wrong with any of them. Adding what is
    there already changes nothing. A document with a new title or other new metadata updates those.

    Examples:

        kstore add run.json

        kstore add -m "Nightly of 2026-03-03" results/*.yaml

        kstore --registry ../other resolve my-run | kstore add -
    """
    from kstore.actions.add import add
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        added = add(registry, files, message=message, commit=not no_commit, dry_run=dry_run, wait=wait)
    output.notes(added.notes, quiet=quiet)
    output.notes(
        (f"{missing.by}: {missing.field}: {missing.digest} is not in the registry" for missing in added.unresolved),
        quiet=quiet,
    )
    if json:
        output.json({"commit": added.commit, "records": added.records, "unresolved": added.unresolved})
        return
    for record in added.records:
        output.line(f"{record.status:16} {record.digest} {record.kind} {record.name}")
    output.note(_outcome(added, no_commit, dry_run), quiet=quiet)


def _outcome(added: Added, no_commit: bool, dry_run: bool) -> str:
    if all(record.status == "present" for record in added.records):
        return "everything is there already; nothing to commit"
    if dry_run:
        return "nothing was written (--dry-run)"
    if no_commit:
        return "written and staged; `git commit` commits it"
    return f"committed as {added.commit}"
