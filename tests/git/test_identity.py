"""Who makes a commit, and when, is what git itself would say; nobody is made up."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.registries import environment, git, kstore, save, snapshot

if TYPE_CHECKING:
    from pathlib import Path

NAMES = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL")


def who(registry: Path) -> str:
    """Give what the last commit says of itself."""
    return git(registry, "log", "-1", "--format=%an|%ae|%ad|%cn|%ce|%cd", "--date=raw")


def test_names_and_dates_from_the_environment(registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.setenv(name, f" {name.lower()} <>\n.")
    monkeypatch.setenv("GIT_AUTHOR_DATE", "1700000000 +0530")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "@1700000001 -0930")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    assert who(registry) == (
        "git_author_name|git_author_email|1700000000 +0530|git_committer_name|git_committer_email|1700000001 -0930"
    )
    assert git(registry, "fsck", "--strict") == ""


@pytest.mark.parametrize(
    "date",
    [
        "1700000000 +0000",
        "1700000000 +0530",
        "2026-03-03T23:02:50Z",
        "2026-03-03T23:02:50+01:00",
        "2026-03-03T23:02:50",
        "2026-03-03 23:02:50",
        "2026-03-03 23:02:50 +0100",
        "Tue, 3 Mar 2026 23:02:50 +0100",
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/St_Johns"])
def test_dates_are_read_as_git_reads_them(
    date: str, zone: str, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        monkeypatch.setenv("GIT_AUTHOR_DATE", date)
        monkeypatch.setenv("GIT_COMMITTER_DATE", date)
        kstore("add", save(tmp_path, environment()), cwd=registry).ok()
        ours = who(registry)
        git(registry, "commit", "-q", "--allow-empty", "-m", "By git")
        assert who(registry) == ours
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()


def test_a_date_that_is_none_is_refused(registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "soon")
    file, before = save(tmp_path, environment()), snapshot(registry)
    ran = kstore("add", file, cwd=registry)
    assert ran.code == 1
    assert "GIT_COMMITTER_DATE" in ran.err
    assert snapshot(registry) == before


def test_names_from_the_configuration_as_git_takes_them(registry: Path, tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    git(registry, "config", "author.name", "Än Author")
    git(registry, "config", "author.email", "author@example.org")
    git(registry, "config", "user.name", "A User")
    kstore("add", file, cwd=registry).ok()
    ours = who(registry).split("|")
    assert [ours[place] for place in (0, 1, 3, 4)] == [
        "Än Author",
        "author@example.org",
        "A User",
        "person@example.org",
    ]
    git(registry, "commit", "-q", "--allow-empty", "-m", "By git")
    theirs = who(registry).split("|")
    assert [theirs[place] for place in (0, 1, 3, 4)] == [ours[place] for place in (0, 1, 3, 4)]


@pytest.fixture
def nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A configuration that names nobody."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize(
    ("have", "missing"),
    [
        ({}, "no name and email address for the author"),
        ({"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b"}, "no name and email address for the committer"),
        ({"EMAIL": "a@b"}, "no name for the author"),
        ({"GIT_AUTHOR_NAME": "A"}, "no email address for the author"),
        ({"GIT_AUTHOR_NAME": " <> ", "EMAIL": "a@b"}, "no name for the author"),
    ],
)
def test_nobody_is_made_up(
    have: dict[str, str], missing: str, registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in have.items():
        monkeypatch.setenv(name, value)
    file, before = save(tmp_path, environment()), snapshot(registry)
    ran = kstore("add", file, cwd=registry)
    assert ran.code == 1
    assert missing in ran.err
    assert "git config --global user.name" in ran.err
    assert "git config --global user.email" in ran.err
    assert snapshot(registry) == before


@pytest.mark.usefixtures("nobody")
@pytest.mark.parametrize("bare", [[], ["--bare"]], ids=["tree", "bare"])
@pytest.mark.parametrize("exists", [False, True], ids=["new folder", "folder"])
def test_init_without_a_name_leaves_nothing_behind(exists: bool, bare: list[str], tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    if exists:
        (top / "new").mkdir()
    before = snapshot(top)
    ran = kstore("init", *bare, top / "new")
    assert ran.code == 1
    assert "git config" in ran.err
    assert snapshot(top) == before


@pytest.mark.usefixtures("nobody")
def test_init_in_a_repository_without_a_name_changes_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", ".")
    before = snapshot(tmp_path)
    ran = kstore("init", tmp_path)
    assert ran.code == 1
    after = {path: what for path, what in snapshot(tmp_path).items() if "/.git/kstore" not in path}
    assert after == before


@pytest.mark.usefixtures("nobody")
def test_who_only_reads_needs_no_name(registry: Path) -> None:
    for command in (["list"], ["verify"], ["verify", "--rev", "HEAD"], ["add", "--dry-run", "-"]):
        document = kstore("resolve", "liger-tvd", cwd=registry).out
        kstore(*command, cwd=registry, stdin=document).ok()
