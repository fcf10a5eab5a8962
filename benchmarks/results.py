"""What the benchmarks measured, in a JSON file that is written anew after every step."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

import msgspec

from benchmarks.measure import Spread, ratio

if TYPE_CHECKING:
    from pathlib import Path


class Comparison(msgspec.Struct, kw_only=True):
    """Something that kstore and another do: equal positions were measured side by side.

    Attributes:
        section: A key of `contract.SECTIONS`.
        work: What kstore did.
        against: What the other did.
        ours: What kstore took, run by run.
        theirs: What the other took.
        unit: `s` or `bytes`.
        plotted: Whether the plot shows it, as it does with what others do better or worse.
    """

    section: str
    work: str
    against: str
    ours: list[float]
    theirs: list[float]
    unit: str = "s"
    plotted: bool = True

    @property
    def ratio(self) -> Spread:
        """How many times as much kstore takes."""
        return ratio(self.ours, self.theirs)


class Amount(msgspec.Struct, kw_only=True):
    """Something that was measured by itself, such as a peak of memory or a limit of the machine.

    Attributes:
        section: A key of `contract.SECTIONS`, or `limits`.
        what: What it is.
        values: Run by run.
        unit: `s` or `bytes`.
    """

    section: str
    what: str
    values: list[float]
    unit: str = "s"


class Point(msgspec.Struct, kw_only=True):
    """An operation on a made-up registry of some size.

    Attributes:
        operation: Its name.
        size: How many records the registry has.
        fanout: Its fan-out.
        bare: Whether it has no working tree.
        seconds: Run by run; where an operation was measured on several sizes in turn, equal positions belong together.
        largest: The peak of the largest process in bytes, where it was measured.
        together: The greatest sum over all processes that was seen, in bytes.
    """

    operation: str
    size: int
    fanout: int
    bare: bool
    seconds: list[float]
    largest: int | None = None
    together: int | None = None


class Results(msgspec.Struct, kw_only=True):
    """Everything that was measured on one machine; keys are unique names, and measuring again replaces.

    Attributes:
        machine: What `measure.machine` says.
        date: The last day on which something was measured.
        comparisons: kstore and others.
        amounts: What stands alone.
        points: What grows.
        missing: What could not be measured, and why.
    """

    machine: dict[str, str]
    date: str = ""
    comparisons: dict[str, Comparison] = {}
    amounts: dict[str, Amount] = {}
    points: dict[str, Point] = {}
    missing: dict[str, str] = {}


class Book:
    """Keeps results in a file, and writes it whenever something is entered."""

    def __init__(self, path: Path, machine: dict[str, str]) -> None:
        """Go on with what the file has when it was measured on the same machine; begin anew otherwise."""
        self._path = path
        self.results = Results(machine=machine)
        if path.exists() and (before := load(path)).machine == machine:
            self.results = before

    def compare(self, key: str, comparison: Comparison) -> None:
        """Enter a comparison."""
        if comparison.ours:
            self.results.comparisons[key] = comparison
            self.results.missing.pop(key, None)
            self._write()

    def amount(self, key: str, amount: Amount) -> None:
        """Enter an amount."""
        self.results.amounts[key] = amount
        self._write()

    def point(self, point: Point) -> None:
        """Enter a point."""
        shape = "bare" if point.bare else "tree"
        key = f"{point.operation}-{shape}-{point.size}-{point.fanout}"
        self.results.points[key] = point
        self.results.missing.pop(key, None)
        self._write()

    def lacks(self, key: str, reason: str) -> None:
        """Note that something could not be measured."""
        self.results.missing[key] = reason
        self._write()

    def forget(self, name: str) -> None:
        """Drop what a benchmark could not measure the last time."""
        kept = {key: why for key, why in self.results.missing.items() if key != name and not key.startswith(f"{name}-")}
        self.results.missing = kept
        self._write()

    def _write(self) -> None:
        self.results.date = datetime.datetime.now(datetime.UTC).date().isoformat()
        text = msgspec.json.format(msgspec.json.encode(self.results), indent=1)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        partial = self._path.with_suffix(".partial")
        partial.write_bytes(text + b"\n")
        partial.replace(self._path)


def load(path: Path) -> Results:
    """Read a file of results."""
    return msgspec.json.decode(path.read_bytes(), type=Results)
