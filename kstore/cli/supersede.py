"""`kstore supersede`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli.options import DryRun, Json, KeyFile, Message, NoCommit, Quiet, Reason, Wait
from kstore.cli.passphrase import signer_of
from kstore.cli.stated import show


def command(
    context: typer.Context,
    old: Annotated[str, typer.Argument(metavar="OLD", help="The record that is replaced: a digest, or a name.")],
    new: Annotated[str, typer.Argument(metavar="NEW", help="The record that takes its place.")],
    reason: Reason,
    key: KeyFile,
    message: Message = None,
    no_commit: NoCommit = False,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say that a record takes the place of another one of its kind.

    Nothing is deleted: the old record stays, and everybody who meets it is told which one replaces it. It counts
    from somebody who signed the old record, or from a maintainer; from others it is an objection.

    Examples:

        kstore supersede old-run new-run --reason "Measured with locked clocks." --key ~/.ssh/id_ed25519
    """
    from kstore.actions.supersede import supersede
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        stated = supersede(
            registry,
            old,
            new,
            signer_of(key),
            reason=reason,
            message=message,
            commit=not no_commit,
            dry_run=dry_run,
            wait=wait,
        )
    show(stated, no_commit=no_commit, dry_run=dry_run, json=json, quiet=quiet)
