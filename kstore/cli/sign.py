"""`kstore sign`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kstore.cli.options import DryRun, Json, KeyFile, Message, NoCommit, Quiet, Wait
from kstore.cli.passphrase import signer_of
from kstore.cli.stated import show


def command(
    context: typer.Context,
    refs: Annotated[
        list[str],
        typer.Argument(
            metavar="REF...",
            help="Digests, at least 4 digits of their starts, or names; - reads them from standard input, one a line.",
        ),
    ],
    key: KeyFile,
    message: Message = None,
    no_commit: NoCommit = False,
    dry_run: DryRun = False,
    wait: Wait = 10,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Vouch for records, in one commit.

    A signature covers a record, and says which metadata were seen with it. Signing again what is unchanged
    changes nothing. The registry's trust policy must list the key; `kstore trust` keeps that. A key that is
    encrypted takes its passphrase from KSTORE_KEY_PASSPHRASE, or asks for it.

    With -, the first word of each line of standard input is a REF, so that `kstore list` can be piped.

    Examples:

        kstore sign my-run --key ~/.ssh/id_ed25519

        kstore sign my-run --key ~/.ssh/id_ed25519.pub     # the private half is in ssh-agent

        kstore list --kind BenchmarkRun | kstore sign - --key ~/.ssh/id_ed25519
    """
    from kstore.actions.sign import sign
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        wanted = [ref for given in refs for ref in (_from_stdin() if given == "-" else [given])]
        stated = sign(
            registry, wanted, signer_of(key), message=message, commit=not no_commit, dry_run=dry_run, wait=wait
        )
    show(stated, no_commit=no_commit, dry_run=dry_run, json=json, quiet=quiet)


def _from_stdin() -> list[str]:
    return [line.split(maxsplit=1)[0] for line in sys.stdin if line.strip()]
