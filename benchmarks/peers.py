"""The published catalogue in kstore and in other programs: import, verify, add, resolve, size.

Each does its nearest equivalent on the very same files. What is not timed: making the stream that `git fast-import`
reads, the archive that the files are written from, and empty repositories.
"""

from __future__ import annotations

import itertools
import json
import shutil
import subprocess
from typing import TYPE_CHECKING

from benchmarks import measure
from benchmarks import setting as settings
from benchmarks.catalogue import documents
from benchmarks.results import Comparison
from benchmarks.setting import floor, kstore
from benchmarks.synthetic import another
from benchmarks.tools import missing, tools
from kstore.layout import path_of
from kstore.schema import check_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.setting import Setting
    from benchmarks.tools import Tool


def run(setting: Setting) -> None:
    """Measure everything; a part that fails is noted, and the others go on."""
    peers = _Peers(setting)
    for part in (peers.imports, peers.others, peers.verifies, peers.adds, peers.resolves, peers.sizes):
        try:
            part()
        except RuntimeError as error:
            setting.book.lacks(f"peers-{part.__name__}", str(error))


class _Peers:
    """The registries and repositories that hold the catalogue."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._book = setting.book
        self._base = setting.folder("peers")
        self._catalogue = setting.catalogue()
        self._bare, self._tree, self._clone = (self._base / name for name in ("bare", "tree", "clone"))
        self._stream, self._archive = self._base / "stream", self._base / "files.tar"
        self._import(self._bare, "--bare")
        self._import(self._tree)
        self._git("clone", "--quiet", "--no-local", self._tree, self._clone)
        with self._stream.open("wb") as file:
            subprocess.run(["git", "-C", self._bare, "fast-export", "--all"], stdout=file, check=True)
        self._git("-C", self._bare, "archive", "--output", self._archive, "HEAD")
        self._tools = {}
        for name, tool in tools(self._clone / "store", self._archive, self._base / "tools").items():
            if reason := missing(name):
                self._book.lacks(f"peers-{name}", reason)
            else:
                self._tools[name] = tool
        self._run = next(each for each in documents(self._catalogue) if each["kind"] == "BenchmarkRun")
        self._numbers = itertools.count(1)

    def imports(self) -> None:
        """Import, against git's own two ways."""
        work = {"bare": "import the catalogue, bare", "tree": "import the catalogue, working tree"}
        pairs = [
            ("import-bare", work["bare"], "kstore import, bare", "`git fast-import` of the same files"),
            ("import-tree", work["tree"], "kstore import, tree", "writing the same files, `git add -A`, `git commit`"),
        ]
        ways: dict[str, measure.Timed] = {
            pairs[0][2]: lambda: self._import(self._base / "timed", "--bare"),
            pairs[0][3]: lambda: self._fast_import(self._base / "timed"),
            pairs[1][2]: lambda: self._import(self._base / "timed"),
            pairs[1][3]: self._write_and_add,
        }
        for seconds in self._rounds(ways, self._setting.long_runs):
            for key, name, ours, theirs in pairs:
                self._compare(key, "import", name, theirs, seconds.get(ours), seconds.get(theirs))

    def others(self) -> None:
        """Import, against programs that keep files."""
        ways: dict[str, measure.Timed] = {"kstore": lambda: self._import(self._base / "timed", "--bare")}
        for name, tool in self._tools.items():
            ways[name] = self._keep(name, tool)
        work = "import the catalogue, bare"
        for seconds in self._rounds(ways, min(3, self._setting.long_runs)):
            for name, tool in self._tools.items():
                self._compare(f"import-{name}", "import", work, tool.keeping, seconds.get("kstore"), seconds.get(name))

    def verifies(self) -> None:
        """Verify, against programs that check what they keep."""
        verify = [*kstore(), "--registry", self._clone, "verify", "--quiet"]
        sums = self._base / "sums"
        objects = sorted((self._clone / "store" / "objects").rglob("*.json"))
        sums.write_text("".join(f"{path.stem}  {path}\n" for path in objects))
        checks: dict[str, tuple[str, measure.Timed]] = {
            "tree": (
                "`git fsck --full` of the same clone",
                lambda: self._setting.run("git", "-C", self._clone, "fsck", "--full", "--no-progress"),
            ),
            "sha256sum": (
                "`sha256sum -c` of all objects, without metadata",
                lambda: self._setting.run("sha256sum", "--quiet", "-c", sums),
            ),
            "jobs": ("`kstore verify --jobs 1`", lambda: self._setting.run(*verify, "--jobs", "1")),
        }
        for name, tool in self._tools.items():
            if tool.check and (self._base / "tools" / name).exists():
                checks[name] = (tool.checking, self._check(name, tool))
        ways: dict[str, measure.Timed] = {
            "kstore": lambda: self._setting.run(*verify),
            "no-cache": lambda: self._setting.run(*verify, "--no-cache"),
            **{key: timed for key, (_, timed) in checks.items()},
        }
        fsck = checks["tree"][0]
        for seconds in self._rounds(ways, self._setting.long_runs):
            for key, (against, _) in checks.items():
                work = "verify, working tree"
                self._compare(f"verify-{key}", "verify", work, against, seconds.get("kstore"), seconds.get(key))
            work = "verify, nothing remembered (`--no-cache`)"
            self._compare("verify-no-cache", "verify", work, fsck, seconds.get("no-cache"), seconds.get("tree"))

    def adds(self) -> None:
        """Add one run after another, against `git add` and `git commit`."""
        ours, theirs, bare = (self._base / f"add-{name}" for name in ("kstore", "git", "bare"))
        for clone in (ours, theirs):
            self._git("clone", "--quiet", "--no-local", self._tree, clone)
        shutil.copytree(self._bare, bare)
        ways = {
            "kstore": lambda: self._add(ours),
            "git": lambda: self._git_add(theirs),
            "bare": lambda: self._add(bare),
        }
        against = "`git add` and `git commit` of the same two files in a clone"
        for seconds in self._rounds(ways, self._setting.runs):
            for key, work, mine in (
                ("add-tree", "add one run, working tree", "kstore"),
                ("add-bare", "add one run, bare", "bare"),
            ):
                self._compare(key, "add", work, against, seconds.get(mine), seconds.get("git"))

    def resolves(self) -> None:
        """Resolve a run by its digest, against Python's own start."""
        digest = str(check_json(json.dumps(self._run).encode()).digest)
        ways: dict[str, measure.Timed] = {"floor": lambda: self._setting.run(*floor())}
        shapes = {"tree": ("working tree", self._tree), "bare": ("bare", self._bare)}
        for key, (_, registry) in shapes.items():
            ways[key] = self._program(*kstore(), "--registry", registry, "resolve", "--quiet", digest)
        for seconds in self._rounds(ways, self._setting.runs):
            for key, (shape, _) in shapes.items():
                work, against = f"resolve by digest, the catalogue, {shape}", '`python -c "import typer, msgspec"`'
                self._compare(f"resolve-{key}", "resolve", work, against, seconds.get(key), seconds.get("floor"))

    def sizes(self) -> None:
        """Compare what the catalogue takes on the disk, as it was imported and after `git gc`."""
        ours, theirs = self._base / "gc-kstore", self._base / "gc-git"
        shutil.copytree(self._bare, ours)
        self._fast_import(theirs)
        work, against = "the imported catalogue, bare", "`git fast-import`"
        self._compare("unpacked", "size", work, against, [_used(ours)], [_used(theirs)], "bytes")
        for repository in (ours, theirs):
            self._setting.run("git", "-C", repository, "gc", "--quiet")
        work, against = "the imported catalogue after `git gc`", "`git fast-import` and `git gc`"
        self._compare("packed", "size", work, against, [_used(ours)], [_used(theirs)], "bytes")

    def _rounds(self, ways: Mapping[str, measure.Timed], runs: int) -> Iterator[dict[str, list[float]]]:
        dropped: dict[str, str] = {}
        yield from measure.rounds(ways, runs, dropped)
        for name, reason in dropped.items():
            self._book.lacks(f"peers-{name}", reason)

    def _compare(
        self,
        key: str,
        section: str,
        work: str,
        against: str,
        ours: list[float] | None,
        theirs: list[float] | None,
        unit: str = "s",
    ) -> None:
        """Enter a comparison, unless one of the two failed."""
        if ours and theirs:
            entry = Comparison(section=section, work=work, against=against, ours=ours, theirs=theirs, unit=unit)
            entry.plotted = not against.startswith("`kstore")
            self._book.compare(key, entry)

    def _import(self, registry: Path, *options: str) -> float:
        settings.remove(registry)
        self._setting.run(*kstore(), "init", "--quiet", *options, registry)
        settings.flush()
        command = [*kstore(), "--registry", registry, "import", "--quiet", "--from", "catalog", self._catalogue]
        return self._setting.run(*command)

    def _fast_import(self, repository: Path) -> float:
        settings.remove(repository)
        self._git("init", "--quiet", "--bare", "--template=", repository)
        settings.flush()
        return self._setting.run("git", "-C", repository, "fast-import", "--quiet", stdin=self._stream)

    def _write_and_add(self) -> float:
        repository = self._base / "timed"
        settings.remove(repository)
        self._git("init", "--quiet", "--template=", repository)
        settings.flush()
        git = ("git", "-C", repository)
        seconds = self._setting.run("tar", "-xf", self._archive, "-C", repository)
        return seconds + self._setting.run(*git, "add", "-A") + self._setting.run(*git, "commit", "-q", "-m", "All")

    def _keep(self, name: str, tool: Tool) -> measure.Timed:
        def timed() -> float:
            folder = self._setting.folder(f"peers/tools/{name}")
            for command in tool.prepare:
                self._setting.run(*command, cwd=folder)
            settings.flush()
            return sum(self._setting.run(*command, cwd=folder) for command in tool.keep)

        return timed

    def _check(self, name: str, tool: Tool) -> measure.Timed:
        folder = self._base / "tools" / name
        return lambda: sum(self._setting.run(*command, cwd=folder) for command in tool.check)

    def _add(self, registry: Path) -> float:
        document = self._base / "run.json"
        document.write_text(json.dumps(another(self._run, next(self._numbers))), "utf-8")
        return self._setting.run(*kstore(), "--registry", registry, "add", "--quiet", document)

    def _git_add(self, clone: Path) -> float:
        record = check_json(json.dumps(another(self._run, next(self._numbers))).encode())
        contents = {
            path_of("objects", record.digest, 1): record.body,
            path_of("metadata", record.digest, 1): record.metadata_bytes,
        }
        for path, content in contents.items():
            (clone / path).parent.mkdir(parents=True, exist_ok=True)
            (clone / path).write_bytes(content)
        git = ("git", "-C", clone)
        return self._setting.run(*git, "add", *contents) + self._setting.run(*git, "commit", "-q", "-m", "Add a run")

    def _git(self, *arguments: str | Path) -> None:
        self._setting.run("git", *arguments)

    def _program(self, *command: str | Path) -> measure.Timed:
        return lambda: self._setting.run(*command)


def _used(folder: Path) -> float:
    """Give what a folder takes on the disk in bytes, as `du` counts it."""
    return float(sum(path.lstat().st_blocks * 512 for path in (folder, *folder.rglob("*"))))
