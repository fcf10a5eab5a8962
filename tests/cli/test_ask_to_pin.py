"""At a terminal, verify and audit ask once whether to pin the registry's policy; elsewhere they never ask."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kstore.attest.pin import Pin
from kstore.digest import Digest
from tests.attest.policies import ALICE, chain, policy
from tests.registries import kstore
from tests.statements import commit_at, place_policies

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "Is this digest the one that its maintainers have told you?"


@pytest.fixture
def unpinned(empty: Path) -> Path:
    """A registry with a policy that is not pinned."""
    place_policies(empty, chain((policy(1, 1, ALICE.listed("alice")), (ALICE,))))
    commit_at(empty, 1_780_000_000)
    return empty


def at_a_terminal(registry: Path, answer: str, *args: str) -> tuple[int, str]:
    """Run kstore with a terminal as standard input and standard error; give the exit code and what it showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "kstore", *args], cwd=registry, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, answer.encode())
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        # Linux says so when the other side is closed.
        pass
    os.close(ours)
    return process.wait(60), shown.decode()


@pytest.mark.parametrize("command", ["verify", "audit"])
def test_yes_pins_and_no_is_remembered(command: str, unpinned: Path) -> None:
    code, shown = at_a_terminal(unpinned, "no\n", command)
    assert (code, shown.count(QUESTION)) == (3, 1)
    assert f"policy 1 {Digest.of((unpinned / 'store/trust/1.json').read_bytes())}" in shown
    code, shown = at_a_terminal(unpinned, "yes\n", command)
    assert (code, shown.count(QUESTION)) == (3, 0)
    assert Pin(unpinned / ".git/kstore").recall() is None
    (unpinned / ".git/kstore/asked").unlink()
    code, shown = at_a_terminal(unpinned, "yes\n", command)
    assert (code, shown.count(QUESTION)) == (0, 1)
    code, shown = at_a_terminal(unpinned, "", command)
    assert (code, shown.count(QUESTION)) == (0, 0)


@pytest.mark.parametrize("options", [["--json"], ["--quiet"]])
def test_a_script_is_never_asked(options: list[str], unpinned: Path) -> None:
    code, shown = at_a_terminal(unpinned, "yes\n", "verify", *options)
    assert (code, shown.count(QUESTION)) == (3, 0)
    ran = kstore("verify", cwd=unpinned, stdin=b"yes\n")
    assert (ran.code, ran.err.count(QUESTION)) == (3, 0)


def test_a_registry_without_a_policy_does_not_ask(empty: Path) -> None:
    code, shown = at_a_terminal(empty, "", "verify")
    assert (code, shown.count(QUESTION)) == (0, 0)
    assert not (empty / ".git/kstore/asked").exists()
