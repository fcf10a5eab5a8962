"""Finding a registry, making one, and reading nothing that is not what it says."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.registries import (
    PROTOCOL,
    RUN,
    TVD,
    assert_healthy,
    commits,
    environment,
    git,
    kstore,
    left_over,
    object_path,
    process,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path


def test_the_nearest_registry_upwards_is_used(registry: Path, empty: Path) -> None:
    inner = registry / "some" / "where"
    inner.mkdir(parents=True)
    assert len(kstore("list", "--jsonl", cwd=inner).ok().text.splitlines()) == 13
    shutil.move(empty, inner / "nearer")
    assert kstore("list", cwd=inner / "nearer" / "store").ok().text == ""
    git(inner, "init", "-q", "plain")
    assert len(kstore("list", "--jsonl", cwd=inner / "plain").ok().text.splitlines()) == 13


def test_option_comes_before_variable_comes_before_folder(
    registry: Path, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kstore("init", tmp_path / "third").ok()
    kstore("--registry", tmp_path / "third", "add", save(tmp_path, environment())).ok()
    assert len(kstore("list", "--json", cwd=registry).json()) == 13
    monkeypatch.setenv("KSTORE_REGISTRY", str(empty))
    assert kstore("list", "--json", cwd=registry).json() == []
    assert len(kstore("--registry", tmp_path / "third", "list", "--json", cwd=registry).json()) == 1
    assert len(kstore("--registry", "third", "list", "--json", cwd=tmp_path).json()) == 1


def test_no_registry_is_its_own_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q", "plain")
    for arguments, where in (
        (["list"], tmp_path),
        (["list"], tmp_path / "plain"),
        (["--registry", tmp_path / "plain", "list"], tmp_path),
        (["--registry", tmp_path, "list"], tmp_path),
        (["--registry", "nowhere", "list"], tmp_path),
        (["--registry", "/dev/null", "list"], tmp_path),
        (["--registry", tmp_path / "plain", "add", TVD], tmp_path),
    ):
        ran = kstore(*arguments, cwd=where)
        assert (ran.code, ran.out) == (10, b""), arguments
        assert "kstore init" in ran.err
    monkeypatch.setenv("KSTORE_REGISTRY", "nowhere")
    assert kstore("verify", cwd=tmp_path).code == 10


def test_a_current_folder_that_was_removed(tmp_path: Path) -> None:
    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    for command, code in ((["list"], 10), (["init", "x"], 1)):
        ran = process(*command, cwd=tmp_path, before=("sh", "-c", script, "sh"))
        assert ran.code == code
        assert ran.err.startswith("error: ")


def test_commands_on_files_need_no_registry(tmp_path: Path) -> None:
    assert kstore("digest", TVD, cwd=tmp_path).code == 0
    assert kstore("validate", TVD, cwd=tmp_path).code == 0
    assert kstore("schema", cwd=tmp_path).code == 0


@pytest.mark.parametrize("bare", [[], ["--bare"]], ids=["tree", "bare"])
def test_a_new_registry_has_what_the_format_says(bare: list[str], tmp_path: Path) -> None:
    path = tmp_path / "deep" / "registry"
    ran = kstore("init", *bare, "--fanout", "2", path).ok()
    assert ran.out == b""
    assert str(path) in ran.err
    assert git(path, "ls-tree", "-r", "--name-only", "HEAD").splitlines() == [".gitattributes", "store/kstore.json"]
    settings = git(path, "cat-file", "blob", "HEAD:store/kstore.json")
    assert settings == '{"fanout":2,"format":1,"requires":["environmentDigest","protocolDigest"]}'
    assert "store/** -text" in git(path, "cat-file", "blob", "HEAD:.gitattributes")
    assert git(path, "symbolic-ref", "HEAD") == "refs/heads/main"
    assert git(path, "config", "core.bare") == ("true" if bare else "false")
    assert_healthy(path)
    assert left_over(path) == []


@pytest.mark.parametrize("bare", [[], ["--bare"]], ids=["tree", "bare"])
def test_making_a_registry_again_changes_nothing(bare: list[str], tmp_path: Path) -> None:
    path = tmp_path / "registry"
    kstore("init", *bare, path).ok()
    before = snapshot(path)
    kstore("init", *bare, path).ok()
    kstore("init", path).ok()
    assert snapshot(path) == before
    assert kstore("init", "--fanout", "2", path).code == 1
    assert snapshot(path) == before


def test_bare_is_not_asked_of_a_repository_with_a_working_tree(registry: Path) -> None:
    before = snapshot(registry)
    ran = kstore("init", "--bare", registry)
    assert ran.code == 1
    assert "bare" in ran.err
    assert snapshot(registry) == before


def test_a_repository_with_a_history_becomes_a_registry_on_top_of_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", ".")
    (tmp_path / "file").write_text("mine")
    (tmp_path / ".gitattributes").write_text("*.png binary")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "First")
    (tmp_path / "file").write_text("changed")
    kstore("init", tmp_path).ok()
    assert commits(tmp_path) == 2
    assert git(tmp_path, "symbolic-ref", "--short", "HEAD") == "trunk"
    assert git(tmp_path, "status", "--porcelain") == "M file"
    attributes = (tmp_path / ".gitattributes").read_text().splitlines()
    assert attributes[0] == "*.png binary"
    assert attributes[1].startswith("/store/** -text")


def test_a_repository_without_commits_becomes_a_registry(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "some/branch", ".")
    kstore("init", tmp_path).ok()
    assert git(tmp_path, "symbolic-ref", "--short", "HEAD") == "some/branch"
    assert_healthy(tmp_path)


def test_line_ends_survive_whoever_translates_them(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "-c", "core.autocrlf=true", "clone", "-q", "-c", "core.autocrlf=true", str(registry), "clone")
    assert_healthy(tmp_path / "clone")


@pytest.mark.parametrize("target", ["folder/inner", "file"])
def test_where_no_folder_can_be(target: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").write_text("")
    before = snapshot(tmp_path)
    ran = kstore("init", tmp_path / target)
    assert ran.code == 1
    assert ran.err.startswith("error: ")
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("bare", [False, True])
def test_a_sha256_repository_is_refused_by_name(bare: bool, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", *["--bare"] * bare, "r")
    before = snapshot(tmp_path)
    ran = kstore("init", tmp_path / "r")
    assert ran.code == 1
    assert "SHA-256 git repository" in ran.err
    assert {path: what for path, what in snapshot(tmp_path).items() if "/kstore" not in path} == before


def test_a_registry_in_a_sha256_repository_is_refused_for_reading_too(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "r")
    shutil.copytree(registry / "store", tmp_path / "r" / "store")
    git(tmp_path / "r", "add", "store")
    git(tmp_path / "r", "commit", "-q", "-m", "x")
    for command in (["list"], ["show", RUN], ["verify"], ["verify", "--rev", "HEAD"], ["add", TVD]):
        ran = kstore(*command, cwd=tmp_path / "r")
        assert (ran.code, ran.out) == (1, b""), command
        assert "SHA-256 git repository" in ran.err


def test_a_damaged_git_file(registry: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(registry, "worktree", "add", "-q", str(linked))
    (linked / ".git").write_bytes(b"\xff nonsense")
    ran = kstore("list", cwd=linked)
    assert ran.code == 1
    assert "gitdir" in ran.err


@pytest.mark.parametrize(
    ("part", "command"),
    [
        ("objects", ["show", RUN]),
        ("objects", ["show", "--canonical", RUN]),
        ("objects", ["resolve", RUN]),
        ("objects", ["list"]),
        ("metadata", ["show", RUN]),
        ("metadata", ["resolve", RUN]),
    ],
)
@pytest.mark.parametrize("damage", [b"", b"{}", b"\n", b"x" * 1_048_577])
def test_a_damaged_record_is_not_shown(part: str, command: list[str], damage: bytes, registry: Path) -> None:
    path = object_path(registry, RUN, part)
    path.write_bytes(path.read_bytes() + damage if damage == b"\n" else damage)
    ran = kstore(*command, cwd=registry)
    assert ran.code == 1
    assert RUN.encode() not in ran.out
    assert RUN[7:] in ran.err
    assert ran.err.startswith("error: ")


def test_a_damaged_record_on_the_way_is_not_resolved(registry: Path) -> None:
    object_path(registry, PROTOCOL).write_bytes(b"{}")
    ran = kstore("resolve", RUN, cwd=registry)
    assert (ran.code, ran.out) == (1, b"")
    assert f"{PROTOCOL} is damaged" in ran.err


def test_a_record_without_metadata_is_damaged(registry: Path) -> None:
    object_path(registry, RUN, "metadata").unlink()
    ran = kstore("show", RUN, cwd=registry)
    assert ran.code == 1
    assert "no metadata" in ran.err


@pytest.mark.parametrize("link", ["store", "store/objects", f"store/objects/{RUN[7:9]}", "file"])
def test_a_link_leads_nowhere(link: str, registry: Path, tmp_path: Path) -> None:
    path = object_path(registry, RUN) if link == "file" else registry / link
    path.rename(tmp_path / "outside")
    path.symlink_to(tmp_path / "outside")
    before = snapshot(tmp_path / "outside")
    for command in (["show", RUN], ["resolve", RUN], ["list"]):
        ran = kstore(*command, cwd=registry)
        assert ran.code == 1, command
        assert RUN.encode() not in ran.out
        assert ran.err.startswith("error: ")
    assert kstore("add", save(tmp_path, environment()), cwd=registry).code == (
        1 if link in {"store", "store/objects"} else 0
    )
    assert snapshot(tmp_path / "outside") == before
    assert kstore("verify", cwd=registry).code == 1


def test_a_pipe_in_place_of_a_record_is_not_waited_for(registry: Path) -> None:
    path = object_path(registry, RUN)
    path.unlink()
    os.mkfifo(path)
    ran = kstore("show", RUN, cwd=registry)
    assert ran.code == 1
    assert "plain file" in ran.err
