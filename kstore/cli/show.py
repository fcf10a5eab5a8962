"""`kstore show`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Ref


def command(
    context: typer.Context,
    ref: Ref,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print YAML.")] = False,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Print the exact bytes that the digest is the SHA-256 of.")
    ] = False,
) -> None:
    """Print one record.

    The whole document is printed, metadata included.

    Examples:

        kstore show sha256:e8a0f82e

        kstore show --yaml my-run

        kstore show --canonical my-run | sha256sum
    """
    from kstore.errors import UsageError
    from kstore.registry import Registry
    from kstore.registry.lookup import lookup

    if yaml and canonical:
        raise UsageError("--yaml and --canonical are two forms of the same record; give one of them")
    with Registry.open(context.obj) as registry:
        record = registry.get(lookup(registry, ref))
    if canonical:
        output.raw(record.body)
    elif yaml:
        from kstore.cli.yaml_text import to_yaml

        output.text(to_yaml(record.document()).rstrip("\n"))
    else:
        output.indented(record.document())
