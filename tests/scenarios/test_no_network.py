"""Signing, trusting and checking ask nobody: all of it works where there is no network to ask."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from kstore.digest import Digest
from tests.registries import ALL, PROTOCOL, RUN, git, process

if TYPE_CHECKING:
    from pathlib import Path

ISOLATED = ("unshare", "--map-root-user", "--net")
"""Starts a program in a network namespace of its own, which has no interface that is up."""

LOOPBACK = """
import socket
server = socket.create_server(("127.0.0.1", 0)) if {listening} else None
socket.create_connection(("127.0.0.1", server.getsockname()[1] if server else 9), 5)
"""


def _runs(program: str, *before: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*before, sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.fixture(autouse=True)
def _isolation() -> None:
    try:
        allowed = subprocess.run([*ISOLATED, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("this machine lets nobody make a network namespace with `unshare`")


def test_there_is_no_network_in_there() -> None:
    if _runs(LOOPBACK.format(listening=True)).returncode != 0:
        pytest.skip("there is no network out here either")
    assert "unreachable" in _runs(LOOPBACK.format(listening=False), *ISOLATED).stderr


def test_everything_about_signatures_works_without_a_network(tmp_path: Path) -> None:
    def run(*args: str | Path, clone: str = "results") -> str:
        return process(*args, cwd=tmp_path / clone, before=ISOLATED).ok().text

    (tmp_path / "results").mkdir()
    alice, bob = (tmp_path / name for name in ("alice", "bob"))
    key = ("--key", alice)
    run("init")
    run("add", *ALL)
    for name in (alice, bob):
        run("key", "generate", name)
        run("key", "show", name)
    run("trust", "init", "--name", "alice", *key)
    run("trust", "add", "bob", f"{bob}.pub", *key)
    run("sign", RUN, PROTOCOL, *key)
    run("attest", RUN, "--result", "reproduced", "--key", bob)
    run("retract", RUN, "--reason", "the clock was wrong", *key)
    run("checkpoint", "create", *key)
    run("trust", "revoke", "bob", *key)
    run("trust", "list")
    run("trust", "export", "--allowed-signers")
    git(tmp_path, "clone", "--quiet", "results", "clone")
    pin = Digest.of((tmp_path / "clone" / "store" / "trust" / "1.json").read_bytes())
    run("trust", "pin", pin, clone="clone")
    for command in (["verify"], ["audit"], ["show", RUN], ["resolve", RUN], ["list"], ["log", RUN]):
        run(*command, clone="clone")
    assert "retracted" in run("list", clone="clone")
