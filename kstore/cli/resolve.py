"""`kstore resolve`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Quiet, Ref


def command(
    context: typer.Context,
    ref: Ref,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 3 when something it refers to is not there.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Print a record with what it refers to.

    It is one JSON object, which has each record under its role: a run comes with its protocol, environment,
    workload, implementation and operation. `kstore add` takes the output.

    Examples:

        kstore resolve my-run

        kstore resolve my-run | jq .environment.spec.hardware
    """
    from kstore.actions.resolve import resolve
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        resolved = resolve(registry, ref)
    parts = (b'"%b":%b' % (role.encode(), record.document()) for role, record in resolved.records.items())
    output.indented(b"{%b}" % b",".join(parts))
    for missing in resolved.unresolved:
        message = f"{missing.by}: {missing.field}: {missing.digest} is not in the registry and was left out"
        output.note(message, quiet=quiet and not strict)
    if strict and resolved.unresolved:
        raise typer.Exit(3)
