"""Registries of made-up records, small to large: what grows with the number of records, and what does not."""

from __future__ import annotations

import itertools
import json
import sys
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from benchmarks import measure, memory
from benchmarks import setting as settings
from benchmarks.results import Amount, Comparison, Point
from benchmarks.setting import floor, kstore
from benchmarks.synthetic import another, write
from kstore.schema import check_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.maker import Document
    from benchmarks.setting import Setting

LARGEST_TREE = 200_000
"""A working tree of a million records is two million files; this benchmark makes none."""

LATER = ("verify", "--staged")
"""How one more run is checked before its commit; it is measured as soon as kstore has it."""

_PATIENCE = 4
"""How many times as long as others a run here may take."""


class _Shape(NamedTuple):
    """A registry that is measured."""

    size: int
    fanout: int
    bare: bool

    def __str__(self) -> str:
        return f"{self.size}-{self.fanout}-{'bare' if self.bare else 'tree'}"


def run(setting: Setting) -> None:
    """Measure every size and shape, what is large last; then what must not grow, on all of them in turn."""
    growth = _Growth(setting)
    for size in sorted(setting.sizes):
        growth.prepare(size)
        for fanout, bare in itertools.product((1, 2), (True, False)):
            if bare or size <= LARGEST_TREE:
                growth.fill(_Shape(size, fanout, bare))
    growth.compare()


