"""Registries to test on, far from the machine's own git configuration."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.registries import ALL, kstore
from tests.scenarios import people

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# How long an example takes says something of the machine, nothing of the code; timing is for benchmarks/.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

SHAPES = [(bare, fanout) for bare in (False, True) for fanout in (1, 2)]


@pytest.fixture(scope="session", autouse=True)
def _own_git_configuration(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no configuration, identity or registry of this machine reach a test."""
    home = tmp_path_factory.mktemp("home")
    config = home / "gitconfig"
    config.write_text("[user]\n\tname = Test Person\n\temail = person@example.org\n[init]\n\tdefaultBranch = main\n")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("GIT_") or name in {"EMAIL", "KSTORE_REGISTRY"}]:
            patch.delenv(name)
        patch.setenv("HOME", str(home))
        patch.setenv("XDG_CONFIG_HOME", str(home))
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", str(config))
        yield


@pytest.fixture(scope="session")
def _templates(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool, int], Path]:
    """Make each shape of a registry with the reference records once."""
    made: dict[tuple[bool, int], Path] = {}

    def template(bare: bool, fanout: int) -> Path:
        if (bare, fanout) not in made:
            path = tmp_path_factory.mktemp("template") / "registry"
            kstore("init", path, "--fanout", str(fanout), *["--bare"] * bare).ok()
            kstore("--registry", path, "add", *ALL).ok()
            made[bare, fanout] = path
        return made[bare, fanout]

    return template


@pytest.fixture
def registry(_templates: Callable[[bool, int], Path], tmp_path: Path) -> Path:
    """A registry with a working tree that has the reference records."""
    return Path(shutil.copytree(_templates(False, 1), tmp_path / "registry", symlinks=True))


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{'bare' if shape[0] else 'tree'}-{shape[1]}")
def shaped(request: pytest.FixtureRequest, _templates: Callable[[bool, int], Path], tmp_path: Path) -> Path:
    """A registry of each shape that has the reference records."""
    return Path(shutil.copytree(_templates(*request.param), tmp_path / "shaped", symlinks=True))


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A registry with a working tree and no records."""
    path = tmp_path / "empty"
    kstore("init", path).ok()
    return path


@pytest.fixture(params=SHAPES, ids=lambda shape: f"{'bare' if shape[0] else 'tree'}-{shape[1]}")
def any_empty(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A registry of each shape without records."""
    bare, fanout = request.param
    path = tmp_path / "any"
    kstore("init", path, "--fanout", str(fanout), *["--bare"] * bare).ok()
    return path


@pytest.fixture(scope="session")
def _worlds(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Let each group of people make their registry once."""
    made: dict[tuple[str, ...], Path] = {}

    def world(*names: str) -> Path:
        if names not in made:
            made[names] = tmp_path_factory.mktemp("world")
            people.settle(made[names], *names)
        return made[names]

    return world


@pytest.fixture
def settle(_worlds: Callable[..., Path], tmp_path: Path) -> Callable[..., tuple[people.Person, ...]]:
    """Give people who share a registry, a maintainer and signers; see `tests.scenarios.people.settle`."""

    def settle(*names: str) -> tuple[people.Person, ...]:
        top = Path(shutil.copytree(_worlds(*names), tmp_path / "world", symlinks=True))
        return people.settled(top, *names)

    return settle
