"""Git hooks and the settings that go with them: where they lie, what is there, putting one in place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.errors import KstoreError
from kstore.git.program import of_its_own, output

if TYPE_CHECKING:
    from kstore.git.place import Place

_MARK = b"# Installed by kstore"
_OTHER_PROGRAMS = "legacy"
"""The pre-commit framework moves a hook that it finds to this ending, and calls it from there."""


class Hooks:
    """The hooks of a repository, in the folder that git takes them from (core.hooksPath in git-config(1))."""

    def __init__(self, place: Place) -> None:
        """Ask git for the folder.

        Raises:
            KstoreError: There is no `git` program, or it does not like the repository.
        """
        self._top = place.root
        self._environment = of_its_own()
        printed = output(self._top, self._environment, "rev-parse", "--git-path", "hooks")
        self.folder = self._top / Path(printed.decode("utf-8", "surrogateescape").rstrip("\n"))

    def put(self, name: str, script: bytes) -> tuple[Path, Path | None]:
        """Put a hook in place; one that somebody else put there is kept beside it, for ours to call.

        Putting it again replaces ours and nothing else.

        Returns:
            Where the hook is, and where the one is that was there before.

        Raises:
            KstoreError: It cannot be written, or somebody replaced ours since, and there would be two to call.
        """
        path, kept = self._paths(name)
        moved = path.with_name(f"{name}.{_OTHER_PROGRAMS}")
        if not _is_ours(path) and _is_ours(moved):
            # Some program put its own hook before ours, and calls ours: it stays like that.
            path = moved
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            prepared = path.with_name(f"{name}.kstore-new")
            prepared.write_bytes(script)
            prepared.chmod(0o777 & ~_umask() | 0o500)
            if _exists(path) and not _is_ours(path):
                if _exists(kept):
                    prepared.unlink()
                    raise KstoreError(
                        f"{path}: another hook has taken the place of kstore's, and the one that was here before "
                        f"kstore is still kept in {kept.name}; make one of the two, and run this again"
                    )
                path.rename(kept)
            prepared.replace(path)
        except OSError as error:
            raise KstoreError(f"{error.filename or path}: cannot be written: {error.strerror}") from error
        return path, kept if _exists(kept) else None

    def remove(self, name: str) -> Path | None:
        """Take our hook away and put back the one that was there before; give its path, or None where it was not there.

        Raises:
            KstoreError: It cannot be removed.
        """
        path, kept = self._paths(name)
        for ours in (path, path.with_name(f"{name}.{_OTHER_PROGRAMS}")):
            if _is_ours(ours):
                try:
                    ours.unlink()
                    if _exists(kept):
                        kept.rename(ours)
                except OSError as error:
                    raise KstoreError(f"{ours}: cannot be removed: {error.strerror}") from error
                return ours
        return None

    def configure(self, name: str, value: str) -> None:
        """Set something in the repository's own configuration."""
        output(self._top, self._environment, "config", "--local", "--replace-all", name, value)

    def forget(self, section: str) -> None:
        """Remove a section of the repository's own configuration, where it has it."""
        output(self._top, self._environment, "config", "--local", "--remove-section", section, good=(0, 128))

    def _paths(self, name: str) -> tuple[Path, Path]:
        return self.folder / name, self.folder / f"{name}.before-kstore"


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()


def _is_ours(path: Path) -> bool:
    try:
        return _MARK in path.read_bytes()
    except OSError:
        return False


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
