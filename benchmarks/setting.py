"""Where and how a benchmark runs: options, folders, and an environment that no configuration of the machine reaches."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import catalogue, measure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.results import Book

QUICK_ROWS = 300

_GIT_CONFIG = """
[user]
    name = Benchmark
    email = benchmark@example.org
[init]
    defaultBranch = main
[gc]
    auto = 0
[maintenance]
    auto = false
[advice]
    detachedHead = false
"""


_TOOLS = {
    "RESTIC_PASSWORD": "benchmark",
    "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
    "BORG_RELOCATED_REPO_ACCESS_IS_OK": "yes",
    "DVC_NO_ANALYTICS": "1",
}


@dataclass(frozen=True)
class Setting:
    """What every benchmark is given.

    Attributes:
        work: A folder for what it needs, on the disk that is to be measured.
        book: Takes the results.
        runs: How many runs of what takes less than a second.
        long_runs: How many runs of what takes longer.
        sizes: The sizes of the made-up registries.
        quick: Take a piece of the catalogue, to see whether everything works.
        timeout: The most seconds that one run of a program may take.
    """

    work: Path
    book: Book
    runs: int = 15
    long_runs: int = 5
    sizes: tuple[int, ...] = (20_000, 200_000, 1_000_000)
    quick: bool = False
    timeout: float = 900

    def folder(self, name: str) -> Path:
        """Give an empty folder of that name, whose parent exists."""
        path = self.work / name
        remove(path)
        path.mkdir(parents=True)
        return path

    def catalogue(self) -> Path:
        """Give the catalogue to import, or a piece of it when it must be quick."""
        source = catalogue.catalogues()[0]
        if not self.quick:
            return source
        return catalogue.piece(source, QUICK_ROWS, self.work / "piece.jsonl.zst")

    def run(self, *command: str | Path, cwd: Path | None = None, stdin: Path | None = None) -> float:
        """Run a program; give its seconds.

        Raises:
            RuntimeError: It failed, took too long, or is not there.
        """
        return measure.process(command, cwd, stdin=stdin, timeout=self.timeout)


def isolate(work: Path) -> None:
    """Let this process, and what it starts, see no configuration of git, kstore or another tool of this machine."""
    home = work / "home"
    home.mkdir(parents=True, exist_ok=True)
    config = home / "gitconfig"
    config.write_text(_GIT_CONFIG)
    for name in [name for name in os.environ if name.startswith(("GIT_", "KSTORE_", "XDG_"))]:
        del os.environ[name]
    os.environ.update(
        HOME=str(home),
        XDG_CACHE_HOME=str(home / "cache"),
        GIT_CONFIG_NOSYSTEM="1",
        GIT_CONFIG_GLOBAL=str(config),
        **_TOOLS,
    )


def kstore() -> Sequence[str | Path]:
    """Give the command that belongs to this Python: the installed script, or the module where there is none."""
    script = shutil.which("kstore", path=str(Path(sys.executable).parent))
    return [script] if script else [sys.executable, "-m", "kstore"]


def floor() -> Sequence[str | Path]:
    """Give the least that a command in Python costs: the import of what every command of kstore needs."""
    return [sys.executable, "-c", "import typer, msgspec"]


def remove(path: Path) -> None:
    """Remove a folder or a file if it is there, read-only folders in it too."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def flush() -> None:
    """Write out what earlier work left to be written, so that the next measurement does not pay for it."""
    os.sync()
