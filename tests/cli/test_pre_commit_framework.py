"""The hook works with the real pre-commit framework, from `.pre-commit-hooks.yaml`."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hooked import commit, edit, install, remove, stage_all, write
from tests.markdown import REPO
from tests.registries import ENVIRONMENT, RUN, Ran, environment, git, kstore, save

if importlib.util.find_spec("pre_commit") is None:
    pytest.skip("the pre-commit package is not installed", allow_module_level=True)

_PACKAGED = ("kstore", "hooks", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml", "constraints.txt")


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as a repository with a version, which the framework can clone."""
    top = tmp_path_factory.mktemp("published")
    for name in _PACKAGED:
        source = REPO / name
        if source.is_dir():
            shutil.copytree(source, top / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, top / name)
    git(top, "init", "-q")
    git(top, "add", "--all", "--force")
    git(top, "commit", "-q", "-m", "Publish")
    git(top, "tag", "v1")
    return top


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The `pre-commit` program, which keeps what it makes in a folder of its own, and finds this kstore on PATH."""
    monkeypatch.setenv("PRE_COMMIT_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    return Path(sys.executable).parent / "pre-commit"


def configure(registry: Path, published: Path, options: str) -> None:
    config = f"repos:\n- repo: {published}\n  rev: v1\n  hooks:\n  - id: kstore-verify\n{options}"
    write(registry / ".pre-commit-config.yaml", config.encode())
    git(registry, "add", ".pre-commit-config.yaml")
    commit(registry).ok()


def run(framework: Path, registry: Path, *arguments: str) -> Ran:
    done = subprocess.run([framework, *arguments], cwd=registry, capture_output=True, check=False, timeout=600)
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def spoil_in_turn(registry: Path, tmp_path: Path) -> None:
    """Try commits that must be refused, and one that must not."""
    edit(registry, RUN, lambda data: data + b"\n")
    assert "object-changed" in commit(registry, "-a").err
    git(registry, "checkout", "--", ".")
    remove(registry, ENVIRONMENT)
    assert "object-removed" in commit(registry, "-a").err, "the framework names no file that goes"
    git(registry, "reset", "-q", "--hard")
    edit(registry, RUN, lambda data: data + b"\n")
    assert "object-changed" in commit(registry, "--", "store").err, "the framework hands git's index on"
    git(registry, "checkout", "--", ".")
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=registry).ok()
    commit(registry).ok()


def test_with_the_program_that_is_installed(framework: Path, published: Path, registry: Path, tmp_path: Path) -> None:
    configure(registry, published, "    language: system\n")
    assert run(framework, registry, "install").code == 0
    spoil_in_turn(registry, tmp_path)


def test_with_a_program_that_the_framework_installs(
    framework: Path, published: Path, registry: Path, tmp_path: Path
) -> None:
    configure(registry, published, "")
    made = run(framework, registry, "install", "--install-hooks")
    if made.code and any(word in made.text for word in ("No matching distribution", "Could not find", "NewConnection")):
        pytest.skip("no package index can be reached")
    assert made.code == 0, made.text
    (program,) = (tmp_path / "cache").glob("repo*/py_env*/bin/kstore")
    assert program.exists()
    (script,) = (tmp_path / "cache").glob("repo*/py_env*/lib/*/site-packages/kstore/hooks/pre-commit")
    assert script.read_bytes() == (REPO / "hooks" / "pre-commit").read_bytes()
    spoil_in_turn(registry, tmp_path)


@pytest.mark.parametrize("kstore_first", [True, False])
def test_beside_the_hook_of_kstore(
    kstore_first: bool, framework: Path, published: Path, registry: Path, tmp_path: Path
) -> None:
    configure(registry, published, "    language: system\n    entry: sh -c 'echo the framework; exit 1'\n")
    if kstore_first:
        install(registry)
    run(framework, registry, "install")
    install(registry)
    edit(registry, RUN, lambda data: data + b"\n")
    stage_all(registry)
    ran = commit(registry)
    assert ran.code == 1
    assert "the framework" in ran.err
    write(registry / ".pre-commit-config.yaml", b"repos: []\n")
    stage_all(registry)
    assert "object-changed" in commit(registry).err
    assert commit(registry).err.count("object-changed") == 1
    kstore("hook", "uninstall", cwd=registry).ok()
    commit(registry).ok()
