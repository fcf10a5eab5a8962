"""`kstore textconv`, which git runs to show a file in a diff."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kstore.cli import output


def command(file: Annotated[Path, typer.Argument(metavar="FILE", help="What git wants to show.")]) -> None:
    """Print a file of a registry as YAML; git runs this in diffs.

    What is no canonical JSON is printed as it is.

    Examples:

        git config diff.kstore.textconv "kstore textconv"
    """
    from kstore.cli.readable import readable

    output.raw(readable(file.read_bytes()))
