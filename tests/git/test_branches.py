"""HEAD is followed as git follows it, and a HEAD that leads nowhere is told from one that leads nowhere yet."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.errors import KstoreError
from kstore.git.branches import Head, branches, head_of, lost_head
from kstore.git.place import place_at
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.git.place import Place


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    path = tmp_path / "repository"
    git(tmp_path, "init", "-q", "-b", "main", str(path))
    git(path, "commit", "-q", "--allow-empty", "-m", "First")
    git(path, "branch", "topic/one")
    return path


def place(folder: Path) -> Place:
    found = place_at(folder)
    assert found is not None
    return found


def git_says(folder: Path) -> Head:
    return Head(
        git(folder, "symbolic-ref", "-q", "HEAD", check=False) or None,
        git(folder, "rev-parse", "-q", "--verify", "HEAD", check=False).encode() or None,
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    "commands",
    [
        [],
        [["checkout", "-q", "topic/one"]],
        [["checkout", "-q", "--detach"]],
        [["commit", "-q", "--allow-empty", "-m", "Second"]],
        [["symbolic-ref", "HEAD", "refs/heads/none"]],
        [["symbolic-ref", "refs/heads/alias", "refs/heads/topic/one"], ["symbolic-ref", "HEAD", "refs/heads/alias"]],
        [["update-ref", "-d", "HEAD"]],
    ],
    ids=["main", "topic", "detached", "ahead", "unborn", "alias", "deleted"],
)
def test_it_is_followed_as_git_does(commands: list[list[str]], packed: bool, repository: Path) -> None:
    if packed:
        git(repository, "pack-refs", "--all")
    for command in commands:
        git(repository, *command)
    found, said = head_of(place(repository)), git_says(repository)
    assert found.commit == said.commit
    # Of a branch that stands for another one git tells the first name, and commits go to the second.
    assert found.branch == ("refs/heads/topic/one" if said.branch == "refs/heads/alias" else said.branch)
    listed = set(git(repository, "for-each-ref", "--format=%(refname)", "refs/heads").splitlines())
    assert set(branches(place(repository))) == listed - {"refs/heads/alias"}


def test_a_linked_working_tree_has_a_head_of_its_own(repository: Path, tmp_path: Path) -> None:
    git(repository, "worktree", "add", "-q", str(tmp_path / "linked"), "topic/one")
    assert head_of(place(tmp_path / "linked")) == git_says(tmp_path / "linked")
    assert head_of(place(repository)).branch == "refs/heads/main"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nothing",
        "ref: ",
        "ref: refs/heads/",
        "ref: refs/heads",
        "ref: ../config",
        "ref: refs/../config",
        "ref: HEAD",
    ],
)
def test_what_is_no_head_is_an_error(text: str, repository: Path) -> None:
    (repository / ".git/HEAD").write_text(text)
    with pytest.raises(KstoreError, match=r"HEAD|refs/heads"):
        head_of(place(repository))


def test_branches_that_name_one_another_have_an_end(repository: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (repository / ".git/refs/heads" / one).write_text(f"ref: refs/heads/{other}\n")
    (repository / ".git/HEAD").write_text("ref: refs/heads/a\n")
    with pytest.raises(KstoreError, match="name one another"):
        head_of(place(repository))


def lost(folder: Path) -> str | None:
    return lost_head(place(folder), head_of(place(folder)))


def test_before_the_first_commit_nothing_is_lost(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    assert lost(tmp_path) is None


def test_where_it_leads_to_a_commit_nothing_is_lost(repository: Path) -> None:
    assert lost(repository) is None
    git(repository, "checkout", "-q", "--detach")
    assert lost(repository) is None


def test_other_branches_say_that_it_is_lost(repository: Path) -> None:
    git(repository, "symbolic-ref", "HEAD", "refs/heads/mbin")
    for number in range(9):
        git(repository, "branch", f"x{number}", "main")
    said = lost(repository)
    assert said is not None
    assert "refs/heads/mbin" in said
    assert "refs/heads/main" in said
    assert "and 6 more" in said


def test_the_log_of_a_branch_says_that_it_is_lost(repository: Path) -> None:
    git(repository, "branch", "-D", "topic/one")
    commit = git(repository, "rev-parse", "HEAD")
    (repository / ".git/refs/heads/main").unlink()
    said = lost(repository)
    assert said is not None
    log = said.split("`")[1]
    assert log == f"tail -n 1 '{repository}/.git/logs/refs/heads/main'"
    assert commit in (repository / ".git/logs/refs/heads/main").read_text().splitlines()[-1].split()[1]
