"""`kstore init`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Quiet, Wait


def command(
    path: Annotated[str, typer.Argument(metavar="[PATH]", help="The folder; made when it is not there.")] = ".",
    bare: Annotated[bool, typer.Option("--bare", help="Make a bare repository, as for a server.")] = False,
    fanout: Annotated[
        int, typer.Option("--fanout", min=1, max=2, help="Folder levels above a record: 2 for over 500,000 records.")
    ] = 1,
    wait: Wait = 10,
    quiet: Quiet = False,
) -> None:
    """Make a registry, with its first commit.

    A registry is a git repository with a store/ folder. In a repository that is there already, the commit
    goes on top of what it has. Doing it again changes nothing.

    Examples:

        kstore init results

        kstore init --bare --fanout 2 /srv/results.git
    """
    from kstore.registry import Registry

    with Registry.init(path, bare=bare, fanout=fanout, wait=wait) as registry:
        output.note(f"{registry.path} is a registry", quiet=quiet)
