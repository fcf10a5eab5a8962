"""Revisions lead to the commits that git finds for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.errors import KstoreError
from kstore.git.place import place_at
from kstore.git.repository import Repository
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path

NAMED = ["HEAD", "@", "main", "side", "v1", "light", "refs/heads/main", "refs/tags/v1", "heads/side"]
STEPS = ["", "~", "~1", "~2", "~0", "^", "^0", "^1", "^2", "^2~1", "~1^1", "^^", "~~", "^2^0~1"]


@pytest.fixture(scope="module")
def merged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose last commit is a merge of two branches of three commits."""
    path = tmp_path_factory.mktemp("merged")
    git(path, "init", "-q", "-b", "main", ".")
    for branch in ("main", "side"):
        for number in range(3):
            git(path, "commit", "-q", "--allow-empty", "-m", f"{branch} {number}")
        if branch == "main":
            git(path, "switch", "-q", "-c", "side", "HEAD~1")
    git(path, "switch", "-q", "main")
    git(path, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    git(path, "tag", "-a", "-m", "Version 1", "v1")
    git(path, "tag", "light", "side")
    return path


def found(path: Path, revision: str) -> str:
    """Give what kstore finds."""
    place = place_at(path)
    assert place is not None
    with Repository(place) as repository:
        return repository.resolve(revision).decode()


@pytest.mark.parametrize("steps", STEPS)
def test_a_name_and_steps_from_it(steps: str, merged: Path) -> None:
    for name in NAMED:
        expected = git(merged, "rev-parse", "-q", "--verify", f"{name}{steps}^{{commit}}", check=False)
        if expected:
            assert found(merged, f"{name}{steps}") == expected
        else:
            with pytest.raises(KstoreError, match="no commit is called"):
                found(merged, f"{name}{steps}")


def test_ids_and_their_starts(merged: Path) -> None:
    for commit in git(merged, "rev-list", "--all").split():
        assert found(merged, commit) == commit
        assert found(merged, commit[:10]) == commit
        assert found(merged, commit[:10] + "^0") == commit


@pytest.mark.parametrize(
    "revision",
    ["", "~1", "^", "nowhere", "HEAD^3", "HEAD~99", "HEAD~999999999", "0" * 40, "HEAD:store", "a..b", "\udcff"],
)
def test_what_is_no_commit(revision: str, merged: Path) -> None:
    with pytest.raises(KstoreError, match="no commit is called"):
        found(merged, revision)


def test_a_tree_is_no_commit(merged: Path) -> None:
    with pytest.raises(KstoreError, match="no commit is called"):
        found(merged, git(merged, "rev-parse", "HEAD^{tree}"))
