"""`kstore attest`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kstore.cli.options import DryRun, Json, KeyFile, Message, NoCommit, Quiet, Ref, Wait, words
from kstore.cli.passphrase import signer_of
from kstore.cli.stated import show


class Result(StrEnum):
    """How a repetition came out."""

    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not-reproduced"


def command(
    context: typer.Context,
    ref: Ref,
    result: Annotated[Result, typer.Option("--result", help="Whether it came out as the record says.")],
    key: KeyFile,
    run: Annotated[
        str | None, typer.Option("--run", metavar="REF", help="The record of the run that repeated it.")
    ] = None,
    value: Annotated[
        str | None, typer.Option("--value", metavar="TEXT", callback=words, help="What came out, in words.")
    ] = None,
    environment: Annotated[
        str | None,
        typer.Option("--environment", metavar="TEXT", callback=words, help="Where it was repeated, in words."),
    ] = None,
    note: Annotated[
        str | None, typer.Option("--note", metavar="TEXT", callback=words, help="What else there is to say.")
    ] = None,
    message: Message = None,
    no_commit: NoCommit = False,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say that you have repeated a measurement, and how it came out.

    Where your own run is a record of this registry, name it with --run; otherwise say in words what came out
    and where.

    Examples:

        kstore attest their-run --result reproduced --run my-run --key ~/.ssh/id_ed25519

        kstore attest their-run --result not-reproduced --value "median 301 us" --environment "H100 PCIe" --key key
    """
    from kstore.actions.attest import attest
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        stated = attest(
            registry,
            ref,
            signer_of(key),
            result=result.value,
            run=run,
            value=value,
            environment=environment,
            note=note,
            message=message,
            commit=not no_commit,
            dry_run=dry_run,
            wait=wait,
        )
    show(stated, no_commit=no_commit, dry_run=dry_run, json=json, quiet=quiet)
