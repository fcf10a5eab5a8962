"""Renders `docs/benchmarks.md` and `docs/benchmarks.svg` from the results, with the notes of `benchmarks-notes.md`.

The notes are prose that people write. A section `## Title` of the notes goes, as it is, to the end of the report's
section of that title; what stands before the first heading goes to the report's beginning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from benchmarks.contract import PROMISES, SECTIONS
from benchmarks.measure import Spread
from benchmarks.plot import plot
from benchmarks.results import load

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from benchmarks.contract import Promise
    from benchmarks.results import Comparison, Point, Results

_HOW = """
```sh
apt-get install ostree restic borgbackup bup    # the other programs; what is missing is left out
python3 -m venv dvc && dvc/bin/pip install dvc
PATH="$PATH:$PWD/dvc/bin" python -m benchmarks  # everything, and this page anew
```

`python -m benchmarks peers` runs one part (`start-up`, `canonical-form`, `limits`, `peers`, `audit`, `checkpoint`,
`signatures`, `growth`), `--quick` tries everything on a few hundred records, `--sizes 20000 200000` leaves the largest
registry out, `--work DIR` chooses the disk, and `report` renders the page from `benchmarks/results.json` alone. The
catalogue is expected in `../shared/data`; `python -m benchmarks.synthetic 200000 made-up.jsonl.zst` makes up one of any
size.

