from __future__ import annotations

import gc
import socket
import threading
from typing import TYPE_CHECKING

import pytest

from kstore.attest.envelope import pae
from kstore.attest.key import KeyRefusedError
from kstore.attest.private_key import KeyFileError, public_key_in
from kstore.attest.signing import open_signer, public_key_of, sign_payload
from tests.keys import NEEDS_SSH, ssh_add, ssh_agent, ssh_key, ssh_keygen

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = NEEDS_SSH

# paramiko leaves a connection that it could not use to the garbage collector.
leaves_sockets = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Path]:
    with ssh_agent(tmp_path) as found:
        yield found


def test_a_key_in_an_agent_signs_as_its_file_does(agent: Path, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    other = ssh_key(tmp_path / "other")
    ssh_add(other)
    ssh_add(file)
    in_file = sign_payload("application/x", b"payload", [open_signer(file)])
    signer = open_signer(f"{file}.pub")
    file.unlink()
    assert signer.public_key.keyid == public_key_of(signer).id == public_key_in(f"{file}.pub").id
    assert sign_payload("application/x", b"payload", [signer]) == in_file
    assert public_key_of(signer).verifies(in_file.signatures[0].sig, pae("application/x", b"payload"))


def test_the_public_file_is_enough_for_an_encrypted_key(agent: Path, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    ssh_add(file)
    ssh_keygen("-q", "-p", "-P", "", "-N", "secret", "-f", file)

    def never() -> str:
        raise AssertionError("nobody should be asked")

    assert sign_payload("application/x", b"", [open_signer(f"{file}.pub", never)]).signatures


def test_a_certificate_in_an_agent_does_not_hide_the_key(agent: Path, tmp_path: Path) -> None:
    ssh_key(tmp_path / "ca")
    file = ssh_key(tmp_path / "key")
    ssh_keygen("-q", "-s", tmp_path / "ca", "-I", "id", "-n", "somebody", f"{file}.pub")
    ssh_add(file)  # adds the certificate, too
    assert sign_payload("application/x", b"", [open_signer(f"{file}.pub")]).signatures


def test_a_key_that_the_agent_lacks_is_named(agent: Path, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    with pytest.raises(KeyFileError, match=r"no ssh-agent has the private key of SHA256:.*ssh-add"):
        open_signer(f"{file}.pub")
    ssh_add(ssh_key(tmp_path / "other"))
    with pytest.raises(KeyFileError, match="has 1 other"):
        open_signer(f"{file}.pub")


@pytest.mark.parametrize("kind", ["rsa", "ecdsa"])
def test_other_kinds_are_refused_though_an_agent_has_them(kind: str, agent: Path, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key", kind)
    ssh_add(file)
    with pytest.raises(KeyRefusedError, match="only Ed25519 keys sign here"):
        open_signer(f"{file}.pub")


def test_an_agent_that_is_locked_meanwhile_does_not_sign(agent: Path, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    ssh_add(file)
    signer = open_signer(f"{file}.pub")
    ssh_add(file, "-d")
    with pytest.raises(KeyFileError, match="ssh-agent does not sign with SHA256:"):
        signer.sign(b"message")


@leaves_sockets
def test_without_an_agent_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ssh_key(tmp_path / "key")
    for value in ("", str(tmp_path / "missing")):
        monkeypatch.setenv("SSH_AUTH_SOCK", value)
        with pytest.raises(KeyFileError, match=r"none runs.*ssh-agent"):
            open_signer(f"{file}.pub")
    gc.collect()


@leaves_sockets
@pytest.mark.parametrize("answer", [b"", b"\x00\x00\x00\x01\x05", b"\x00\x00\x00\x05\x0c\x00\x00\x00\x01"])
def test_an_agent_that_talks_nonsense_is_left(answer: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = ssh_key(tmp_path / "key")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path / "agent"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "agent"))
        server.listen()

        def talk() -> None:
            with server.accept()[0] as connection:
                connection.recv(100)
                connection.sendall(answer)

        thread = threading.Thread(target=talk)
        thread.start()
        with pytest.raises(KeyFileError):
            open_signer(f"{file}.pub")
        thread.join()
    gc.collect()
