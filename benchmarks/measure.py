"""Measure ways to do the same thing against each other: in turn, so that a busy machine disturbs all alike."""

from __future__ import annotations

import contextlib
import os
import platform
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TypeAlias

Timed: TypeAlias = Callable[[], float]
"""Does its work once and gives the seconds that it took."""


_INTERVAL = 0.2


@dataclass(frozen=True)
class Spread:
    """The median of several measurements, between the least and the greatest."""

    median: float
    least: float
    greatest: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Take the median of one or more values, and the ends."""
        return cls(statistics.median(values), min(values), max(values))

    def __str__(self) -> str:
        return f"{self.median:.4g} ({self.least:.4g} to {self.greatest:.4g})"


def function(work: Callable[[], object]) -> Timed:
    """Time a call in this process."""

    def timed() -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    return timed


def process(
    command: Sequence[str | Path],
    cwd: Path | None = None,
    *,
    stdin: Path | None = None,
    timeout: float = 3600,
    watch: Callable[[int], None] | None = None,
) -> float:
    """Run a program to its end, with its output thrown away; give the seconds it took.

    Args:
        command: The program and its arguments.
        cwd: Its current folder.
        stdin: The file that it reads; nothing by default.
        timeout: Seconds after which it is killed, with all that it started.
        watch: Called five times a second with the number of its process.

    Raises:
        RuntimeError: It failed, and what it said on stderr is in the message; it took too long; or it is not there.
    """
    name = " ".join(map(str, command))
    if len(name) > 200:
        name = f"{name[:200]}…"
    with tempfile.TemporaryFile() as complaint, Path(stdin or os.devnull).open("rb") as given:
        start = time.perf_counter()
        try:
            child = subprocess.Popen(
                command, cwd=cwd, stdin=given, stdout=subprocess.DEVNULL, stderr=complaint, start_new_session=True
            )
        except OSError as error:
            raise RuntimeError(f"{name} cannot be run: {error.strerror}") from error
        with _guarded(child, timeout, watch) as late:
            code = child.wait()
            seconds = time.perf_counter() - start
        if late.is_set():
            raise RuntimeError(f"{name} took more than {timeout:.0f} seconds")
        if code:
            complaint.seek(0)
            said = complaint.read()[-2000:].decode(errors="replace").strip()
            raise RuntimeError(f"{name} ended with {code}: {said}")
    return seconds


@contextlib.contextmanager
def _guarded(
    child: subprocess.Popen[bytes], timeout: float, watch: Callable[[int], None] | None
) -> Iterator[threading.Event]:
    """Watch a process from a thread, and kill its session when it is late or left before its end.

    `Popen.wait` with a timeout looks only every 50 ms, which is longer than much that is measured here.
    """
    done, late = threading.Event(), threading.Event()
    end = time.monotonic() + timeout

    def guard() -> None:
        while not done.wait(_INTERVAL if watch else timeout):
            if time.monotonic() >= end:
                late.set()
                os.killpg(child.pid, signal.SIGKILL)
                return
            if watch:
                watch(child.pid)

    thread = threading.Thread(target=guard, daemon=True)
    thread.start()
    try:
        yield late
    finally:
        done.set()
        thread.join()
        if child.returncode is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def in_turn(ways: Mapping[str, Timed], runs: int) -> dict[str, list[float]]:
    """Time each way in turn, A B A B, after one run of each that does not count.

    Returns:
        For each way its seconds, run by run: equal positions were measured side by side.
    """
    return list(rounds(ways, runs))[-1]


def rounds(
    ways: Mapping[str, Timed], runs: int, dropped: dict[str, str] | None = None
) -> Iterator[dict[str, list[float]]]:
    """Time each way in turn, and give what there is after every round; the first one does not count.

    Args:
        ways: What to time, under its name.
        runs: How many rounds count.
        dropped: Takes the reasons of the ways that failed; the others go on. Without it a failure ends everything.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(runs + 1):
        for name, timed in ways.items():
            if name not in seconds:
                continue
            try:
                once = timed()
            except RuntimeError as error:
                if dropped is None:
                    raise
                dropped[name] = str(error)
                del seconds[name]
                continue
            print(f"  {name}: {once:.4g} s" + " (warming up)" * (not number), file=sys.stderr)
            if number:
                seconds[name].append(once)
        if number:
            yield {name: list(values) for name, values in seconds.items()}


def ratio(of: Sequence[float], to: Sequence[float]) -> Spread:
    """Give the spread of the ratios of what was measured side by side."""
    return Spread.of([one / other for one, other in zip(of, to, strict=True)])


def table(seconds: Mapping[str, Sequence[float]], *, unit: str = "ms", per: float = 1e-3) -> str:
    """Show how many times as long as the first way each way takes, and its time.

    Args:
        seconds: What `in_turn` gave.
        unit: The name of the unit to show times in.
        per: That unit in seconds.
    """
    first = next(iter(seconds.values()))
    rows = [("", "times the first", f"{unit}, median (least to greatest)")]
    for name, values in seconds.items():
        rows.append((name, str(ratio(values, first)), str(Spread.of([value / per for value in values]))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def machine() -> dict[str, str]:
    """Name the machine: processor, memory, system, and the versions of what is measured with and against."""
    model = platform.processor() or platform.machine()
    cpuinfo, release = Path("/proc/cpuinfo"), Path("/etc/os-release")
    if cpuinfo.exists():
        found = [line.partition(":")[2].strip() for line in cpuinfo.read_text().splitlines() if "model name" in line]
        model = found[0] if found else model
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    named = platform.freedesktop_os_release()["PRETTY_NAME"] if release.exists() else platform.system()
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]
    packages = " ".join(f"{name} {version(name)}" for name in ("kstore", "msgspec", "dulwich"))
    return {
        "processor": f"{model}, {os.cpu_count()} of them",
        "memory": f"{memory:.0f} GiB",
        "system": f"{named}, Linux {platform.release()}" if platform.system() == "Linux" else named,
        "python": platform.python_version(),
        "git": git,
        "packages": packages,
    }
