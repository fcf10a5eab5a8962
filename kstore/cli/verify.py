"""`kstore verify`."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Jobs, Json, Quiet, RequireSignatures

if TYPE_CHECKING:
    from pathlib import Path


def command(
    context: typer.Context,
    rev: Annotated[str | None, typer.Option("--rev", metavar="REV", help="Check a commit, without a checkout.")] = None,
    staged: Annotated[
        bool, typer.Option("--staged", help="Check what the next commit changes, as the pre-commit hook does.")
    ] = False,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 3 when a reference leads out of the registry.")
    ] = False,
    require_signatures: RequireSignatures = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Check every record anew, also those that were found sound before.")
    ] = False,
    jobs: Jobs = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check every file under store/.

    Names, bytes, records and what they say of each other are checked, and all signatures; it reports
    everything that it finds. In a working tree it checks the files that lie there, in a bare repository HEAD.

    Examples:

        kstore verify

        kstore verify --rev v1.0 --strict

        kstore verify --staged
    """
    if staged:
        if rev is not None:
            raise typer.BadParameter("--rev checks a commit and --staged the next one; give one of them")
        if require_signatures:
            raise typer.BadParameter("--staged requires the signatures that the trust policy requires, and no others")
        from kstore.actions.verify_staged import verify_staged

        report = verify_staged(_named(context.obj), strict=strict)
    else:
        from kstore.actions.verify import verify
        from kstore.cli.policies import ask_once
        from kstore.registry import Registry

        with Registry.open(context.obj) as opened:
            if not (json or quiet):
                ask_once(opened)
            report = verify(
                opened if rev is None else opened.at(rev),
                strict=strict,
                require_signatures=require_signatures,
                jobs=jobs,
                cache=not no_cache,
                progress=partial(output.progress, "Verifying"),
            )
    if json:
        output.json({"checked": report.checked, "complete": report.complete, "findings": report.findings})
    else:
        for finding in report.findings:
            output.line(f"{finding.severity}: {finding.code}: {finding.path}: {finding.message}")
        verdict = "damaged" if not report.sound else "sound" if report.complete else "incomplete"
        output.note(f"checked {output.counts(report.checked)}: {verdict}", quiet=quiet)
    for note in report.notes:
        output.note(note, quiet=quiet)
    if not report.sound:
        raise typer.Exit(1)
    if not report.complete:
        raise typer.Exit(3)


def _named(registry: Path | None) -> Path | None:
    """Give the registry that was named; in a hook git names it, whatever KSTORE_REGISTRY says to other commands."""
    in_a_hook = "GIT_INDEX_FILE" in os.environ
    return None if in_a_hook and str(registry) == os.environ.get("KSTORE_REGISTRY") else registry
