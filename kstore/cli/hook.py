"""`kstore hook install` and `kstore hook uninstall`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Quiet

HELP = "Have git check commits and pushes, and show records readably."


def install(
    context: typer.Context,
    pre_commit: Annotated[
        bool, typer.Option("--pre-commit", help="Check commits; the default in a registry with a working tree.")
    ] = False,
    pre_receive: Annotated[
        bool, typer.Option("--pre-receive", help="Check pushes that come in; the default in a bare registry.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Install git hooks that refuse what would damage the registry.

    A hook that is there already is kept and runs first. `git log -p` and `git diff` show records as YAML from then on.
    Doing it again renews the hooks, as after kstore has moved.

    Examples:

        kstore hook install

        kstore --registry /srv/results.git hook install --pre-receive
    """
    from kstore.actions.hook import install as install_hooks

    installed = install_hooks(context.obj, pre_commit=pre_commit, pre_receive=pre_receive)
    output.notes((f"{path} is installed" for path in installed.hooks), quiet=quiet)
    output.notes((f"{path} was there before and runs first" for path in installed.kept), quiet=quiet)
    if installed.unborn is not None:
        output.note(
            f"HEAD names {installed.unborn}, which is not there yet: that branch is what `kstore` reads here, and what "
            "nobody may rewrite; if people are to push another one, `git symbolic-ref HEAD refs/heads/NAME` names it",
            quiet=quiet,
        )


def uninstall(context: typer.Context, quiet: Quiet = False) -> None:
    """Remove the hooks that `kstore hook install` put in place.

    A hook that was there before is put back.

    Examples:

        kstore hook uninstall
    """
    from kstore.actions.hook import uninstall as remove_hooks

    gone = remove_hooks(context.obj)
    output.notes((f"{path} is removed" for path in gone), quiet=quiet)
    if not gone:
        output.note("no hook of kstore is installed here", quiet=quiet)


COMMANDS = {"install": install, "uninstall": uninstall}
