"""`kstore audit`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Json, Quiet, RequireSignatures

if TYPE_CHECKING:
    from kstore.actions.audit import AuditReport

_SHORT = 12


def command(
    context: typer.Context,
    since: Annotated[
        str | None, typer.Option("--since", metavar="REV", help="Take this commit and what it builds on as they are.")
    ] = None,
    require_signatures: RequireSignatures = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check that history only ever added.

    Every commit that HEAD reaches is checked, side branches and merges too: what it adds is sound, and no
    object that its parents have was changed or removed. What was removed once stays a finding, even where
    it was added again. Everything that is signed is checked, the roots of checkpoints too. In a clone that
    lacks parts of history, or that has pinned no trust policy, it ends with 3 and says what completes it.

    Examples:

        kstore audit

        kstore audit --since v1.0 --json | jq .findings
    """
    from kstore.actions.audit import audit
    from kstore.cli.policies import ask_once
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        if not (json or quiet):
            ask_once(registry)
        found = audit(
            registry,
            since=since,
            require_signatures=require_signatures,
            progress=partial(output.progress, "auditing"),
        )
    if json:
        fields = ("commits", "records_added", "complete", "head", "findings", "by_author", "gaps", "signed")
        output.json({field: getattr(found, field) for field in fields})
    else:
        _print(found)
        verdict = "damaged" if found.findings else "sound" if found.complete else "incomplete"
        what = f"{_count(found.commits, 'commit')} and {_count(found.records_added, 'record')} that they added"
        signed = output.counts(found.signed)
        output.note(f"audited {what}{', ' * bool(signed)}{signed}: {verdict}", quiet=quiet)
    for note in found.notes:
        output.note(note, quiet=quiet)
    for gap in found.gaps:
        output.note(f"{gap.reason}; `{gap.remedy}` completes it", quiet=quiet)
    if found.findings:
        raise typer.Exit(1)
    if not found.complete:
        raise typer.Exit(3)


def _print(found: AuditReport) -> None:
    for each in found.findings:
        place = f"{each.path}: " if each.path else ""
        whose = f" (commit {each.commit[:_SHORT]}, {each.author}, {each.date})" if each.commit else ""
        output.line(f"error: {each.code}: {place}{each.message}{whose}")
    for author in found.by_author:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in author.kinds.items())
        when = author.first if author.first == author.last else f"{author.first} to {author.last}"
        what = f"{_count(author.records, 'record')} in {_count(author.commits, 'commit')}"
        output.line(f"{author.author}: {what}, {when}: {kinds}")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
