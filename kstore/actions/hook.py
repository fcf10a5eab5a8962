"""Install the hooks that keep a registry sound, and the driver with which git shows its records readably."""

from __future__ import annotations

import shlex
import shutil
import sys
import sysconfig
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kstore.errors import KstoreError, NoRegistryError, UsageError
from kstore.git.branches import head_of
from kstore.git.hooks import Hooks
from kstore.git.place import place_at, places_upwards

if TYPE_CHECKING:
    from kstore.git.place import Place

_COMMIT_HOOKS = ("pre-commit", "pre-merge-commit")
_PUSH_HOOKS = ("pre-receive",)
_DRIVER = "diff.kstore"


class Installed(msgspec.Struct, frozen=True):
    """What an installation came to.

    Attributes:
        hooks: The hooks that are in place now.
        kept: The hooks that were there before; ours call them.
        unborn: The branch that HEAD names and that is not there, where pushes are to be checked; it may be another one
            that people push.
    """

    hooks: tuple[Path, ...]
    kept: tuple[Path, ...]
    unborn: str | None = None


def install(path: Path | None, *, pre_commit: bool = False, pre_receive: bool = False) -> Installed:
    """Install hooks; installing them again renews them.

    Args:
        path: The top of the repository; None is the nearest one from the current folder upwards. It need be no registry
            yet: a server's may become one by the first push.
        pre_commit: Check commits that are made here; the default where there is a working tree.
        pre_receive: Check pushes that come in here; the default where there is none.

    Raises:
        NoRegistryError: There is no repository.
        UsageError: Commits are to be checked where none can be made.
        KstoreError: A hook cannot be written, or where this program lies, or what HEAD names, cannot be found out.
    """
    place = _repository(path)
    if pre_commit and place.work_tree is None:
        raise UsageError(f"{place.root}: nobody commits in a bare registry; --pre-receive checks what is pushed to it")
    if not pre_commit and not pre_receive:
        pre_commit, pre_receive = place.work_tree is not None, place.work_tree is None
    hooks = Hooks(place)
    program = _program()
    put = []
    for name in (*_COMMIT_HOOKS * pre_commit, *_PUSH_HOOKS * pre_receive):
        script = files("kstore").joinpath("hooks", name).read_text()
        # The script looks for this very program first, and on PATH when that is gone.
        put.append(hooks.put(name, script.replace("'kstore'", shlex.quote(program), 1).encode()))
    hooks.configure(f"{_DRIVER}.textconv", f"{shlex.quote(program)} textconv")
    hooks.configure(f"{_DRIVER}.cachetextconv", "true")
    head = head_of(place)
    return Installed(
        tuple(path for path, _ in put),
        tuple(kept for _, kept in put if kept is not None),
        head.branch if pre_receive and head.commit is None else None,
    )


def uninstall(path: Path | None) -> list[Path]:
    """Take all hooks away that `install` put in place, and the driver; what was there before is put back.

    Returns:
        The hooks that are gone.

    Raises:
        NoRegistryError: There is no repository.
        KstoreError: One cannot be removed.
    """
    hooks = Hooks(_repository(path))
    gone = [path for name in (*_COMMIT_HOOKS, *_PUSH_HOOKS) if (path := hooks.remove(name)) is not None]
    hooks.forget(_DRIVER)
    return gone


def _repository(path: Path | None) -> Place:
    found = [place_at(path.absolute())] if path is not None else places_upwards(Path.cwd())
    if not found or found[0] is None:
        raise NoRegistryError(f"{path or Path.cwd()}: there is no git repository here")
    return found[0]


def _program() -> str:
    """Find the `kstore` program that belongs to the Python that runs this: in a virtual environment, or pipx's."""
    folders = [Path(sys.executable).parent, Path(sysconfig.get_path("scripts"))]
    for candidate in [folder / "kstore" for folder in folders] + [Path(sys.argv[0]).absolute()]:
        if candidate.name == "kstore" and shutil.which(candidate) is not None:
            return str(candidate)
    found = shutil.which("kstore")
    if found is None:
        raise KstoreError("there is no program `kstore` that a hook could run; install kstore (pip or pipx)")
    return found
