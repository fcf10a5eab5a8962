"""`kstore list`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Json


def command(
    context: typer.Context,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Records of this kind only.")] = None,
    json: Json = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")] = False,
) -> None:
    """List the records.

    Each line has digest, kind, name and title, in the order of the digests.

    Examples:

        kstore list

        kstore list --kind BenchmarkRun --jsonl | jq -r .name
    """
    from kstore.actions.list_ import list_records
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        rows = list_records(registry, kind)
        if json:
            output.json(list(rows))
            return
        for row in rows:
            if jsonl:
                output.json(row)
            else:
                output.line(f"{row.digest} {row.kind:22} {row.name}{'  ' * bool(row.title)}{row.title or ''}")
