"""`kstore receive`, which a pre-receive hook runs."""

from __future__ import annotations

import sys
from itertools import islice

import typer

from kstore.cli import output

_SHOWN = 50


def command() -> None:
    """Check a push; git runs this in the pre-receive hook.

    The references that are to move come on standard input, as git gives them to the hook. What is printed is
    shown to the person who pushes.

    Examples:

        kstore hook install --pre-receive
    """
    from kstore.actions.receive import refusals
    from kstore.git.incoming import Incoming, parse_updates

    with Incoming() as incoming:
        found = list(islice(refusals(incoming, parse_updates(sys.stdin.read())), _SHOWN + 1))
    for reason in found[:_SHOWN]:
        output.complain(output.escape(reason))
    if len(found) > _SHOWN:
        output.complain("and more; everything up to here was found before the check was given up")
    if found:
        output.complain("this push is refused, and nothing of it was taken")
        raise typer.Exit(1)
