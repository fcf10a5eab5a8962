"""`kstore list`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from kstore.cli import output
from kstore.cli.options import Json, Quiet
from kstore.cli.standing import UNTRUSTED, WithAttestations, as_json, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.actions.list_ import Row
    from kstore.attest.standing import Standing
    from kstore.digest import Digest

FEW = 20
"""So many warnings are given one by one."""


def command(
    context: typer.Context,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND", help="Records of this kind only.")] = None,
    with_attestations: WithAttestations = False,
    json: Json = False,
    jsonl: Annotated[bool, typer.Option("--jsonl", help="Print one JSON object a line.")] = False,
    quiet: Quiet = False,
) -> None:
    """List the records.

    Each line has digest, kind, name and title, in the order of the digests. In a registry with signed
    statements there is a column before the name: reported (nothing is said of it), signed, replicated,
    disputed, retracted or superseded; untrusted where there are statements, but no policy is pinned here.
    With JSON on stdout, what is disputed, retracted or superseded is named on stderr; with
    --with-attestations each row has a field `attestations`, as `kstore show --with-attestations` has it.

    Examples:

        kstore list

        kstore list --kind BenchmarkRun --jsonl | jq -r .name
    """
    from kstore.actions.list_ import list_records
    from kstore.actions.standing import standings as standings_of
    from kstore.errors import UsageError
    from kstore.registry import Registry

    if with_attestations and not (json or jsonl):
        raise UsageError("--with-attestations adds to JSON; give --json or --jsonl with it")
    listed: dict[Digest, Standing] = {}
    with Registry.open(context.obj) as registry:
        rows = list_records(registry, kind)
        standings = standings_of(registry)

        def each() -> Iterator[Row]:
            for row in rows:
                if row.digest in standings:
                    listed[row.digest] = standings[row.digest]
                yield row

        if json or jsonl:
            found = (_as_json(row, standings) if with_attestations else row for row in each())
            if json:
                output.json(list(found))
            else:
                for row in found:
                    output.json(row)
        else:
            for row in each():
                output.line(_line(row, standings))
    _tell(listed, alarm=json or jsonl, quiet=quiet)


def _line(row: Row, standings: Mapping[Digest, Standing]) -> str:
    column = ""
    if standings:
        standing = standings.get(row.digest)
        status = "reported" if standing is None else "untrusted" if standing.untrusted else standing.status
        column = f"{status:10} "
    return f"{row.digest} {row.kind:22} {column}{row.name}{'  ' * bool(row.title)}{row.title or ''}"


def _as_json(row: Row, standings: Mapping[Digest, Standing]) -> dict[str, object]:
    return {**msgspec.structs.asdict(row), "attestations": msgspec.Raw(as_json(standings.get(row.digest)))}


def _tell(listed: Mapping[Digest, Standing], *, alarm: bool, quiet: bool) -> None:
    """Say on stderr what the rows do not say."""
    warnings = [
        f"{digest}: {message}"
        for digest, standing in listed.items()
        if alarm
        for alarming, message in lines(standing)
        if alarming
    ]
    for warning in warnings[:FEW]:
        output.warn(warning)
    if len(warnings) > FEW:
        output.warn(f"and {len(warnings) - FEW:,} more such warnings: `kstore list` without JSON shows each record's")
    counts = Counter(standing.status for standing in listed.values() if not standing.untrusted)
    if alarm and counts:
        output.note(", ".join(f"{count:,} {status}" for status, count in sorted(counts.items())), quiet=quiet)
    untrusted = sum(standing.untrusted is not None for standing in listed.values())
    if untrusted:
        records = "1 record has" if untrusted == 1 else f"{untrusted:,} records have"
        output.note(f"{records} statements that are {UNTRUSTED}", quiet=quiet)
    uncounted = sum(standing.uncounted for standing in listed.values())
    if uncounted:
        statements = "1 statement does" if uncounted == 1 else f"{uncounted:,} statements do"
        output.note(f"{statements} not count: `kstore verify` says why", quiet=quiet)
