"""Clone a registry, and check all of it before anybody uses it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.audit import AuditReport, audit
from kstore.actions.progress import Progress, silent
from kstore.actions.verify import verify
from kstore.errors import KstoreError
from kstore.registry import Registry

if TYPE_CHECKING:
    from kstore.actions.report import Report


class Cloned(msgspec.Struct, frozen=True):
    """What cloning came to.

    Attributes:
        path: Where the clone lies: where it was wanted if all of it is sound, and aside otherwise.
        audited: What its history says.
        verified: What the records of its HEAD say.
    """

    path: Path
    audited: AuditReport
    verified: Report

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong with it, as far as can be seen."""
        return self.audited.sound and self.verified.sound

    @property
    def complete(self) -> bool:
        """Whether all of it could be seen."""
        return self.audited.complete and self.verified.complete


def clone(url: str, path: str | None = None, *, progress: Progress = silent) -> Cloned:
    """Fetch a registry with all its history, audit and verify it, and only then check its files out.

    Nothing of a registry that is not sound reaches a working tree: the clone stays aside, with an empty one.

    Args:
        url: A local path, or what ssh or http reach.
        path: The folder to make; by default named as the URL ends.
        progress: As `audit` takes it.

    Raises:
        KstoreError: It could not be fetched, there is something at `path`, or it is no registry; nothing stays behind.
    """
    from kstore.git.transport import check_out, fetch_repository

    target = Path(path or _name(url)).absolute()
    aside = target.with_name(f"{target.name}.unchecked")
    for folder in (target, aside):
        if folder.exists():
            raise KstoreError(f"{folder}: there is something here already; remove it, or clone to another folder")
    place = fetch_repository(url, aside)
    try:
        with Registry.of_head(place) as registry:
            cloned = Cloned(aside, audit(registry, progress=progress), verify(registry))
    except KstoreError as error:
        raise KstoreError(f"{error}; the clone is kept at {aside}, with nothing checked out") from error
    if not cloned.sound:
        return cloned
    check_out(place)
    aside.rename(target)
    return msgspec.structs.replace(cloned, path=target)


def _name(url: str) -> str:
    """Give the folder that a clone of a URL is named for, as git does."""
    name = url.rstrip("/").removesuffix("/.git").rpartition("/")[2].rpartition(":")[2].removesuffix(".git")
    if not name or name in (".", ".."):
        raise KstoreError("the URL has no name to call the clone by; say where to put it: kstore clone URL PATH")
    return name
