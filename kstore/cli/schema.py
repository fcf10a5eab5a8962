"""`kstore schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output


def command(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help="One kind of records; without it, all of them.")
    ] = None,
) -> None:
    """Print the JSON Schema of a kind of documents.

    It is of draft 2020-12, for editors and programs. Needs no registry.

    Examples:

        kstore schema BenchmarkRun > benchmark-run.schema.json
    """
    import msgspec

    from kstore.errors import UsageError
    from kstore.schema import KINDS, json_schema

    if kind is not None and kind not in KINDS:
        raise UsageError(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
    output.indented(msgspec.json.encode(json_schema(kind)))
