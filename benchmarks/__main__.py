"""Run the benchmarks that are named, or all of them, and render the report of what was measured so far."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

from benchmarks import report
from benchmarks import setting as settings
from benchmarks.measure import machine
from benchmarks.results import Book

NAMES = ("start-up", "canonical-form", "limits", "peers", "audit", "checkpoint", "signatures", "growth")
ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Parse the arguments, run, render."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"one of {', '.join(NAMES)}, or report; all when none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes, one run: does everything work?")
    parser.add_argument("--runs", type=int, help="how often to run what takes under a second (default: 15)")
    parser.add_argument("--long-runs", type=int, help="how often to run what takes longer (default: 5)")
    parser.add_argument("--sizes", type=int, nargs="+", help="records of the made-up registries of `growth`")
    parser.add_argument("--timeout", type=float, default=900, help="most seconds for a run of a program (default: 900)")
    parser.add_argument("--work", type=Path, help="folder to work in; by default a temporary one")
    parser.add_argument("--results", type=Path, help="file of results (default: benchmarks/results.json)")
    parser.add_argument("--docs", type=Path, help="folder to render the report to (default: docs)")
    arguments = parser.parse_args()
    if unknown := set(arguments.name) - {*NAMES, "report"}:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}, and report")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what runs is ended too, and the folder removed
    with tempfile.TemporaryDirectory(prefix="kstore-benchmarks-", ignore_cleanup_errors=True) as temporary:
        work = (arguments.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        path = arguments.results or (work / "results.json" if arguments.quick else ROOT / "benchmarks" / "results.json")
        docs = arguments.docs or (work if arguments.quick else ROOT / "docs")
        if arguments.name != ["report"]:
            settings.isolate(work)
            _run(arguments, work, Book(path, machine()))
        elif not path.exists():
            parser.error(f"there are no results in {path}; run the benchmarks first")
        report.write(path, docs)
        print(f"{path}: the results\n{docs / 'benchmarks.md'}: the report", file=sys.stderr)
        if docs == work:
            print((docs / "benchmarks.md").read_text("utf-8"))


def _run(arguments: argparse.Namespace, work: Path, book: Book) -> None:
    """Run one benchmark after another; one that fails does not keep the next from running."""
    quick = arguments.quick
    setting = settings.Setting(
        work=work,
        book=book,
        runs=arguments.runs or (1 if quick else 15),
        long_runs=arguments.long_runs or (1 if quick else 5),
        sizes=tuple(arguments.sizes or ((200, 400) if quick else (20_000, 200_000, 1_000_000))),
        quick=quick,
        timeout=arguments.timeout,
    )
    for name in [name for name in arguments.name if name != "report"] or NAMES:
        start = time.monotonic()
        print(f"{name} …", file=sys.stderr)
        book.forget(name)
        try:
            importlib.import_module(f"benchmarks.{name.replace('-', '_')}").run(setting)
        except Exception as error:
            traceback.print_exc()
            book.lacks(name, f"{type(error).__name__}: {error}")
        print(f"{name}: {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
