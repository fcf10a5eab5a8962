"""Arguments and options that several commands have, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the notes on stderr.")]
Wait: TypeAlias = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for another writer.")
]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Check everything and write nothing.")]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, help="How many processes do the work; by default as many as pay."),
]
Ref: TypeAlias = Annotated[
    str, typer.Argument(metavar="REF", help="A digest, at least 4 digits of its start, or a record's name.")
]
Files: TypeAlias = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="JSON or YAML documents and bundles; - is standard input.")
]
RegistryPath: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--registry",
        metavar="PATH",
        envvar="KSTORE_REGISTRY",
        help="The registry; otherwise the nearest one from the current folder upwards.",
    ),
]
