"""`kstore import`: what it says to people and to programs, and how it ends."""

from __future__ import annotations

import copy
import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.bulk import catalog, lines, reference_rows, run, write
from tests.registries import RMS_NORM, TVD, environment, environments, kstore, load

if TYPE_CHECKING:
    from pathlib import Path


def test_tables_that_hold_nothing_are_named_and_counted(empty: Path, tmp_path: Path) -> None:
    rows = [*reference_rows(), {"table": "sources", "row": {}}]
    ran = kstore("--registry", empty, "import", "--from", "catalog", write(tmp_path / "rows", rows)).ok()
    assert ran.out == b""
    assert ran.err.splitlines()[:2] == [
        "note: rows without documents of their own were left out: artifacts (1), sources (2)",
        "note: 13 rows, 14 documents: 13 records added, 0 with new metadata, 0 present, 0 lines rejected",
    ]
    assert ran.err.splitlines()[2].startswith("note: committed as ")
    again = kstore("--registry", empty, "import", "--from", "catalog", tmp_path / "rows").ok()
    assert again.err.endswith("note: everything is there already; nothing to commit\n")


def test_quiet_leaves_errors_only(empty: Path) -> None:
    good, bad = lines([environment()]), b"x\n"
    assert kstore("--registry", empty, "import", "-", "-q", "--dry-run", stdin=good).ok().err == ""
    ran = kstore("--registry", empty, "import", "-", "-q", stdin=good + bad)
    assert (ran.code, ran.err) == (1, "error: -:2: 1:1: expected a value, found `x`\n")


@pytest.mark.parametrize(
    ("args", "data", "code", "end"),
    [
        ([], b"x\n", 1, "nothing was written; --keep-going adds what is sound"),
        (["--keep-going"], b"x\n", 1, "there is nothing to add; nothing to commit"),
        (["--dry-run"], b"", 0, "nothing was written (--dry-run)"),
        (["--dry-run", "--keep-going"], b"x\n", 1, "nothing was written (--dry-run)"),
        ([], b"", 0, "there is nothing to add; nothing to commit"),
    ],
)
def test_why_there_is_no_commit(args: list[str], data: bytes, code: int, end: str, empty: Path) -> None:
    ran = kstore("--registry", empty, "import", "-", *args, stdin=data)
    assert ran.code == code
    assert end in ran.err.splitlines()[-1]


def test_only_the_first_few_warnings_are_shown_and_all_are_in_json(registry: Path, tmp_path: Path) -> None:
    odd = []
    for number in range(8):
        odd.append(copy.deepcopy(load(TVD)["run"]))
        odd[-1]["spec"]["implementationDigest"] = load(RMS_NORM)["run"]["spec"]["implementationDigest"]
        odd[-1]["spec"]["observedAt"] = f"2030-01-0{number + 1}T00:00:00Z"
    ran = run(registry, write(tmp_path / "runs", odd), "--dry-run").ok()
    assert [warning["line"] for warning in ran.json()["warnings"]] == list(range(1, 9))
    assert ran.err.count("expected an implementation of the workload's operation") == 5
    assert "note: and 3 more like these; --json lists all\n" in ran.err


def test_of_very_many_bad_lines_the_first_are_listed_and_all_are_counted(empty: Path, tmp_path: Path) -> None:
    (tmp_path / "bad").write_bytes(lines([environment()]) + b"x\n" * 300_000)
    ran = kstore("--registry", empty, "import", tmp_path / "bad", "--json", "--keep-going", "--jobs", "2")
    assert ran.code == 1
    told = ran.json()
    assert (told["rejected_total"], told["rows"], told["added"]) == (300_000, 300_001, 1)
    assert [each["line"] for each in told["rejected"]] == list(range(2, 1002))
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1001
    assert errors[-1].endswith("bad: 299,000 more were rejected; only the first 1,000 are listed")
    assert ", 300,000 lines rejected\n" in ran.err


def test_a_name_in_a_file_cannot_take_the_terminal_over(empty: Path, tmp_path: Path) -> None:
    ran = catalog(empty, write(tmp_path / "rows", [{"table": "\x1b[2J", "row": {}}, {"table": "a", "row": "\x1b[2J"}]))
    assert "\x1b" not in ran.err
    assert b"\x1b" not in ran.out
    assert "\\u001b[2J" in ran.err


def on_a_terminal(*command: str | Path) -> tuple[int, bytes]:
    """Run a program whose stderr is a terminal, and give what it shows there."""
    master, terminal = pty.openpty()
    with subprocess.Popen([sys.executable, "-m", "kstore", *command], stderr=terminal) as program:
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:  # what Linux says when nobody has the terminal open any more
                break
            if not piece:
                break
            shown += piece
    os.close(master)
    return program.returncode, shown


def test_a_bar_on_a_terminal_and_none_elsewhere(empty: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "many.jsonl.zst", environments(500))
    code, shown = on_a_terminal("--registry", empty, "import", file, "--dry-run", "--jobs", "1")
    assert code == 0
    assert b"Importing" in shown
    assert b"100%" in shown
    assert b"500 records added" in shown
    assert "Importing" not in kstore("--registry", empty, "import", file, "--dry-run").ok().err


def test_a_file_that_is_not_there_and_no_registry(empty: Path, tmp_path: Path) -> None:
    ran = kstore("--registry", empty, "import", tmp_path / "gone")
    assert (ran.code, ran.err) == (1, f"error: {tmp_path / 'gone'}: cannot be opened: No such file or directory\n")
    assert kstore("--registry", tmp_path, "import", "-").code == 10
    assert kstore("--registry", empty, "import", "-", "--jobs", "0").code == 2
