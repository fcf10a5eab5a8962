from __future__ import annotations

import os
import pty
import select
import stat
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from kstore.attest.key import PublicKey
from tests.keys import NEEDS_SSH, ssh_key, ssh_keygen
from tests.registries import kstore
from tests.registries import process as own_process

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "correct horse"


@pytest.fixture(autouse=True)
def _no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSTORE_KEY_PASSPHRASE", raising=False)


def test_generate_and_show_agree(tmp_path: Path) -> None:
    file = tmp_path / "key"
    made = kstore("key", "generate", file).ok()
    public, key_id = made.text.splitlines()
    assert PublicKey.parse(public).id == key_id
    assert "keep it to yourself" in made.err
    assert "not encrypted" in made.err
    assert f"{public}\n" == (tmp_path / "key.pub").read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for shown in (file, tmp_path / "key.pub"):
        assert kstore("key", "show", shown).ok().out == made.out
        assert kstore("key", "show", "--json", shown).ok().json() == {"id": key_id, "publicKey": public}


def test_json_and_quiet(tmp_path: Path) -> None:
    made = kstore("key", "generate", tmp_path / "key", "--json", "--quiet").ok()
    assert sorted(made.json()) == ["id", "publicKey"]
    assert made.err == ""


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    kstore("key", "generate", tmp_path / "key").ok()
    before = (tmp_path / "key").read_bytes()
    again = kstore("key", "generate", tmp_path / "key")
    assert (again.code, again.out) == (1, b"")
    assert "never overwritten" in again.err
    assert (tmp_path / "key").read_bytes() == before


@NEEDS_SSH
def test_the_environment_encrypts_a_new_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSTORE_KEY_PASSPHRASE", WORDS)
    made = kstore("key", "generate", tmp_path / "key").ok()
    assert "not encrypted" not in made.err
    assert ssh_keygen("-y", "-P", WORDS, "-f", tmp_path / "key").split()[:2] == made.text.split()[:2]
    kstore("key", "generate", "--no-passphrase", tmp_path / "plain").ok()
    ssh_keygen("-y", "-P", "", "-f", tmp_path / "plain")


@NEEDS_SSH
@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "dsa"])
def test_other_kinds_are_refused_with_the_reason(kind: str, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key", kind)
    for shown in (file, tmp_path / "key.pub"):
        refused = kstore("key", "show", shown)
        assert (refused.code, refused.out) == (1, b"")
        assert "only Ed25519 keys sign here" in refused.err


@NEEDS_SSH
def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    file.chmod(0o644)
    refused = kstore("key", "show", file)
    assert refused.code == 1
    assert f"`chmod 600 {file}`" in refused.err


def test_nobody_is_asked_where_there_is_no_terminal(tmp_path: Path) -> None:
    done = own_process("key", "generate", tmp_path / "key", stdin=f"{WORDS}\n{WORDS}\n".encode())
    assert done.ok().err.count("Passphrase") == 0
    assert "not encrypted" in done.err


@NEEDS_SSH
def test_a_terminal_is_asked_without_an_echo(tmp_path: Path) -> None:
    code, said = at_a_terminal(["key", "generate", str(tmp_path / "key")], [WORDS, WORDS])
    assert code == 0, said
    assert said.count("passphrase") >= 1
    assert WORDS not in said
    ssh_keygen("-y", "-P", WORDS, "-f", tmp_path / "key")


def test_two_different_passphrases_make_no_key(tmp_path: Path) -> None:
    code, said = at_a_terminal(["key", "generate", str(tmp_path / "key")], [WORDS, "correct hose"])
    assert code == 2, said
    assert "differ" in said
    assert list(tmp_path.iterdir()) == []


@NEEDS_SSH
def test_an_encrypted_pem_key_asks_once(tmp_path: Path) -> None:
    from tests.keys import openssl, private_file

    plain = private_file(tmp_path / "plain", openssl("genpkey", "-algorithm", "ed25519"))
    data = openssl("pkcs8", "-topk8", "-in", plain, "-passout", f"pass:{WORDS}")
    file = private_file(tmp_path / "key", data)
    code, said = at_a_terminal(["key", "show", str(file)], [WORDS])
    assert code == 0, said
    assert kstore("key", "show", plain).text.split()[-1] in said
    code, said = at_a_terminal(["key", "show", str(file)], ["wrong"])
    assert code == 1
    assert "the passphrase is wrong" in said
    assert said.count("Passphrase of") == 1


ON_A_TERMINAL = """
import fcntl, termios
from kstore.__main__ import main
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
main()
"""
"""What a session's first process does to have its standard input as its terminal, `/dev/tty`."""


def at_a_terminal(arguments: list[str], answers: list[str]) -> tuple[int, str]:
    """Run kstore on a terminal of its own, answer each question for a passphrase, and give what the terminal showed."""
    terminal, inside = pty.openpty()
    command = [sys.executable, "-c", ON_A_TERMINAL, *arguments]
    process = subprocess.Popen(command, stdin=inside, stdout=inside, stderr=inside, start_new_session=True)
    os.close(inside)
    said = ""
    waiting = list(answers)
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                data = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            said += data.decode()
            if waiting and said.endswith(": ") and said.count(": ") > len(answers) - len(waiting):
                os.write(terminal, f"{waiting.pop(0)}\n".encode())
    finally:
        os.close(terminal)
        code = process.wait(60)
    assert waiting == [], said
    return code, said


def test_help_has_examples() -> None:
    for command in (["key", "generate"], ["key", "show"]):
        assert "Examples:" in kstore(*command, "--help").ok().text
    assert subprocess.run([sys.executable, "-m", "kstore", "key"], check=False, capture_output=True).returncode == 2
