"""`kstore log`."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from msgspec import UNSET

from kstore.cli import output
from kstore.cli.options import Json
from kstore.cli.standing import UNTRUSTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kstore.actions.life import Event, Field, Said
    from kstore.actions.log import Logged

_Row = TypeVar("_Row")
_SHORT = 12


def command(
    context: typer.Context,
    ref: Annotated[
        str | None,
        typer.Argument(
            metavar="[REF]", help="Tell of one record: a digest, at least 4 digits of its start, or a name."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", metavar="N", min=0, help="At most so many commits, the newest.")
    ] = None,
    json: Json = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")] = False,
) -> None:
    """Tell what happened to the registry, or to one record.

    Without a REF it lists the commits that changed records, the newest first, and what each added. With one
    it tells the record's life from its beginning: who added it and when, each change of its metadata, and who
    signed, reproduced, retracted or superseded it. A record that is gone is found by its whole digest.

    Examples:

        kstore log -n 5

        kstore log my-run
    """
    from kstore.actions.life import life
    from kstore.actions.log import log
    from kstore.errors import UsageError
    from kstore.registry import Registry

    if ref is not None and limit is not None:
        raise UsageError("--limit counts commits of the whole registry; leave it out where a REF is given")
    with Registry.open(context.obj) as registry:
        gaps = list(registry.history().gaps())
        if ref is None:
            logged = log(registry, limit)
            if json:
                output.json(list(logged))
            else:
                _each(logged, _of_commit, jsonl=jsonl)
        else:
            told = life(registry, ref)
            if json:
                output.json(told)
            else:
                _each(iter(told.events), _of_event, jsonl=jsonl)
    for gap in gaps:
        output.note(f"{gap.reason}; `{gap.remedy}` completes it")


def _each(rows: Iterator[_Row], lines: Callable[[_Row], Iterator[str]], *, jsonl: bool) -> None:
    for row in rows:
        if jsonl:
            output.json(row)
        else:
            for line in lines(row):
                output.line(line)


def _of_commit(logged: Logged) -> Iterator[str]:
    yield f"{logged.commit[:_SHORT]} {logged.date} {logged.author}: {logged.subject}"
    if logged.added:
        yield f"    added {', '.join(f'{count:,} {kind}' for kind, count in logged.added.items())}"
    for record in logged.records:
        yield f"        {record.digest} {record.kind:22} {record.name or ''}".rstrip()
    if logged.statements:
        yield f"    signed statements: {', '.join(f'{count:,} {kind}' for kind, count in logged.statements.items())}"
    for count, what in (
        (logged.updated, "changed the metadata of"),
        (logged.changed, "changed objects or statements, which never change:"),
        (logged.removed, "removed objects or statements, which never go:"),
    ):
        if count:
            yield f"    {what} {count:,}"


def _of_event(event: Event) -> Iterator[str]:
    what = event.event.replace("-", " ") if event.statement is UNSET else _of_statement(event.event, event.statement)
    yield f"{event.commit[:_SHORT]} {event.date} {event.author}: {what}"
    yield from chain.from_iterable(map(_of_field, event.changes))


def _of_statement(event: str, said: Said) -> str:
    from kstore.attest.statement import Replication, Retraction, Supersession

    who = ", ".join(said.by or [f"key {key} ({UNTRUSTED})" for key in said.keys])
    if not who:
        who = f"nobody who counts ({'; '.join(said.why)})"
    match said.predicate:
        case None:
            what = f"something that is no statement, by {who}"
        case Replication(result=result, value=value, environment=environment, note=note):
            details = [each for each in (value, environment, note) if each is not UNSET]
            what = f"{result.replace('-', ' ')} by {who}{': ' * bool(details)}{'; '.join(details)}"
        case Retraction(reason=reason):
            what = f"retracted by {who}: {reason}"
        case Supersession(by=by, reason=reason):
            what = f"superseded by {by.digest}, says {who}: {reason}"
        case _:
            what = f"signed by {who}"
    # A statement that is sound never changes and never goes.
    return what if event == "statement-added" else f"{event.replace('-', ' ')}: {what}"


def _of_field(field: Field) -> Iterator[str]:
    if field.before is not None:
        yield f"    - {field.field}: {field.before}"
    if field.after is not None:
        yield f"    + {field.field}: {field.after}"
