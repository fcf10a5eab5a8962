"""`kstore resolve`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Quiet, Ref
from kstore.cli.standing import WithAttestations, as_json, tell


def command(
    context: typer.Context,
    ref: Ref,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 3 when something it refers to is not there.")
    ] = False,
    with_attestations: WithAttestations = False,
    quiet: Quiet = False,
) -> None:
    """Print a record with what it refers to.

    It is one JSON object, which has each record under its role: a run comes with its protocol, environment,
    workload, implementation and operation. `kstore add` takes the output. Who signed and who reproduced each
    of them, and whether one is retracted or superseded, is said on stderr; --quiet leaves out all but warnings.
    With --with-attestations it is in the JSON too, in a last field `attestations`, by digest.

    Examples:

        kstore resolve my-run

        kstore resolve my-run | jq .environment.spec.hardware
    """
    from kstore.actions.resolve import resolve
    from kstore.actions.standing import standings
    from kstore.registry import Registry

    with Registry.open(context.obj) as registry:
        resolved = resolve(registry, ref)
        roles = {record.digest: role for role, record in resolved.records.items()}
        found = standings(registry, roles)
    parts = [b'"%b":%b' % (role.encode(), record.document()) for role, record in resolved.records.items()]
    if with_attestations:
        said = (b'"%b":%b' % (digest.encode(), as_json(found.get(digest))) for digest in roles)
        parts.append(b'"attestations":{%b}' % b",".join(said))
    output.indented(b"{%b}" % b",".join(parts))
    for missing in resolved.unresolved:
        message = f"{missing.by}: {missing.field}: {missing.digest} is not in the registry and was left out"
        output.note(message, quiet=quiet and not strict)
    tell({f"{roles[digest]} {digest}": standing for digest, standing in found.items()}, quiet=quiet)
    if strict and resolved.unresolved:
        raise typer.Exit(3)
