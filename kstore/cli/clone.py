"""`kstore clone`."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from kstore.cli import output
from kstore.cli.options import Json, Quiet


def command(
    url: Annotated[str, typer.Argument(metavar="URL", help="A local path, or what ssh or http reach.")],
    path: Annotated[
        str | None, typer.Argument(metavar="[PATH]", help="The folder to make; by default named as the URL ends.")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Clone a registry, and check all of it.

    Its whole history is audited and its records are verified before a file of it is checked out. When anything is
    wrong, the clone is kept aside, as PATH.unchecked, and what is wrong is said.

    Examples:

        kstore clone https://example.org/results.git

        kstore clone /srv/results.git results
    """
    from kstore.actions.clone import clone

    cloned = clone(url, path, progress=partial(output.progress, "Auditing"))
    audited, verified = cloned.audited, cloned.verified
    if json:
        output.json({"path": str(cloned.path), "audit": audited, "verify": verified})
    else:
        for finding in audited.findings:
            output.line(f"error: {finding.code}: {finding.commit[:12]}: {finding.path}: {finding.message}")
        for found in verified.findings:
            output.line(f"{found.severity}: {found.code}: {found.path}: {found.message}")
    for gap in audited.gaps:
        output.note(f"{gap.reason}; `{gap.remedy}` completes it", quiet=quiet)
    counts = f"{audited.commits:,} commits, {verified.checked['objects']:,} records"
    if not cloned.sound:
        output.complain(f"this registry is not sound ({counts}); it is kept at {cloned.path}, with nothing checked out")
        raise typer.Exit(1)
    output.note(f"cloned to {cloned.path}: {counts}: {'sound' if cloned.complete else 'incomplete'}", quiet=quiet)
    if not cloned.complete:
        raise typer.Exit(3)