class _Growth:
    """The registries so far, with the run that each command is given."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._book = setting.book
        self._base = setting.folder("growth")
        self._runs: dict[int, Document] = {}
        self._registries: dict[_Shape, Path] = {}
        self._numbers = itertools.count(1)
        self._timeout = setting.timeout * _PATIENCE
        self._staged = self._has_staged()

    def prepare(self, size: int) -> None:
        """Make up a catalogue."""
        print(f"  making up {size:,} records", file=sys.stderr)
        self._runs[size] = write(self._base / f"{size}.jsonl.zst", size)

    def fill(self, shape: _Shape) -> None:
        """Import into an empty registry and verify it; measure both, several times when it is small."""
        registry = self._base / str(shape)
        options = ["--fanout", str(shape.fanout), *["--bare"] * shape.bare]
        import_ = [*kstore(), "--registry", registry, "import", "--quiet", self._base / f"{shape.size}.jsonl.zst"]
        verify = [*kstore(), "--registry", registry, "verify", "--quiet"]
        repeats = min(3, self._setting.long_runs) if shape.size < LARGEST_TREE else 1
        imports: list[memory.Usage] = []
        try:
            for _ in range(repeats):
                settings.remove(registry)
                self._setting.run(*kstore(), "init", "--quiet", *options, registry)
                settings.flush()
                imports.append(self._usage("import", shape, import_))
            self._enter("import", shape, imports)
            settings.flush()
            self._enter("verify", shape, [self._usage("verify", shape, verify) for _ in range(repeats)])
        except RuntimeError as error:
            self._book.lacks(f"growth-{shape}", str(error))
        else:
            self._registries[shape] = registry

    def compare(self) -> None:
        """Measure what one more record costs, on all registries in turn."""
        against = '`python -c "import typer, msgspec"`'
        resolves = {shape: self._resolve(shape) for shape in self._registries}
        seconds, least = self._in_turn("resolve", resolves)
        for size in self._setting.sizes:
            if ours := seconds.get(_Shape(size, 1, True)):
                work = f"resolve by digest, {size:,} records"
                entry = Comparison(section="resolve", work=work, against=against, ours=ours, theirs=least)
                self._book.compare(f"resolve-{size}", entry)
        smallest = min(self._setting.sizes)
        adds = {shape: self._add(shape) for shape in self._registries}
        seconds, _ = self._in_turn("add", adds)
        for shape, ours in seconds.items():
            base = seconds.get(_Shape(smallest, 1, shape.bare))
            if shape.size == smallest or base is None:
                continue
            place, fanout = "bare" if shape.bare else "tree", ", fan-out 2" if shape.fanout == 2 else ""
            entry = Comparison(
                section="add",
                work=f"add one run, {'bare' if shape.bare else 'working tree'}, {shape.size:,} records{fanout}",
                against=f"the same at {smallest:,}",
                ours=ours,
                theirs=base,
                plotted=False,
            )
            self._book.compare(f"add-{place}-{shape.size}-{shape.fanout}", entry)
        if self._staged:
            later = {shape: self._later(shape) for shape in self._registries if not shape.bare}
            self._in_turn(" ".join(LATER), later)
        else:
            self._book.lacks("growth-later", f"this kstore has no `{' '.join(LATER)}`")

    def _in_turn(
        self, operation: str, ways: Mapping[_Shape, measure.Timed]
    ) -> tuple[dict[_Shape, list[float]], list[float]]:
        """Time an operation on registries in turn, and enter the points after every round.

        Returns:
            The seconds of each registry, and those of Python's own start beside them.
        """
        named = {f"{operation} {shape}": timed for shape, timed in ways.items()}
        dropped: dict[str, str] = {}
        last: dict[str, list[float]] = {}
        seconds: dict[_Shape, list[float]] = {}
        for last in measure.rounds({"floor": self._floor, **named}, self._setting.runs, dropped):
            seconds = {shape: last[name] for shape, name in zip(ways, named, strict=True) if name in last}
            for shape, values in seconds.items():
                self._book.point(Point(operation=operation, **shape._asdict(), seconds=values))
        for name, reason in dropped.items():
            self._book.lacks(f"growth-{name}", reason)
        return seconds, last["floor"]

    def _floor(self) -> float:
        return self._setting.run(*floor())

    def _usage(self, operation: str, shape: _Shape, command: list[str | Path]) -> memory.Usage:
        used = memory.usage(command, timeout=self._timeout)
        peaks = f"{used.largest / 1e6:.0f} MB the largest process, {used.together / 1e6:.0f} MB together"
        print(f"  {operation} {shape}: {used.seconds:.4g} s, {peaks}", file=sys.stderr)
        return used

    def _enter(self, operation: str, shape: _Shape, usages: list[memory.Usage]) -> None:
        seconds = [used.seconds for used in usages]
        largest, together = max(used.largest for used in usages), max(used.together for used in usages)
        point = Point(operation=operation, **shape._asdict(), seconds=seconds, largest=largest, together=together)
        self._book.point(point)
        what = f"{operation} {shape.size:,} records, {'bare' if shape.bare else 'working tree'}, fan-out {shape.fanout}"
        if shape.bare and shape.fanout == 1:
            amount = Amount(section="memory", what=what, values=[max(largest, together)], unit="bytes")
            self._book.amount(f"memory-{operation}-{shape.size}", amount)

    def _resolve(self, shape: _Shape) -> measure.Timed:
        digest = str(check_json(msgspec.json.encode(self._runs[shape.size])).digest)
        command = [*kstore(), "--registry", self._registries[shape], "resolve", "--quiet", digest]
        return lambda: self._setting.run(*command)

    def _add(self, shape: _Shape) -> measure.Timed:
        return lambda: self._setting.run(*self._adding(shape))

    def _adding(self, shape: _Shape, *options: str) -> list[str | Path]:
        """Write a run that the registry does not have, and give the command that adds it."""
        document = self._base / "run.json"
        document.write_text(json.dumps(another(self._runs[shape.size], next(self._numbers))), "utf-8")
        return [*kstore(), "--registry", self._registries[shape], "add", "--quiet", *options, document]

    def _later(self, shape: _Shape) -> measure.Timed:
        """Time the check of what is staged, which is one more run."""
        registry = self._registries[shape]

        def timed() -> float:
            self._setting.run(*self._adding(shape, "--no-commit"))
            seconds = self._setting.run(*kstore(), "--registry", registry, *LATER, "--quiet")
            self._setting.run("git", "-C", registry, "commit", "--quiet", "-m", "Add a run")
            return seconds

        return timed

    def _has_staged(self) -> bool:
        try:
            self._setting.run(*kstore(), "init", "--quiet", self._base / "probe")
            self._setting.run(*kstore(), "--registry", self._base / "probe", *LATER, "--quiet")
        except RuntimeError:
            return False
        return True
