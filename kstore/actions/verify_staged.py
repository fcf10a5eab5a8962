"""Verify what is staged: what the next commit would do to the registry."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kstore.errors import KstoreError, NoRegistryError
from kstore.git.staged import StagedFiles
from kstore.layout import SETTINGS, Settings

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.actions.report import Report
    from kstore.attest.evidence import Evidence
    from kstore.registry import Registry


def verify_staged(folder: Path | None = None, *, strict: bool = False) -> Report:
    """Check what the next commit changes, and nothing else.

    Args:
        folder: The top of a working tree; None is the repository that git's environment names (GIT_DIR,
            GIT_INDEX_FILE), as it does in hooks, or the one around the current folder.
        strict: Count references to what the registry need not have as incomplete.

    Raises:
        NoRegistryError: There is no registry, neither staged nor in HEAD.
        KstoreError: What is staged cannot be read.
    """
    with StagedFiles(folder) as files:
        # git is at work meanwhile.
        from kstore.actions.check_change import Remedy, check_change, settings_gone
        from kstore.registry import Registry

        remedy = Remedy("`git checkout HEAD -- {path}` brings it back", "`git rm --cached {path}` unstages it")
        committed = files.committed(SETTINGS)
        try:
            registry = Registry(files.place, files)
        except NoRegistryError:
            if committed is None:
                raise
            return settings_gone(remedy)
        before = []
        # Where the settings were damaged, there is nothing that they could be compared with.
        with contextlib.suppress(KstoreError):
            if committed is not None:
                before.append(Settings.from_bytes(committed))
        return check_change(registry, files.changes(), before, remedy, lambda: _known(registry, files), strict=strict)


def _known(registry: Registry, files: StagedFiles) -> Evidence:
    """Tell what counts by the history of HEAD, and of what is being merged into it."""
    from kstore.attest.appearance import Appearances, appearances
    from kstore.attest.evidence import Past, evidence, past_of
    from kstore.git.history import history_of

    head, merged = past_of(registry), files.merged()
    if not merged:
        return evidence(registry, head)
    others = [history_of(files.place, commit.encode()) for commit in merged]
    appeared = [head.appeared, *(appearances(each, registry.derived, remember=False) for each in others)]
    # No commit yet has the commits of all checkpoints in its history.
    return evidence(registry, Past(None, Appearances.together(appeared)))
