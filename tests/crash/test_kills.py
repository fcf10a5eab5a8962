"""A kstore that is killed at any moment leaves nothing that is wrong, and the same command then succeeds.

strace counts the system calls of kstore and of the git that it starts, and kills at a certain one. Which calls come is
the same in every run but for a few, so that going through their numbers goes through every moment of a write.
`KSTORE_KILLS=N` goes through N moments instead of a few.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kstore.git.lock import writer_lock
from tests.registries import TVD, assert_healthy, commits, environments, kstore, left_over, load, save

if TYPE_CHECKING:
    from collections.abc import Callable

STRACE = shutil.which("strace")
KILLS = int(os.environ.get("KSTORE_KILLS", "5"))
# What changes something on disk, opens what others may change, or starts a program that may.
CALLS = (
    "mkdir,mkdirat,rename,renameat,renameat2,link,linkat,unlink,unlinkat,rmdir,ftruncate,fsync,fdatasync,flock,execve,"
    "clone,clone3,vfork,openat,write"
)

pytestmark = pytest.mark.skipif(STRACE is None, reason="strace, which kills at a chosen system call, is not installed")


def run(log: Path, inject: str, *command: str | Path) -> bool:
    """Run kstore under strace, which writes its log to a file and may kill; tell whether it did, kstore or its git.

    The byte code that Python writes would be moments of its own.
    """
    traced: list[str | Path] = [
        str(STRACE),
        "-f",
        "-qq",
        "-o",
        log,
        "-e",
        f"trace={CALLS}",
        *(["-e", inject] * bool(inject)),
    ]
    subprocess.run(
        [*traced, sys.executable, "-B", "-m", "kstore", *command],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return "+++ killed by SIGKILL" in log.read_text(errors="replace")


def moments(log: Path) -> list[tuple[str, int]]:
    """Give each call of a run once it holds the writer's lock: its name, and how often its process had made it."""
    lines = [line.split(None, 1) for line in log.read_text(errors="replace").splitlines()]
    counts: dict[tuple[str, str], int] = {}
    found = []
    writing = False
    for process, call in lines:
        name = call.partition("(")[0]
        if not name.isidentifier() or " resumed>" in call:
            continue
        counts[process, name] = counts.get((process, name), 0) + 1
        # Before that it imports modules and reads the document.
        writing = writing or name == "flock"
        if writing:
            found.append((name, counts[process, name]))
    return list(dict.fromkeys(found))


def sweep(registry: Path, arguments: tuple[str | Path, ...], check: Callable[[Path], None]) -> int:
    """Kill a call at moments spread over it; each time, insist on a sound registry and on a second call's success.

    Returns:
        How many times something was killed: calls that vary may come less often than they did in the first run.
    """
    origin, log = registry.with_name("origin"), registry.with_name("strace.log")
    shutil.copytree(registry, origin, symlinks=True)
    before = commits(registry)
    assert not run(log, "", "--registry", registry, *arguments)
    every = moments(log)
    assert len(every) > KILLS
    killed = 0
    for number in range(KILLS):
        name, count = every[number * len(every) // KILLS]
        shutil.rmtree(registry)
        shutil.copytree(origin, registry, symlinks=True)
        killed += run(log, f"inject={name}:signal=KILL:when={count}", "--registry", registry, *arguments)
        when = f"{name} {count} ({number} of {KILLS})"
        look(registry, when)
        kstore("--registry", registry, *arguments).ok()
        assert commits(registry) == before + 1, when
        assert_healthy(registry)
        check(registry)
    kstore("--registry", registry, "add", save(registry.parent, environments(301)[-1], "another.json")).ok()
    assert left_over(registry) == []
    return killed


def look(registry: Path, when: str) -> None:
    """Insist that git and kstore find nothing wrong with what a killed process left."""
    fsck = subprocess.run(["git", "-C", registry, "fsck", "--full", "--strict"], capture_output=True, check=False)
    complaints = [line for line in fsck.stderr.decode().splitlines() if not line.startswith(("notice", "dangling"))]
    assert (fsck.returncode, complaints) == (0, []), (when, complaints)
    for command in (["verify"], ["verify", "--rev", "HEAD"], ["audit"]):
        ran = kstore("--registry", registry, *command)
        assert ran.code == 0, (when, command, ran.text, ran.err)
    records = kstore("--registry", registry, "list", "--json").ok().json()
    kstore("--registry", registry, "show", records[0]["digest"]).ok()


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    """Two new records and new metadata of an old one."""
    run = load(TVD)["run"]
    run["metadata"]["title"] = "A better title"
    return save(tmp_path, [run, *environments(2)])


def test_a_killed_add(registry: Path, documents: Path) -> None:
    def complete(registry: Path) -> None:
        assert len(kstore("--registry", registry, "list", "--json").json()) == 15

    assert sweep(registry, ("add", documents), complete) > KILLS // 2


@pytest.mark.parametrize("count", [40, 200], ids=["file by file", "by git"])
def test_a_killed_import(count: int, registry: Path, tmp_path: Path) -> None:
    lines = tmp_path / "records.jsonl"
    lines.write_text("".join(json.dumps(document) + "\n" for document in environments(count)))

    def complete(registry: Path) -> None:
        assert len(kstore("--registry", registry, "list", "--json").json()) == 13 + count

    assert sweep(registry, ("import", lines, "--jobs", "1"), complete) > KILLS // 2


def children(process: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_the_workers_of_a_killed_import_end_and_let_go_of_the_lock(registry: Path) -> None:
    command: list[str | Path] = [sys.executable, "-m", "kstore", "--registry", registry, "import", "-", "--jobs", "2"]
    killed = subprocess.Popen(command, stdin=subprocess.PIPE)
    assert killed.stdin is not None
    line = json.dumps(environments(1)[0]).encode() + b"\n"
    while len(workers := children(killed.pid)) < 2:
        killed.stdin.write(line * 100)
        killed.stdin.flush()
    killed.kill()
    killed.wait()
    killed.stdin.close()
    with writer_lock(registry / ".git", 30):
        pass
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{worker}/exe").exists() for worker in workers):
        assert time.monotonic() < deadline, "its workers live on"
        time.sleep(0.05)


def test_a_killed_add_to_a_bare_registry(tmp_path: Path, documents: Path) -> None:
    bare = tmp_path / "bare"
    kstore("init", "--bare", bare).ok()
    kstore("--registry", bare, "add", TVD).ok()
    assert sweep(bare, ("add", documents), lambda _: None) > KILLS // 2
