"""One writer at a time, who never waits for ever and never for the dead."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from kstore.errors import LockedError
from kstore.git.lock import writer_lock
from tests.registries import assert_healthy, commits, environments, git, kstore, left_over, save, snapshot

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import pathlib, sys
from kstore.git.lock import writer_lock
with writer_lock(pathlib.Path(sys.argv[1]), 10):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(common_dir: Path) -> subprocess.Popen[bytes]:
    """Have another process hold the lock until its standard input is closed."""
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, common_dir], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def let_go(holder: subprocess.Popen[bytes]) -> None:
    """End such a process."""
    holder.communicate(b"")


def test_another_writer_is_waited_for_and_then_given_up(registry: Path, tmp_path: Path) -> None:
    file = save(tmp_path, environments(1))
    holder = hold(registry / ".git")
    before = snapshot(registry)
    ran = kstore("add", "--wait", "0.1", file, cwd=registry)
    assert ran.code == 11
    assert "--wait" in ran.err
    assert snapshot(registry) == before
    assert kstore("add", "--dry-run", file, cwd=registry).code == 0
    assert kstore("verify", cwd=registry).code == 0
    let_go(holder)
    kstore("add", "--wait", "0", file, cwd=registry).ok()


def test_a_writer_that_is_done_in_time_is_waited_for(registry: Path, tmp_path: Path) -> None:
    holder = hold(registry / ".git")
    threading.Timer(0.3, let_go, [holder]).start()
    kstore("add", "--wait", "30", save(tmp_path, environments(1)), cwd=registry).ok()
    assert holder.wait() == 0
    assert_healthy(registry)


def test_a_killed_writer_holds_nothing(registry: Path) -> None:
    holder = hold(registry / ".git")
    before = snapshot(registry)
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with writer_lock(registry / ".git", 0):
        assert snapshot(registry) == before


def test_the_lock_is_free_again_after_an_error_inside(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), writer_lock(tmp_path, 0):
        raise ZeroDivisionError
    with writer_lock(tmp_path, 0), pytest.raises(LockedError), writer_lock(tmp_path, 0):
        pass


def test_two_working_trees_share_one_lock(registry: Path, tmp_path: Path) -> None:
    git(registry, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    with writer_lock(registry / ".git", 0):
        ran = kstore("add", "--wait", "0", save(tmp_path, environments(1)), cwd=tmp_path / "linked")
    assert ran.code == 11


@pytest.mark.parametrize("bare", [False, True])
def test_writers_at_the_same_time_all_succeed(bare: bool, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    kstore("init", registry, *["--bare"] * bare).ok()
    files = [save(tmp_path, document, f"{number}.json") for number, document in enumerate(environments(6))]
    writers = [
        subprocess.Popen(
            [sys.executable, "-m", "kstore", "--registry", registry, "add", "--wait", "60", "--quiet", *pair],
            stdout=subprocess.DEVNULL,
        )
        for pair in (files[:3], files[2:5], files[4:])
    ]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert len(kstore("--registry", registry, "list", "--json").json()) == 6
    assert commits(registry) == 4
    assert_healthy(registry)
    assert left_over(registry) == []


def branch_lock(registry: Path) -> Path:
    return registry / ".git" / "refs" / "heads" / "main.lock"


def index_lock(registry: Path) -> Path:
    return registry / ".git" / "index.lock"


@pytest.mark.parametrize("lock_of", [branch_lock, index_lock])
def test_a_lock_of_git_is_waited_for(lock_of: type, registry: Path, tmp_path: Path) -> None:
    file, lock = save(tmp_path, environments(1)), lock_of(registry)
    lock.touch()
    status, head = git(registry, "status", "--porcelain"), git(registry, "rev-parse", "HEAD")
    ran = kstore("add", "--wait", "0.1", file, cwd=registry)
    assert ran.code == 11
    assert f"error: {lock}: " in ran.err
    assert lock.exists()
    assert git(registry, "status", "--porcelain") == status
    assert git(registry, "rev-parse", "HEAD") == head
    threading.Timer(0.2, lock.unlink).start()
    kstore("add", "--wait", "30", file, cwd=registry).ok()
    assert_healthy(registry)


def test_a_lock_that_a_killed_kstore_left_on_the_branch_is_known_for_what_it_is(registry: Path, tmp_path: Path) -> None:
    own = registry / ".git" / "kstore" / "ref"
    own.write_text("0" * 40 + "\n")
    os.link(own, branch_lock(registry))
    kstore("add", "--wait", "0", save(tmp_path, environments(1)), cwd=registry).ok()
    assert left_over(registry) == []
    assert_healthy(registry)
