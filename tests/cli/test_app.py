"""The command line as a whole: exit codes, what goes to which stream, help."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kstore.cli.app import COMMANDS
from tests.registries import ALL, RUN, TVD, environment, kstore, process, save

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.mark.parametrize("command", [name.rstrip("_") for name in COMMANDS])
def test_every_help_has_an_example(command: str) -> None:
    check_help(command)


def check_help(*command: str) -> None:
    """Look at the help of a command, or at those of a group's commands."""
    text = kstore(*command, "--help").ok().text
    assert all(len(line) <= 100 for line in text.splitlines())
    assert kstore(*command, "-h").text == text
    _, _, listed = text.partition("\nCommands:\n")
    for line in listed.splitlines():
        if line.startswith("  ") and line[2] != " ":
            check_help(*command, line.split()[0])
    assert listed or f"\n      kstore {' '.join(command)}" in text


def test_the_program_without_arguments_helps() -> None:
    assert "Commands:" in kstore("--help").ok().text
    ran = kstore()
    assert ran.code == 2
    assert "Commands:" in ran.text + ran.err


def test_the_version_is_the_packages() -> None:
    assert kstore("--version").ok().text == f"kstore {version('kstore')}\n"


def test_the_installed_program_is_the_same_as_the_module(registry: Path) -> None:
    script = Path(sys.executable).with_name("kstore")
    if not script.exists():
        pytest.skip("kstore is not installed here")
    done = subprocess.run([script, "list", "--json"], cwd=registry, capture_output=True, check=True)
    assert done.stdout == process("list", "--json", cwd=registry).out == kstore("list", "--json", cwd=registry).out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["list", "--nonsense"],
        ["list", "extra"],
        ["list", "--kind", "Nonsense"],
        ["list", "--kind"],
        ["show"],
        ["show", "--yaml", "--canonical", RUN],
        ["add"],
        ["add", "--wait", "soon", "x"],
        ["add", "--wait", "-1", "x"],
        ["digest"],
        ["init", "--fanout", "3"],
        ["schema", "Nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage(arguments: list[str], registry: Path) -> None:
    ran = kstore(*arguments, cwd=registry)
    assert ran.code == 2
    assert ran.out == b""
    assert "rror" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["list", "--json"],
        ["verify", "--json"],
        ["show", RUN],
        ["resolve", RUN],
        ["add", "--json", *map(str, ALL)],
        ["add", "--json", str(TVD.with_suffix(".txt"))],
        ["digest", "--json", str(TVD.with_suffix(".txt"))],
        ["validate", "--json", str(TVD.with_suffix(".txt"))],
        ["schema"],
        ["schema", "BenchmarkRun"],
    ],
    ids=lambda arguments: " ".join(word.rpartition("/")[2] for word in arguments[:3]),
)
def test_one_json_document_on_stdout(arguments: Sequence[str], registry: Path) -> None:
    ran = kstore(*arguments, cwd=registry).ok()
    json.loads(ran.out)
    assert ran.out.endswith(b"\n")
    assert all(line.startswith("note: ") for line in ran.err.splitlines())


def test_quiet_silences_notes_and_no_errors(registry: Path, tmp_path: Path) -> None:
    text = str(TVD.with_suffix(".txt"))
    for command in (["add", text], ["digest", text], ["validate", text], ["verify"], ["init", str(tmp_path / "new")]):
        assert kstore(*command, cwd=registry).ok().err
        assert kstore(*command, "--quiet", cwd=registry).ok().err == ""
    bad = save(tmp_path, environment(more=1))
    for command in (["add", str(bad)], ["digest", str(bad)], ["validate", str(bad)]):
        assert "spec.more" in kstore(*command, "-q", cwd=registry).err


def test_one_row_a_line(registry: Path) -> None:
    lines = kstore("list", "--jsonl", cwd=registry).ok().text.splitlines()
    assert [json.loads(line) for line in lines] == kstore("list", "--json", cwd=registry).json()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_output_is_utf_8_whatever_the_locale_says(encoding: str, registry: Path) -> None:
    ran = process("show", RUN, cwd=registry, env={"PYTHONIOENCODING": encoding, "LC_ALL": "C"}).ok()
    assert ran.out == kstore("show", RUN, cwd=registry).out
    assert "·".encode() in ran.out


def test_a_reader_that_has_read_enough(registry: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for command in (["list"], ["schema"], ["show", "--canonical", RUN]):
        done = subprocess.run(
            [sys.executable, "-m", "kstore", *command],
            cwd=registry,
            stdout=writing,
            stderr=subprocess.PIPE,
            check=False,
        )
        assert done.returncode == 1
        assert done.stderr == b""
    os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_output_that_cannot_be_written(registry: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "kstore", "list"], cwd=registry, stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr == b"error: output: No space left on device\n"


def test_an_interrupt_has_its_exit_code(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Whoever runs the tests in the background has interrupts ignored, and a child takes that over.
    heeding = "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    heeding += "runpy.run_module('kstore', run_name='__main__', alter_sys=True)"
    running = subprocess.Popen(
        [sys.executable, "-c", heeding, "digest", pipe], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # Opening it waits until the program does so, too: it is at work by then.
    with pipe.open("wb"):
        running.send_signal(signal.SIGINT)
        out, err = running.communicate()
    assert (running.returncode, out, err) == (130, b"", b"")
