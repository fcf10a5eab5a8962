"""`kstore show`."""

from __future__ import annotations

from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Quiet, Ref
from kstore.cli.standing import WithAttestations, as_json, tell


def command(
    context: typer.Context,
    ref: Ref,
    yaml: Annotated[bool, typer.Option("--yaml", help="Print YAML.")] = False,
    canonical: Annotated[
        bool, typer.Option("--canonical", help="Print the exact bytes that the digest is the SHA-256 of.")
    ] = False,
    with_attestations: WithAttestations = False,
    quiet: Quiet = False,
) -> None:
    """Print one record.

    The whole document is printed, metadata included. Who signed it, who reproduced it, and whether it is
    retracted or superseded is said on stderr; --quiet leaves out all but warnings.

    With --with-attestations the output is {"document": ..., "attestations": ...}. The latter has `status`
    (reported, signed, replicated, disputed, superseded, or retracted), the names `signedBy`, `staleMetadata`,
    `reproducedBy` and `notReproducedBy`, the statements `retractions`, `supersessions` and `objections` as
    {"by", "reason", "replacement", "statement"}, the number `uncounted` of those that do not count, and
    `untrusted`: where no policy is pinned, the same by ids of keys, none of which counts; otherwise null.

    Examples:

        kstore show sha256:e8a0f82e

        kstore show --yaml my-run

        kstore show --canonical my-run | sha256sum

        kstore show --with-attestations my-run | jq -r .attestations.status
    """
    from kstore.actions.standing import standings
    from kstore.errors import UsageError
    from kstore.registry import Registry
    from kstore.registry.lookup import lookup

    if yaml and canonical:
        raise UsageError("--yaml and --canonical are two forms of the same record; give one of them")
    if with_attestations and (yaml or canonical):
        raise UsageError("--with-attestations adds to JSON; leave --yaml and --canonical out")
    with Registry.open(context.obj) as registry:
        record = registry.get(lookup(registry, ref))
        found = standings(registry, [record.digest])
    if canonical:
        output.raw(record.body)
    elif yaml:
        from kstore.cli.yaml_text import to_yaml

        output.text(to_yaml(record.document()).rstrip("\n"))
    elif with_attestations:
        said = as_json(found.get(record.digest))
        output.indented(b'{"document":%b,"attestations":%b}' % (record.document(), said))
    else:
        output.indented(record.document())
    tell({str(digest): standing for digest, standing in found.items()}, quiet=quiet)
