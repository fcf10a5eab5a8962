"""A working tree and git's index are brought in step with a commit together, or stay as they were."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from kstore.git.checkout import checked_out_files, checked_out_tree
from kstore.git.index import Index
from kstore.git.lock import writer_lock
from kstore.git.place import place_at
from kstore.git.repository import Repository
from tests.registries import git

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEW = {"a/new": b"new", "one": b"changed"}


class Stopped(Exception):  # noqa: N818  (no error)
    """Somebody stops in the middle."""


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Repository]:
    git(tmp_path, "init", "-q")
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "-q", "-m", "First")
    place = place_at(tmp_path)
    assert place is not None
    with Repository(place) as opened:
        yield opened


@pytest.fixture
def index(repository: Repository) -> Iterator[Index]:
    place = repository.place
    with writer_lock(place.common_dir, 1) as lock, Index(repository._repo, place, 1, lock) as held:
        yield held


def state(repository: Repository) -> tuple[str, dict[str, bytes]]:
    top = repository.place.root
    files = [path for path in top.rglob("*") if path.is_file() and ".git" not in path.parts]
    staged = git(top, "ls-files", "--stage")
    return staged, {path.relative_to(top).as_posix(): path.read_bytes() for path in files}


def test_files_are_there_and_staged(repository: Repository, index: Index) -> None:
    ready = []
    before = state(repository)
    files = repository.files(repository.head())
    with checked_out_files(repository.place, index, NEW, files, lambda: ready.append(state(repository))):
        pass
    assert ready == [before]
    assert state(repository)[1] == {"a/new": b"new", "one": b"changed", "two": b"two"}
    assert git(repository.place.root, "diff") == ""
    assert git(repository.place.root, "diff", "--cached", "--name-only").split() == ["a/new", "one"]


def test_files_are_as_they_were_when_the_block_fails(repository: Repository, index: Index) -> None:
    before = state(repository)
    files = repository.files(repository.head())
    with contextlib.suppress(Stopped), checked_out_files(repository.place, index, NEW, files, lambda: None):
        assert state(repository) != before
        raise Stopped
    assert state(repository) == before


def other_commit(repository: Repository) -> bytes:
    """Make a commit that is not checked out, and give its id."""
    top = repository.place.root
    (top / "two").unlink()
    (top / "three").write_text("three")
    git(top, "add", "--all")
    git(top, "commit", "-q", "-m", "Second")
    commit = git(top, "rev-parse", "HEAD").encode()
    git(top, "reset", "-q", "--hard", "HEAD~")
    return commit


def test_a_tree_takes_the_place_of_another(repository: Repository) -> None:
    after = other_commit(repository)
    before, was = repository.head(), state(repository)
    place = repository.place
    with writer_lock(place.common_dir, 1) as lock, Index(repository._repo, place, 1, lock) as index:
        with contextlib.suppress(Stopped), checked_out_tree(index, before, after):
            assert state(repository)[1] == {"one": b"one", "three": b"three"}
            raise Stopped
        assert state(repository) == was
        with checked_out_tree(index, before, after):
            pass
    assert state(repository)[1] == {"one": b"one", "three": b"three"}
    assert git(place.root, "diff", after.decode()) == ""
