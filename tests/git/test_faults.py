"""A disk that fails at any one moment of a write leaves the registry as it was, or the write complete.

Here alone faults are made: no disk fails on demand, at each single step. The steps are those that Python itself
announces (sys.addaudithook: opening for writing, renaming, making and removing files and folders, starting git), and
fsync(2), which it does not announce; for writes beyond a number of bytes the kernel's own limit is used.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.registries import TVD, Ran, assert_healthy, commits, environment, git, kstore, load, save, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_STEPS = {"os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "os.truncate", "subprocess.Popen"}


class FailingDisk:
    """Counts the steps that change files, and fails the n-th of them, or that one and all that need space after it."""

    def __init__(self) -> None:
        self.active = False
        self.events: list[str] = []
        self.fails_at = 0
        self.stays_full = False
        self.kills = False

    @property
    def steps(self) -> int:
        return len(self.events)

    def hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.active and (event in _STEPS or (event == "open" and _opens_for_writing(arguments))):
            self.step(event)

    def fsync(self, _: int) -> None:
        if self.active:
            self.step("fsync")

    def step(self, event: str) -> None:
        self.events.append(event)
        # What needs no space: giving some back, moving what is there, and git, which sees the real disk.
        frees = event in {"os.remove", "os.rmdir", "os.rename", "os.link", "subprocess.Popen"}
        if self.steps == self.fails_at or (self.stays_full and self.steps > self.fails_at > 0 and not frees):
            if self.kills:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    @contextlib.contextmanager
    def failing(self, step: int, *, stays_full: bool = False, kills: bool = False) -> Iterator[None]:
        self.kills = kills
        self.active, self.events, self.fails_at, self.stays_full = True, [], step, stays_full
        try:
            yield
        finally:
            self.active = False


def _opens_for_writing(arguments: tuple[Any, ...]) -> bool:
    return isinstance(arguments[0], str | bytes) and arguments[0] != os.devnull and bool(arguments[2] & _WRITING)


DISK = FailingDisk()


@pytest.fixture(scope="module", autouse=True)
def _watched() -> Iterator[None]:
    # A hook can never be taken off again; it sleeps outside `failing`.
    sys.addaudithook(DISK.hook)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", DISK.fsync)
        yield


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """A new record and new metadata of an old one."""
    run = load(TVD)["run"]
    run["metadata"]["title"] = "A better title"
    return save(tmp_path, [run, environment()])


def visible(registry: Path) -> dict[str, Any]:
    """Give what counts: HEAD and its branch, every file of the working tree, and what is staged."""
    tree = registry / ".git"
    if not tree.exists():
        return snapshot(registry / "HEAD", registry / "refs")
    files = {path: what for path, what in snapshot(registry).items() if not path.startswith(f"{tree}/")}
    return files | snapshot(tree / "HEAD", tree / "refs") | {"index": git(registry, "ls-files", "--stage")}


def sweep(registry: Path, arguments: tuple[str | Path, ...], *, stays_full: bool) -> None:
    """Fail each step of a call in turn; every few steps, see that the same call made again does all of it."""
    before = visible(registry)
    origin = registry.with_name("origin")
    shutil.copytree(registry, origin, symlinks=True)
    failures = []
    for step in range(1, 1000):
        with DISK.failing(step, stays_full=stays_full):
            ran = kstore("--registry", registry, *arguments)
        if DISK.steps < step:
            break
        when = f"{DISK.events[step - 1]} at step {step}"
        check_outcome(registry, ran, before, when)
        failures.append(ran.code != 0)
        if ran.code == 0 or step % 12 == 0:
            kstore("--registry", registry, *arguments).ok()
            assert commits(registry) == commits(origin) + 1, when
            assert_healthy(registry)
            shutil.rmtree(registry)
            shutil.copytree(origin, registry, symlinks=True)
    assert sum(failures) > 20
    assert ran.code == 0


def check_outcome(registry: Path, ran: Ran, before: dict[str, Any], when: str) -> None:
    """Insist that a call did all or nothing, and said which."""
    after = visible(registry)
    different = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    if ran.code == 0:
        assert different, when
    else:
        assert ran.code == 1, (when, ran.err)
        assert ran.err.startswith("error: "), when
        assert different == set(), (when, ran.err)


@pytest.mark.parametrize(
    ("with_git", "stays_full"),
    [(True, False), (True, True), (False, False)],
    ids=["once", "from then on", "once, without git"],
)
def test_a_step_fails(
    with_git: bool, stays_full: bool, registry: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not with_git:
        monkeypatch.setattr(shutil, "which", lambda _: None)
    sweep(registry, ("add", document), stays_full=stays_full)


def test_a_step_fails_in_a_bare_registry(tmp_path: Path, document: Path) -> None:
    bare = tmp_path / "bare"
    kstore("init", "--bare", bare).ok()
    kstore("--registry", bare, "add", TVD).ok()
    sweep(bare, ("add", document), stays_full=False)


# dulwich, which makes the new repository, lets go of some files without closing them.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_step_fails_in_the_first_commit(tmp_path: Path) -> None:
    path = tmp_path / "new"
    for step in range(1, 1000):
        with DISK.failing(step):
            ran = kstore("init", path)
        if DISK.steps < step:
            break
        assert ran.code in {0, 1}, ran.err
        kstore("init", path).ok()
        assert_healthy(path)
        assert commits(path) == 1
        shutil.rmtree(path)
    assert ran.code == 0
    assert step > 10


# git's own process would be killed at the limit, as no full disk does: this is the way without it.
# This one's process is killed for real, at each step, and nobody is left to clean up.
def test_a_killed_writer_is_in_nobodys_way(registry: Path, document: Path) -> None:
    before = commits(registry)
    origin = registry.with_name("origin")
    shutil.copytree(registry, origin, symlinks=True)
    for step in range(1, 1000):
        child = os.fork()
        if child == 0:
            with DISK.failing(step, kills=True):
                kstore("--registry", registry, "add", document)
            os._exit(0)
        killed = os.waitpid(child, 0)[1] == signal.SIGKILL
        if killed and step % 4:
            continue
        kstore("--registry", registry, "add", "--wait", "0", document).ok()
        assert commits(registry) == before + 1
        assert_healthy(registry)
        if not killed:
            break
        shutil.rmtree(registry)
        shutil.copytree(origin, registry, symlinks=True)
    assert step > 40


@pytest.mark.parametrize("limit", [0, 1, 30, 60, 90, 120, 150, 200, 250, 300, 400, 600, 800, 1200, 2000, 3000, 5000])
def test_no_file_may_grow_beyond_a_number_of_bytes(
    limit: int, registry: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    before = visible(registry)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, old[1]))
    try:
        ran = kstore("--registry", registry, "add", document)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
    check_outcome(registry, ran, before, f"with {limit} bytes")
    kstore("--registry", registry, "add", document).ok()
    assert_healthy(registry)
