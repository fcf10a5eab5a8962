"""`kstore validate`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from kstore.cli import output
from kstore.cli.options import Files, Json, Quiet
from kstore.errors import dotted

if TYPE_CHECKING:
    from kstore.actions.read import Outcome


def command(files: Files, json: Json = False, quiet: Quiet = False) -> None:
    """Check documents and report all that is wrong.

    Needs no registry.

    Examples:

        kstore validate run.json

        kstore validate --json results/*.yaml | jq '.[] | select(.ok | not)'
    """
    from kstore.actions.read import judge

    examined = judge(files)
    output.notes(examined.notes, quiet=quiet)
    if json:
        output.json([_row(outcome) for outcome in examined.outcomes])
    for outcome in examined.outcomes:
        for fault in outcome.faults:
            output.complain(str(fault))
        if outcome.read is not None and not json:
            record = outcome.read.record
            output.line(f"{outcome.source}: valid: {record.digest} {record.kind} {record.name}")
    if any(outcome.read is None for outcome in examined.outcomes):
        raise typer.Exit(1)


def _row(outcome: Outcome) -> dict[str, Any]:
    return {
        "file": outcome.source,
        "ok": outcome.read is not None,
        "kind": outcome.kind,
        "name": outcome.name,
        "digest": outcome.read.record.digest if outcome.read is not None else None,
        "errors": [
            {"path": dotted(fault.path), "line": fault.line, "column": fault.column, "message": fault.message}
            for fault in outcome.faults
        ],
    }
