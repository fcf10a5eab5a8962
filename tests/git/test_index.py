"""The index is in step after every write, with the `git` program and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registries import ALL, assert_healthy, environment, git, kstore, left_over, process, save, snapshot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def without_git(tmp_path: Path) -> dict[str, str]:
    """Variables for a process that finds no `git`."""
    nothing = tmp_path / "no-programs"
    nothing.mkdir()
    return {"PATH": str(nothing)}


def test_everything_works_without_git(without_git: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "registry"
    process("init", path, env=without_git).ok()
    assert git(path, "status", "--porcelain") == ""
    process("--registry", path, "add", *ALL, env=without_git).ok()
    assert_healthy(path)
    assert left_over(path) == []


def test_staging_without_git(registry: Path, without_git: dict[str, str], tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    process("add", "--no-commit", file, cwd=registry, env=without_git).ok()
    assert [line[:9] for line in git(registry, "status", "--porcelain").splitlines()] == ["A  store/"] * 2
    git(registry, "commit", "-q", "-m", "By hand")
    assert_healthy(registry)


def test_what_the_user_staged_stays_staged_without_git(
    registry: Path, without_git: dict[str, str], tmp_path: Path
) -> None:
    (registry / "staged").write_text("staged")
    git(registry, "add", "staged")
    process("add", save(tmp_path, environment()), cwd=registry, env=without_git).ok()
    assert git(registry, "status", "--porcelain") == "A  staged"


def test_an_index_that_is_locked_is_waited_for_without_git(
    registry: Path, without_git: dict[str, str], tmp_path: Path
) -> None:
    file = save(tmp_path, environment())
    (registry / ".git" / "index.lock").touch()
    ran = process("add", "--wait", "0.1", file, cwd=registry, env=without_git)
    assert ran.code == 11
    assert "index.lock" in ran.err
    (registry / ".git" / "index.lock").unlink()
    assert git(registry, "status", "--porcelain") == ""


def test_a_damaged_index_stops_the_write(registry: Path, tmp_path: Path) -> None:
    (registry / ".git" / "index").write_bytes(b"damaged")
    file = save(tmp_path, environment())
    before = {path: what for path, what in snapshot(registry).items() if "/.git/objects" not in path}
    ran = kstore("add", file, cwd=registry)
    assert ran.code == 1
    assert "index" in ran.err
    assert {path: what for path, what in snapshot(registry).items() if "/.git/objects" not in path} == before


def test_variables_of_a_hook_do_not_lead_elsewhere(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(tmp_path, "init", "-q", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(tmp_path / "other"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "other-index"))
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    monkeypatch.undo()
    assert_healthy(registry)
    assert not (tmp_path / "other-index").exists()
