"""Measures how much memory a program takes, with all the processes that it starts."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from benchmarks import measure

if TYPE_CHECKING:
    from collections.abc import Sequence

# A process inherits the peak of the one that started it, so that a small one has to stand between. The usage of a
# child that was waited for includes those for which that one waited.
_LAUNCHER = """
import os, sys, time
quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
start = time.perf_counter()
child = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=quiet)
_, status, usage = os.wait4(child, 0)
with open(sys.argv[1], "w") as file:
    print(time.perf_counter() - start, usage.ru_maxrss, file=file)
sys.exit(os.waitstatus_to_exitcode(status))
"""


class Usage(NamedTuple):
    """What a run took.

    Attributes:
        seconds: How long it ran.
        largest: The peak of resident memory of its largest process in bytes, as the system counted it.
        together: The greatest sum over all its processes that was seen at one moment, in bytes. Pages that processes
            share count once. It is 0 when nothing was seen.
    """

    seconds: float
    largest: int
    together: int


def usage(command: Sequence[str | Path], cwd: Path | None = None, *, timeout: float = 3600) -> Usage:
    """Run a program as `measure.process` does and watch its memory, five times a second.

    What is below the size of a bare Python (10 MB) cannot be told from it.

    Raises:
        RuntimeError: It failed, or took too long.
    """
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "usage")
        launcher = [sys.executable, "-I", "-S", "-c", _LAUNCHER, said, *command]
        together = 0

        def watch(launched: int) -> None:
            nonlocal together
            together = max(together, _resident(launched))

        measure.process(launcher, cwd, timeout=timeout, watch=watch)
        seconds, largest = said.read_text().split()
    unit = 1 if sys.platform == "darwin" else 1024
    return Usage(float(seconds), int(largest) * unit, together)


def _shared_out(process: int) -> int:
    """Give a process's resident memory; of pages that several processes share, its share (proc(5), `Pss`)."""
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _resident(launcher: int) -> int:
    """Add up the resident memory of what descends from a process, without itself."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.name)] = int(fields[1])
    total, families = 0, {launcher}
    while families:
        families = {process for process, parent in parents.items() if parent in families}
        for process in families:
            try:
                total += _shared_out(process)
            except OSError:
                continue
    return total
