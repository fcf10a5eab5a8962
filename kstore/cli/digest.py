"""`kstore digest`."""

from __future__ import annotations

import typer

from kstore.cli import output
from kstore.cli.options import Files, Json, Quiet


def command(files: Files, json: Json = False, quiet: Quiet = False) -> None:
    """Print the digests of documents.

    Each line has a document's digest, kind and name. Needs no registry.

    Examples:

        kstore digest run.json

        cat run.yaml | kstore digest -
    """
    from kstore.actions.read import judge

    examined = judge(files)
    output.notes(examined.notes, quiet=quiet)
    records = [outcome.read.record for outcome in examined.outcomes if outcome.read is not None]
    if json:
        output.json([{"digest": record.digest, "kind": record.kind, "name": record.name} for record in records])
    else:
        for record in records:
            output.line(f"{record.digest} {record.kind} {record.name}")
    faults = [fault for outcome in examined.outcomes for fault in outcome.faults]
    for fault in faults:
        output.complain(str(fault))
    if faults:
        raise typer.Exit(1)
