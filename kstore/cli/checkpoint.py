"""`kstore checkpoint create` and `kstore checkpoint show`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kstore.cli import output
from kstore.cli.options import DryRun, Jobs, Json, Quiet, Wait
from kstore.errors import UsageError

if TYPE_CHECKING:
    from kstore.actions.checkpoints import Row

HELP = "State, signed, everything that the registry has."


def create(
    context: typer.Context,
    key: Annotated[
        list[str] | None,
        typer.Option("--key", metavar="FILE", help="A maintainer's key; repeat it for several signatures."),
    ] = None,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Read every file, whatever was read for an earlier checkpoint.")
    ] = False,
    jobs: Jobs = None,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a checkpoint of HEAD, in a commit of its own.

    It states the commit, the number of records, and a BLAKE3 root over everything under store/ except the checkpoints
    themselves. Whoever has it can tell later that nothing was removed or changed since. Where nothing has changed since
    the last checkpoint, none is made. The key must be that of a maintainer of the latest trust policy.

    Examples:

        kstore checkpoint create --key ~/.ssh/id_ed25519
    """
    from kstore.actions.checkpoint import create_checkpoint
    from kstore.cli.passphrase import signer_of
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        created = create_checkpoint(
            registry,
            [signer_of(each) for each in key or ()],
            jobs=jobs,
            cache=not no_cache,
            dry_run=dry_run,
            wait=wait,
            progress=partial(output.progress, "reading"),
        )
    output.notes(created.notes, quiet=quiet)
    if json:
        output.json({"status": created.status, "commit": created.commit, "checkpoint": created.checkpoint})
    else:
        _print(created.checkpoint)
    if created.status == "present":
        output.note(f"nothing has changed since checkpoint {created.checkpoint.number}; nothing to commit", quiet=quiet)
    elif dry_run:
        output.note("nothing was written (--dry-run)", quiet=quiet)
    else:
        output.note(f"committed as {created.commit}", quiet=quiet)


def show(
    context: typer.Context,
    number: Annotated[
        str, typer.Argument(metavar="[N|latest]", help="Which checkpoint; the last one by default.")
    ] = "latest",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show a checkpoint, and whose signatures it has.

    `kstore audit` is what checks that what it states is so.

    Examples:

        kstore checkpoint show

        kstore checkpoint show 3 --json
    """
    from kstore.actions.checkpoints import show_checkpoint
    from kstore.registry import Registry

    if number != "latest" and not (number.isascii() and number.isdecimal() and len(number) < 11):
        raise UsageError(f"which checkpoint? expected a number of at most ten digits, or latest, found {number!r}")
    with Registry.open(context.obj) as registry:
        row = show_checkpoint(registry, None if number == "latest" else int(number))
    if json:
        output.json(row)
    else:
        _print(row)
    for each in row.signatures:
        if each.right is None:
            output.note(f"no policy that is believed here lists the key {each.keyid}", quiet=quiet)
    if any(each.right is False for each in row.signatures):
        output.complain(f"{row.path}: a signature is not right for what it signs")
        raise typer.Exit(1)


def _print(row: Row) -> None:
    output.line(f"checkpoint {row.number} {row.digest}")
    output.line(f"made       {row.created_at}")
    output.line(f"commit     {row.git_commit}")
    output.line(f"records    {row.records:,}")
    output.line(f"root       blake3:{row.root}")
    for each in row.signatures:
        right = {True: "", False: "  WRONG", None: "  unknown"}[each.right]
        output.line(f"signed     {each.keyid} {each.name or ''}{right}".rstrip())


COMMANDS = {"create": create, "show": show}
"""The commands of the group."""
