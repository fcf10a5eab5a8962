"""What the commands that make statements say when they are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.cli import output

if TYPE_CHECKING:
    from kstore.actions.state import Stated


def show(stated: Stated, *, no_commit: bool, dry_run: bool, json: bool, quiet: bool) -> None:
    """Print what became of the statements of a call."""
    output.notes(stated.notes, quiet=quiet)
    if json:
        output.json(stated)
        return
    for row in stated.statements:
        output.line(f"{row.status:8} {row.predicate} {row.record} {row.name}")
    output.note(f"signed by {stated.signer} ({stated.key}); {_outcome(stated, no_commit, dry_run)}", quiet=quiet)


def _outcome(stated: Stated, no_commit: bool, dry_run: bool) -> str:
    if all(row.status == "present" for row in stated.statements):
        return "all of it is there already; nothing to commit"
    if dry_run:
        return "nothing was written (--dry-run)"
    if no_commit:
        return "written and staged; `git commit` commits it"
    return f"committed as {stated.commit}"
