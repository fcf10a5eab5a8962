"""`kstore retract`."""

from __future__ import annotations

import typer

from kstore.cli.options import DryRun, Json, KeyFile, Message, NoCommit, Quiet, Reason, Ref, Wait
from kstore.cli.passphrase import signer_of
from kstore.cli.stated import show


def command(
    context: typer.Context,
    ref: Ref,
    reason: Reason,
    key: KeyFile,
    message: Message = None,
    no_commit: NoCommit = False,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Withdraw a record.

    Nothing is deleted: the record stays, and everybody who meets it is told that it is retracted, by whom, and
    why. It counts from somebody who signed the record, or from a maintainer; from others it is an objection.

    Examples:

        kstore retract my-run --reason "The clocks were not locked." --key ~/.ssh/id_ed25519
    """
    from kstore.actions.retract import retract
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        stated = retract(
            registry,
            ref,
            signer_of(key),
            reason=reason,
            message=message,
            commit=not no_commit,
            dry_run=dry_run,
            wait=wait,
        )
    show(stated, no_commit=no_commit, dry_run=dry_run, json=json, quiet=quiet)
