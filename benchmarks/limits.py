"""The machine's own limits on the catalogue's bytes: how fast anything that must read, hash or pack them can be.

All in one thread, best case: the bytes are in memory, or in the page cache where files are read.
"""

from __future__ import annotations

import hashlib
import os
import zlib
from typing import TYPE_CHECKING

import msgspec

from benchmarks import measure
from benchmarks import setting as settings
from benchmarks.results import Amount
from benchmarks.setting import floor, kstore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.setting import Setting


def run(setting: Setting) -> None:
    """Measure the limits."""
    registry = setting.folder("limits") / "registry"
    setting.run(*kstore(), "init", "--quiet", registry)
    setting.run(*kstore(), "--registry", registry, "import", "--quiet", "--from", "catalog", setting.catalogue())
    paths = sorted((registry / "store").rglob("*.json"))
    files = {path: path.read_bytes() for path in paths}
    objects = [data for path, data in files.items() if "objects" in path.parts]
    blobs = [b"blob %d\0%b" % (len(data), data) for data in files.values()]
    size = f"{len(files):,} files of {sum(map(len, files.values())) / 1e6:.1f} MB"
    copies = registry.parent / "copies"

    def write() -> None:
        for number, data in enumerate(files.values()):
            (copies / str(number)).write_bytes(data)

    ways = {
        f"SHA-256 of all objects ({len(objects):,}, {sum(map(len, objects)) / 1e6:.1f} MB)": measure.function(
            lambda: [hashlib.sha256(data).digest() for data in objects]
        ),
        f"SHA-1 of all blobs ({size})": measure.function(lambda: [hashlib.sha1(blob).digest() for blob in blobs]),  # noqa: S324 - git's hash
        "zlib at its default level, all blobs": measure.function(lambda: [zlib.compress(blob) for blob in blobs]),
        "zlib at level 1, all blobs": measure.function(lambda: [zlib.compress(blob, 1) for blob in blobs]),
        "reading all files": measure.function(lambda: [_read(path) for path in paths]),
        "JSON decoding of all files, untyped, msgspec": measure.function(
            lambda: [msgspec.json.decode(data) for data in files.values()]
        ),
        "writing all files into one folder": _writing(copies, write),
        "writing, syncing and renaming one small file": measure.function(lambda: _sync(registry.parent)),
        '`python -c "import typer, msgspec"`': lambda: setting.run(*floor()),
        "`git --version`": lambda: setting.run("git", "--version"),
    }
    for number, (what, seconds) in enumerate(measure.in_turn(ways, setting.long_runs).items()):
        setting.book.amount(f"limit-{number:02}", Amount(section="limits", what=what, values=seconds))


def _read(path: Path) -> bytes:
    """Read a file with as few system calls as it takes."""
    number = os.open(path, os.O_RDONLY)
    try:
        return os.read(number, 1 << 21)
    finally:
        os.close(number)


def _writing(folder: Path, write: Callable[[], None]) -> measure.Timed:
    def timed() -> float:
        settings.remove(folder)
        folder.mkdir()
        return measure.function(write)()

    return timed


def _sync(folder: Path) -> None:
    path = folder / "synced"
    with path.open("wb") as file:
        file.write(b"x" * 1000)
        file.flush()
        os.fsync(file.fileno())
    path.replace(folder / "renamed")
