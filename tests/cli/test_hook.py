"""Installing hooks: where git looks for them, beside hooks that are there already, and what happens without kstore."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.hooked import commit, edit, install, stage_all, write
from tests.markdown import REPO
from tests.registries import RUN, environment, git, kstore, process, save

if TYPE_CHECKING:
    from collections.abc import Callable

COMMIT_HOOKS = ("pre-commit", "pre-merge-commit")
WITH_KSTORE = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
OTHER = b'#!/bin/sh\necho "the other hook"\n[ ! -e forbidden ]\n'


def spoil(registry: Path) -> None:
    edit(registry, RUN, lambda data: data + b"\n")
    stage_all(registry)


def other_hook(registry: Path, name: str = "pre-commit") -> Path:
    path = write(registry / ".git" / "hooks" / name, OTHER)
    path.chmod(0o755)
    return path


def test_installing(registry: Path) -> None:
    ran = install(registry)
    hooks = [registry / ".git" / "hooks" / name for name in COMMIT_HOOKS]
    assert ran.err == "".join(f"note: {path} is installed\n" for path in hooks)
    spoil(registry)
    assert "object-changed" in commit(registry).err


def test_installing_again_changes_nothing(registry: Path) -> None:
    other_hook(registry)
    install(registry)
    before = {path: path.read_bytes() for path in (registry / ".git" / "hooks").iterdir()}
    install(registry)
    assert {path: path.read_bytes() for path in (registry / ".git" / "hooks").iterdir()} == before


def test_a_hook_that_was_there_runs_first(registry: Path, tmp_path: Path) -> None:
    path = other_hook(registry)
    ran = install(registry)
    assert f"note: {path}.before-kstore was there before and runs first\n" in ran.err
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=registry).ok()
    assert commit(registry).ok().err == "the other hook\n"
    (registry / "forbidden").touch()
    ran = commit(registry, "--allow-empty")
    assert (ran.code, ran.err) == (1, "the other hook\n")
    (registry / "forbidden").unlink()
    spoil(registry)
    assert commit(registry).err.startswith("the other hook\nerror: object-changed")


def test_a_hook_that_was_there_and_does_not_run(registry: Path) -> None:
    other_hook(registry).chmod(0o644)
    install(registry)
    assert commit(registry, "--allow-empty").ok().err == ""


def test_uninstalling_puts_back_what_was_there(registry: Path) -> None:
    path = other_hook(registry)
    config = (registry / ".git" / "config").read_bytes()
    install(registry)
    ran = kstore("hook", "uninstall", cwd=registry).ok()
    assert [line.split(" is ")[0] for line in ran.err.splitlines()] == [
        f"note: {registry / '.git' / 'hooks' / name}" for name in COMMIT_HOOKS
    ]
    assert path.read_bytes() == OTHER
    assert not [each for each in path.parent.iterdir() if "kstore" in each.name or each.name == "pre-merge-commit"]
    assert (registry / ".git" / "config").read_bytes() == config
    assert "no hook of kstore" in kstore("hook", "uninstall", cwd=registry).ok().err
    assert path.read_bytes() == OTHER


def test_a_hook_that_took_the_place_of_ours(registry: Path) -> None:
    other_hook(registry)
    install(registry)
    path = other_hook(registry)
    ran = kstore("hook", "install", cwd=registry)
    assert ran.code == 1
    assert f"{path}: another hook has taken the place" in ran.err
    assert path.read_bytes() == path.with_name("pre-commit.before-kstore").read_bytes() == OTHER
    assert not list(path.parent.glob("*.kstore-new"))


def test_hooks_in_another_folder(registry: Path, tmp_path: Path) -> None:
    folder = tmp_path / "all hooks"
    git(registry, "config", "core.hooksPath", str(folder))
    install(registry)
    assert sorted(path.name for path in folder.iterdir()) == sorted(COMMIT_HOOKS)
    assert not (registry / ".git" / "hooks" / "pre-commit").exists()
    spoil(registry)
    assert "object-changed" in commit(registry).err


def test_hooks_in_a_folder_beside_the_files(registry: Path) -> None:
    git(registry, "config", "core.hooksPath", ".githooks")
    install(registry / "store")
    assert (registry / ".githooks" / "pre-commit").exists()
    spoil(registry)
    assert "object-changed" in commit(registry / "store").err


def test_a_linked_worktree_has_the_hooks_of_all(registry: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(registry, "worktree", "add", "-q", "-b", "linked", str(linked))
    install(linked)
    for tree in (registry, linked):
        spoil(tree)
        assert "object-changed" in commit(tree).err


def test_from_a_program_with_hardly_any_environment(registry: Path, tmp_path: Path) -> None:
    there = tmp_path / "with a space" / "it's here"
    there.parent.mkdir()
    shutil.copytree(registry, there)
    install(there)
    spoil(there)
    poor = {"PATH": os.defpath.lstrip(":"), "HOME": str(tmp_path)}
    assert shutil.which("git", path=poor["PATH"]) is not None
    ran = process_git(there, poor)
    assert ran[0] == 1
    assert "object-changed" in ran[1]


def process_git(folder: Path, env: dict[str, str]) -> tuple[int, str]:
    who = {f"GIT_{who}_{what}": "x" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["git", "commit", "-q", "-m", "Change"]
    done = subprocess.run(command, cwd=folder, env={**env, **who}, capture_output=True, check=False, text=True)
    return done.returncode, done.stderr


@pytest.fixture
def apart(tmp_path: Path) -> Path:
    """A virtual environment of its own, which has kstore as pip and pipx would put it there, and nothing on PATH."""
    folder = tmp_path / "a venv"
    venv.create(folder, symlinks=True)
    (site,) = folder.glob("lib/*/site-packages")
    (site / "kstore.pth").write_text("\n".join([str(REPO), *(path for path in sys.path if "site-packages" in path)]))
    script = folder / "bin" / "kstore"
    # A line `#!PATH` cannot hold a space; pip writes the same two lines in its place.
    start = f"#!/bin/sh\n'''exec' '{folder}/bin/python' \"$0\" \"$@\"\n' '''\n"
    script.write_text(f"{start}from kstore.__main__ import main\nmain()\n")
    script.chmod(0o755)
    return folder


def install_from(apart: Path, registry: Path) -> None:
    done = run_program(apart / "bin" / "kstore", "hook", "install", cwd=registry)
    assert done == 0


def run_program(*command: str | Path, cwd: Path) -> int:
    return subprocess.run(command, cwd=cwd, check=False, env={**os.environ, "PATH": os.defpath}).returncode


def test_from_a_virtual_environment(apart: Path, registry: Path) -> None:
    install_from(apart, registry)
    assert str(apart) in (registry / ".git" / "hooks" / "pre-commit").read_text()
    spoil(registry)
    ran = commit(registry, env={"PATH": os.defpath})
    assert ran.code == 1
    assert "object-changed" in ran.err


@pytest.mark.parametrize(
    "lose",
    [shutil.rmtree, lambda apart: (apart / "bin" / "kstore").unlink(), lambda apart: shutil.rmtree(apart / "lib")],
    ids=["the environment", "the program", "the package"],
)
def test_when_kstore_is_gone(lose: Callable[[Path], object], apart: Path, registry: Path, tmp_path: Path) -> None:
    install_from(apart, registry)
    lose(apart)
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=registry).ok()
    ran = commit(registry, env={"PATH": os.defpath})
    assert ran.code == 1
    assert "kstore is gone" in ran.err
    assert "`kstore hook install`" in ran.err
    # Another one on PATH does.
    commit(registry, env={"PATH": WITH_KSTORE}).ok()


def test_a_push_when_kstore_is_gone(apart: Path, registry: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(registry), str(bare))
    install_from(apart, bare)
    shutil.rmtree(apart / "lib")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    environ = {**os.environ, "PATH": os.defpath}
    push = ["git", "push", "-q", str(bare), "HEAD:main"]
    done = subprocess.run(push, cwd=registry, env=environ, capture_output=True, check=False, text=True)
    assert done.returncode != 0
    assert "kstore is gone: nobody checked this push, so it is refused" in done.stderr
    done = subprocess.run(
        push, cwd=registry, env={**environ, "PATH": WITH_KSTORE}, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0


def test_a_commit_of_other_files_does_not_need_kstore(apart: Path, registry: Path) -> None:
    install_from(apart, registry)
    shutil.rmtree(apart)
    (registry / "README").write_text("x")
    stage_all(registry)
    commit(registry, env={"PATH": os.defpath}).ok()


def test_what_can_be_installed_where(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(registry), "bare.git")
    bare = tmp_path / "bare.git"
    ran = kstore("--registry", bare, "hook", "install", "--pre-commit")
    assert ran.code == 2
    assert "--pre-receive" in ran.err
    assert kstore("--registry", bare, "hook", "install").ok().err == f"note: {bare}/hooks/pre-receive is installed\n"
    kstore("--registry", registry, "hook", "install", "--pre-receive", "--quiet").ok()
    assert not (registry / ".git" / "hooks" / "pre-commit").exists()
    assert kstore("hook", "install", cwd=tmp_path).code == 10
    assert kstore("--registry", tmp_path, "hook", "install").code == 10


def test_the_scripts_come_with_the_package() -> None:
    import kstore as package

    assert package.__file__ is not None
    for path in (REPO / "hooks").iterdir():
        installed = Path(package.__file__).parent / "hooks" / path.name
        assert installed.read_bytes() == path.read_bytes()
        assert os.access(path, os.X_OK)


def test_a_hook_copied_by_hand_works(registry: Path) -> None:
    shutil.copy(REPO / "hooks" / "pre-commit", registry / ".git" / "hooks" / "pre-commit")
    spoil(registry)
    assert "object-changed" in commit(registry, env={"PATH": WITH_KSTORE}).err


def test_without_git(registry: Path, tmp_path: Path) -> None:
    ran = process("hook", "install", cwd=registry, env={"PATH": str(tmp_path)})
    assert ran.code == 1
    assert "needs the `git` program" in ran.err


def test_help_lists_what_there_is() -> None:
    ran = kstore("hook", "--help").ok()
    assert "install" in ran.text
    assert "uninstall" in ran.text
    assert "receive" not in kstore("--help").ok().text
