"""`kstore export`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Quiet


def command(
    context: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Where to write, compressed where it ends in .zst; - is stdout.")
    ] = "-",
    format: Annotated[
        str,
        typer.Option("--format", metavar="FORMAT", help="jsonl: one document a line. catalog: the catalogue's rows."),
    ] = "jsonl",
    quiet: Quiet = False,
) -> None:
    """Export every record as JSON lines.

    The same records give the same bytes. `kstore import` reads them back, `--format catalog` with `--from catalog`.

    Examples:

        kstore export records.jsonl.zst

        kstore export --format catalog | head -1 | jq .
    """
    from kstore.actions.export import export
    from kstore.cli.lines import writing
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        lines = export(registry, format)
        with writing(file) as write:
            count = 0
            for line in lines:
                write(line)
                count += 1
    output.note(f"exported {count:,} {'rows' if format == 'catalog' else 'records'}", quiet=quiet)
