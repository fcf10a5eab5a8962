"""`kstore add`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from kstore.cli import output
from kstore.cli.options import DryRun, Files, Json, Message, NoCommit, OptionalKeyFile, Quiet, Wait
from kstore.cli.passphrase import signer_of

if TYPE_CHECKING:
    from kstore.actions.add import Added


def command(
    context: typer.Context,
    files: Files,
    key: OptionalKeyFile = None,
    message: Message = None,
    no_commit: NoCommit = False,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Add records to the registry, in one commit.

    Every document of every FILE is added, or nothing when anything is wrong with any of them. Adding what is
    there already changes nothing. A document with a new title or other new metadata updates those.
    With --key you vouch for all of them in the same commit, as `kstore sign` does.

    Examples:

        kstore add run.json

        kstore add -m "Nightly of 2026-03-03" results/*.yaml

        kstore --registry ../other resolve my-run | kstore add -

        kstore add --key ~/.ssh/id_ed25519 run.json
    """
    from kstore.actions.add import add
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        signer = None if key is None else signer_of(key)
        added = add(registry, files, signer=signer, message=message, commit=not no_commit, dry_run=dry_run, wait=wait)
    output.notes(added.notes, quiet=quiet)
    output.notes(
        (f"{missing.by}: {missing.field}: {missing.digest} is not in the registry" for missing in added.unresolved),
        quiet=quiet,
    )
    if json:
        signed = {"statements": added.statements} if key is not None else {}
        output.json({"commit": added.commit, "records": added.records, "unresolved": added.unresolved, **signed})
        return
    for record in added.records:
        output.line(f"{record.status:16} {record.digest} {record.kind} {record.name}")
    output.note(_outcome(added, no_commit, dry_run), quiet=quiet)


def _outcome(added: Added, no_commit: bool, dry_run: bool) -> str:
    statuses = [record.status for record in added.records] + [statement.status for statement in added.statements]
    if set(statuses) <= {"present"}:
        return "everything is there already; nothing to commit"
    if dry_run:
        return "nothing was written (--dry-run)"
    if no_commit:
        return "written and staged; `git commit` commits it"
    return f"committed as {added.commit}"
