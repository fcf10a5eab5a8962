"""Keys as people have them, made by OpenSSH's own programs, and agents that hold them."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.registries import kstore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NEEDS_SSH = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="OpenSSH's programs are not here")


def ssh_keygen(*args: str | Path) -> str:
    """Run ssh-keygen and give what it prints."""
    return subprocess.run(["ssh-keygen", *args], check=True, capture_output=True, text=True).stdout


def ssh_key(path: Path, kind: str = "ed25519", passphrase: str = "") -> Path:
    """Make a key; its public half is beside it."""
    ssh_keygen("-q", "-t", kind, "-N", passphrase, "-C", "somebody@example.org", "-f", path)
    return path


def openssl(*args: str | Path) -> bytes:
    """Run openssl and give what it prints."""
    return subprocess.run(["openssl", *args], check=True, capture_output=True).stdout


def private_file(path: Path, data: bytes) -> Path:
    """Write a file that nobody else may read."""
    path.touch(0o600)
    path.write_bytes(data)
    return path


@contextlib.contextmanager
def ssh_agent(folder: Path) -> Iterator[Path]:
    """Run an agent, and give its socket, which SSH_AUTH_SOCK names meanwhile."""
    socket = folder / "agent"
    with subprocess.Popen(["ssh-agent", "-D", "-a", socket], stdout=subprocess.DEVNULL) as agent:
        try:
            for _ in range(500):
                if socket.exists():
                    break
                time.sleep(0.01)
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("SSH_AUTH_SOCK", str(socket))
                yield socket
        finally:
            agent.terminate()


def ssh_add(key: Path, *args: str) -> None:
    """Give a key to the agent."""
    subprocess.run(["ssh-add", "-q", *args, key], check=True, capture_output=True, stdin=subprocess.DEVNULL)


def trusted(registry: Path, key: Path, name: str = "alice") -> Path:
    """Make the first policy of a registry, with a key as its maintainer's and signer's; give the key."""
    kstore("--registry", registry, "trust", "init", "--name", name, "--key", key).ok()
    return key