What is compared was run in turn, A B A B, after one round that does not count, and a ratio is that of two runs side by
side. Ratios are kstore's time divided by the other's: under 1, kstore is faster. Times are those of whole processes,
their start included.
"""

_PROMISED, _LIMITS = "What is promised", "Limits"
_PLAIN_WORK = "What this machine needs for the plain work on the same bytes, in one thread:\n"


def write(results: Path, docs: Path) -> None:
    """Render the page and the plot into a folder; its notes are made when they are not there.

    Raises:
        FileNotFoundError: There are no results.
    """
    measured = load(results)
    notes = docs / "benchmarks-notes.md"
    if not notes.exists():
        notes.write_text(
            "".join(f"## {title}\n\n" for title in [_PROMISED, *SECTIONS.values(), _LIMITS]).rstrip() + "\n", "utf-8"
        )
    (docs / "benchmarks.md").write_text(page(measured, notes.read_text("utf-8")), "utf-8")
    (docs / "benchmarks.svg").write_text(plot(measured), "utf-8")


def page(results: Results, notes: str) -> str:
    """Give the page.

    Raises:
        ValueError: The notes have a section that the page has not.
    """
    said = _sections(notes)
    if lost := set(said) - {"", _PROMISED, *SECTIONS.values(), _LIMITS}:
        raise ValueError(f"benchmarks-notes.md: the report has no section {', '.join(sorted(lost))}")
    parts = [
        "# Benchmarks\n",
        "<!-- Rendered by `python -m benchmarks report`; write prose in benchmarks-notes.md. -->\n",
        said.get("", ""),
        "![How long kstore takes, compared with others, and as registries grow](benchmarks.svg)\n",
        f"## {_PROMISED}\n",
        _contract(results),
        said.get(_PROMISED, ""),
        "## The machine\n",
        _machine(results),
        "## How to run them\n",
        _HOW.strip("\n") + "\n",
    ]
    for key, title in SECTIONS.items():
        body = [_comparisons(results, key), _points(results, key), _amounts(results, key), said.get(title, "")]
        if any(body):
            parts += [f"## {title}\n", *body]
    parts += [f"## {_LIMITS}\n", _PLAIN_WORK, _amounts(results, "limits"), said.get(_LIMITS, "")]
    if results.missing:
        parts += ["## Not measured\n", _table(["what", "why"], [[key, why] for key, why in results.missing.items()])]
    return "\n".join(part for part in parts if part)


def _sections(notes: str) -> dict[str, str]:
    """Give the notes by title; what stands before the first has an empty one."""
    pieces = re.split(r"^## (.+)\n", notes, flags=re.MULTILINE)
    titled = {"": pieces[0], **dict(zip(pieces[1::2], pieces[2::2], strict=True))}
    return {title: text.strip("\n") + "\n" for title, text in titled.items() if text.strip()}


def _contract(results: Results) -> str:
    rows = []
    for promise in PROMISES:
        measured = measured_promise(results, promise)
        spell, limit = {
            "times": (_ratio, f"{promise.limit:.4g}"),
            "bytes": (lambda spread: _size(spread.median), _size(promise.limit)),
            "s": (lambda spread: f"{_ratio(spread)} s", f"{promise.limit:.4g} s"),
        }[promise.unit]
        if measured is None:
            shown, met = "not measured", ""
        else:
            shown, met = spell(measured), "yes" if measured.median <= promise.limit else "**no**"
        rows.append([promise.work, promise.against or "none", limit, shown, met])
    return _table(["work", "against", "at most", "measured", "met?"], rows)


def measured_promise(results: Results, promise: Promise) -> Spread | None:
    """Give what was measured of a promise, in its unit, or None."""
    if promise.unit == "bytes":
        amount = results.amounts.get(promise.key)
        return Spread.of(amount.values) if amount else None
    comparison = results.comparisons.get(promise.key)
    if comparison is None:
        return None
    return Spread.of(comparison.ours) if promise.unit == "s" else comparison.ratio


def _machine(results: Results) -> str:
    rows = [[what, text] for what, text in {**results.machine, "measured": results.date}.items()]
    return _table(["", ""], rows)


def _comparisons(results: Results, section: str) -> str:
    chosen = [each for each in results.comparisons.values() if each.section == section]
    rows = [[each.work, each.against, _ratio(each.ratio), *_both(each), str(len(each.ours))] for each in chosen]
    return _table(["kstore", "against", "ratio", "kstore takes", "the other takes", "runs"], rows) if rows else ""


def _both(each: Comparison) -> list[str]:
    return [_of(each.ours, each.unit), _of(each.theirs, each.unit)]


def _amounts(results: Results, section: str) -> str:
    chosen = [each for each in results.amounts.values() if each.section == section]
    return _table(["", "measured"], [[each.what, _of(each.values, each.unit)] for each in chosen]) if chosen else ""


def _points(results: Results, section: str) -> str:
    """Show how an operation grows: its times, and their ratios to those of the smallest registry of its shape."""
    chosen = [each for each in results.points.values() if each.operation.split()[0] == section]
    chosen.sort(key=lambda each: (each.operation, not each.bare, each.fanout, each.size))
    remembers = any(each.largest for each in chosen)
    rows = []
    for each in chosen:
        base = next(
            other
            for other in chosen
            if (other.operation, other.bare, other.fanout) == (each.operation, each.bare, each.fanout)
        )
        row = [each.operation, "bare" if each.bare else "working tree", str(each.fanout), f"{each.size:,}"]
        row += [_growth(each, base), _of(each.seconds, "s")]
        if remembers:
            row += [_size(peak) if peak else "" for peak in (each.largest, each.together)]
        rows.append(row)
    heads = ["operation", "registry", "fan-out", "records", "to the smallest", "takes"]
    return _table([*heads, *["largest process", "all processes"] * remembers], rows) if rows else ""


def _growth(point: Point, base: Point) -> str:
    ratio = Spread.of(point.seconds).median / Spread.of(base.seconds).median
    return "1" if point is base else f"{ratio:.3g} ({point.size / base.size:.3g} times the records)"


def _ratio(spread: Spread) -> str:
    return f"**{_short(spread.median)}** [{_short(spread.least)}, {_short(spread.greatest)}]"


def _short(value: float) -> str:
    return f"{value:.2f}" if 0.1 <= value < 100 else f"{value:.3g}"


def _of(values: Sequence[float], unit: str) -> str:
    """Give a median and, of several values, the ends."""
    show = _size if unit == "bytes" else _time
    spread = Spread.of(values)
    ends = f" [{show(spread.least)}, {show(spread.greatest)}]" if len(values) > 1 else ""
    return f"{show(spread.median)}{ends}"


def _time(seconds: float) -> str:
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 1000 else f"{seconds:.0f} s"
    return f"{seconds / 1e-6:.3g} µs"


def _size(size: float) -> str:
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |\n" for line in lines)
