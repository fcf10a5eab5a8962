"""Finding the repository: which folders hold its history and its files, without opening it.

dulwich is not imported here: a command that only reads files from a working tree never pays for it.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import msgspec

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from pathlib import Path


class Place(msgspec.Struct, frozen=True):
    """Where a git repository lies.

    Attributes:
        git_dir: The repository's own folder (`.git`, or of a linked working tree, its folder below `.git/worktrees`).
        common_dir: The folder that all working trees of the repository share.
        work_tree: The top of the working tree, or None in a bare repository.
    """

    git_dir: Path
    common_dir: Path
    work_tree: Path | None

    @property
    def root(self) -> Path:
        """The folder by which a person names this repository."""
        return self.git_dir if self.work_tree is None else self.work_tree


_SHA256 = re.compile(rb"^\s*objectformat\s*=\s*\"?sha256", re.IGNORECASE | re.MULTILINE)


def refuse_sha256(place: Place) -> None:
    """Refuse a repository whose objects git names by SHA-256 (extensions.objectFormat in git-config(1)).

    Raises:
        KstoreError: It is one.
    """
    try:
        config = (place.common_dir / "config").read_bytes()
    except OSError:
        return
    if _SHA256.search(config):
        raise KstoreError(
            f"{place.root}: this is a SHA-256 git repository, which most hosts and tools cannot read; a registry "
            "needs git's default object format (git init --object-format=sha1)"
        )


def place_at(folder: Path) -> Place | None:
    """Find the repository whose top is this very folder, or None when it is the top of none."""
    dot_git = folder / ".git"
    if dot_git.is_file():
        git_dir = _follow(dot_git)
        return Place(git_dir, _common(git_dir), folder)
    if (dot_git / "objects").is_dir():
        return Place(dot_git, _common(dot_git), folder)
    if all((folder / name).is_dir() for name in ("objects", "refs")) and os.path.lexists(folder / "HEAD"):
        return Place(folder, folder, None)
    return None


def place_named(git_dir: Path, work_tree: Path | None) -> Place:
    """Give the repository whose own folder is known, as the variable GIT_DIR names it."""
    git_dir = git_dir.absolute()
    return Place(git_dir, _common(git_dir), work_tree)


def places_upwards(start: Path) -> list[Place]:
    """Find every repository around a folder, the nearest first."""
    start = start.absolute()
    return [place for folder in (start, *start.parents) if (place := place_at(folder)) is not None]


def _follow(dot_git: Path) -> Path:
    """Follow the file that stands for `.git` in a linked working tree (gitrepository-layout(5))."""
    text = dot_git.read_bytes()[:4096]
    if not text.startswith(b"gitdir: "):
        raise KstoreError(f"{dot_git}: expected `gitdir: PATH`, as git writes into the .git file of a working tree")
    return dot_git.parent / os.fsdecode(text[len(b"gitdir: ") :].rstrip(b"\r\n"))


def _common(git_dir: Path) -> Path:
    try:
        text = (git_dir / "commondir").read_bytes()[:4096]
    except OSError:
        return git_dir
    return git_dir / os.fsdecode(text.rstrip(b"\r\n"))
