"""Arguments and options that several commands have, each written once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer


def words(option: typer.CallbackParam, value: str | None) -> str | None:
    """Take the words of an option that a statement will hold.

    Raises:
        UsageError: They are none, or too many.
    """
    if value is not None:
        from kstore.attest.statement import MAX_WORDS
        from kstore.errors import UsageError

        if not 1 <= len(value) <= MAX_WORDS:
            raise UsageError(f"{option.opts[0]}: expected 1 to {MAX_WORDS:,} characters, found {len(value):,}")
    return value


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on stdout.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Leave out the notes on stderr.")]
Wait: TypeAlias = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for another writer.")
]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Check everything and write nothing.")]
Message: TypeAlias = Annotated[
    str | None, typer.Option("-m", "--message", metavar="MESSAGE", help="The commit's message.")
]
NoCommit: TypeAlias = Annotated[
    bool, typer.Option("--no-commit", help="Write and stage the files; the commit is yours to make.")
]
_KEY_HELP = "An OpenSSH or PEM private key, or a public key whose private half an ssh-agent holds."
KeyFile: TypeAlias = Annotated[str, typer.Option("--key", metavar="FILE", help=_KEY_HELP)]
OptionalKeyFile: TypeAlias = Annotated[str | None, typer.Option("--key", metavar="FILE", help=_KEY_HELP)]
Reason: TypeAlias = Annotated[
    str, typer.Option("--reason", metavar="TEXT", callback=words, help="Why, for everybody to read.")
]
Jobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", "-j", metavar="N", min=1, help="How many processes do the work; by default as many as pay."),
]
RequireSignatures: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--require-signatures",
        help="Insist that a signer of the pinned trust policy endorses every record; 12 where no policy is pinned.",
    ),
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
