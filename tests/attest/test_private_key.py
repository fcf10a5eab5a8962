from __future__ import annotations

import functools
import os
import stat
import traceback
from typing import TYPE_CHECKING

import pytest

from kstore.attest.key import KeyRefusedError, PublicKey
from kstore.attest.private_key import (
    MAX_KEY_FILE,
    KeyFileError,
    generate,
    load_private,
    public_key_in,
    public_of,
    read_key_file,
)
from kstore.attest.signing import open_signer, public_key_of
from kstore.errors import KstoreError
from tests.keys import NEEDS_SSH, openssl, private_file, ssh_key, ssh_keygen

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = NEEDS_SSH

WORDS = "correct horse, bärtig"


def never() -> str:
    raise AssertionError("nobody should be asked")


@pytest.mark.parametrize("passphrase", ["", WORDS])
def test_a_key_of_ssh_keygen_opens(passphrase: str, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key", passphrase=passphrase)
    asked: list[int] = []

    def ask() -> str:
        asked.append(1)
        return passphrase

    signer = open_signer(file, ask)
    assert public_key_of(signer) == PublicKey.parse((tmp_path / "key.pub").read_text())
    assert signer.public_key.keyid == public_key_of(signer).id
    assert len(asked) == bool(passphrase)


@pytest.mark.parametrize("passphrase", ["", WORDS])
def test_a_pem_key_of_openssl_opens(passphrase: str, tmp_path: Path) -> None:
    private_file(tmp_path / "plain", openssl("genpkey", "-algorithm", "ed25519"))
    der = openssl("pkey", "-in", tmp_path / "plain", "-pubout", "-outform", "DER")
    options = ("-passout", f"pass:{passphrase}") if passphrase else ("-nocrypt",)
    file = private_file(tmp_path / "key", openssl("pkcs8", "-topk8", "-in", tmp_path / "plain", *options))
    assert public_key_in(file, lambda: passphrase).raw == der[-32:]
    assert public_key_of(open_signer(file, lambda: passphrase)).raw == der[-32:]


def test_the_public_half_of_an_encrypted_openssh_key_needs_no_passphrase(tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key", passphrase=WORDS)
    assert public_key_in(file, never) == public_key_in(tmp_path / "key.pub", never)


@pytest.mark.parametrize("make", ["openssh", "pem"])
def test_a_wrong_or_missing_passphrase_ends_it(make: str, tmp_path: Path) -> None:
    if make == "openssh":
        file = ssh_key(tmp_path / "key", passphrase=WORDS)
    else:
        plain = private_file(tmp_path / "plain", openssl("genpkey", "-algorithm", "ed25519"))
        data = openssl("pkcs8", "-topk8", "-in", plain, "-passout", f"pass:{WORDS}")
        file = private_file(tmp_path / "key", data)
    asked: list[int] = []

    def wrong() -> bytes:
        asked.append(1)
        return b"wrong \xff"

    with pytest.raises(KeyFileError, match="the passphrase is wrong"):
        open_signer(file, wrong)
    assert len(asked) == 1
    for nobody in (None, lambda: ""):
        with pytest.raises(KeyFileError, match="KSTORE_KEY_PASSPHRASE"):
            open_signer(file, nobody)


@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "dsa"])
@pytest.mark.parametrize("passphrase", ["", WORDS])
@pytest.mark.parametrize("form", ["RFC4716", "PEM", "PKCS8"])
def test_other_kinds_are_refused_before_anybody_is_asked(kind: str, passphrase: str, form: str, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key", kind, passphrase)
    if form != "RFC4716":
        ssh_keygen("-q", "-p", "-m", form, "-P", passphrase, "-N", passphrase, "-f", file)
    # PKCS #8 says inside of what is encrypted which kind of key it is.
    inside = form == "PKCS8" and passphrase
    with pytest.raises(KeyRefusedError, match="only Ed25519 keys sign here"):
        open_signer(file, (lambda: passphrase) if inside else never)


@pytest.mark.parametrize("algorithm", ["ed448", "x25519", "rsa"])
def test_other_kinds_in_pem_are_refused(algorithm: str, tmp_path: Path) -> None:
    file = private_file(tmp_path / "key", openssl("genpkey", "-algorithm", algorithm))
    with pytest.raises(KeyRefusedError, match=f"(?i)found one of the kind {algorithm}: only Ed25519 keys"):
        open_signer(file, never)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owners here")
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o610, 0o602, 0o644])
def test_a_private_key_that_others_may_read_is_not_used(mode: int, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    file.chmod(mode)
    with pytest.raises(KeyFileError, match=rf"its mode is {mode:04o}.*`chmod 600 "):
        open_signer(file)
    file.chmod(0o400)
    open_signer(file)


def test_a_key_may_come_through_a_pipe(tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as pipe:
        pipe.write(file.read_bytes())
    try:
        assert public_key_of(open_signer(f"/dev/fd/{reading}")) == public_key_in(file)
    finally:
        os.close(reading)


@pytest.mark.parametrize("file", ["missing", "."])
def test_a_file_that_cannot_be_read_is_named(file: str, tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match=r"cannot read the key: "):
        open_signer(tmp_path / file)


def test_an_endless_file_is_not_read_to_its_end() -> None:
    with pytest.raises(KeyRefusedError, match=f"more than {MAX_KEY_FILE} bytes"):
        open_signer("/dev/zero")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"hello\nworld\n",
        b"-----BEGIN PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAA\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA\n-----END OPENSSH PRIVATE KEY-----\n",
        b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA/////w==\n-----END OPENSSH PRIVATE KEY-----\n",
    ],
)
def test_what_is_no_key_is_refused(data: bytes, tmp_path: Path) -> None:
    file = private_file(tmp_path / "key", data)
    for use in (open_signer, public_key_in):
        with pytest.raises(KeyRefusedError):
            use(file)


@pytest.mark.parametrize("passphrase", ["", WORDS])
def test_a_damaged_key_is_refused_wherever_it_is_cut(passphrase: str, tmp_path: Path) -> None:
    whole = ssh_key(tmp_path / "key", passphrase=passphrase).read_bytes()
    head, *lines, tail = whole.strip().split(b"\n")
    body = b"".join(lines)
    for cut in range(4, len(body), 40):
        file = private_file(tmp_path / f"cut-{cut}", b"\n".join([head, body[: cut // 4 * 4], tail]))
        with pytest.raises(KstoreError):
            open_signer(file, lambda: passphrase)


def test_nothing_secret_is_in_a_repr_or_a_traceback(tmp_path: Path) -> None:
    plain = ssh_key(tmp_path / "plain")
    found = read_key_file(plain)
    key = load_private(found, never)
    secret = key.private_bytes_raw()
    body = plain.read_text().split("-----")[2].split()
    said = [repr(found), str(found), repr(key), repr(open_signer(plain)), repr(vars(open_signer(plain)))]

    encrypted = ssh_key(tmp_path / "encrypted", passphrase=WORDS)
    cut = private_file(tmp_path / "cut", plain.read_bytes().replace(body[-1].encode(), b""))
    for file, passphrase in ((encrypted, f"{WORDS}!"), (encrypted, ""), (cut, "")):
        with pytest.raises(KstoreError) as raised:
            open_signer(file, functools.partial(str, passphrase))
        said.append("".join(traceback.format_exception(raised.value)))
        assert raised.value.__cause__ is None
        assert raised.value.__suppress_context__ or raised.value.__context__ is None
    assert len(said) == 8
    for text in said:
        assert WORDS not in text
        assert not any(line in text for line in body)
        assert secret.hex() not in text
        assert repr(secret)[2:-1] not in text


@pytest.mark.parametrize("passphrase", [None, WORDS])
def test_openssh_reads_a_key_that_was_made(passphrase: str | None, tmp_path: Path) -> None:
    file = tmp_path / "key"
    key = generate(file, passphrase)
    assert ssh_keygen("-y", "-P", passphrase or "", "-f", file).split()[:2] == str(key).split()
    assert ssh_keygen("-l", "-f", f"{file}.pub").split()[1] == key.id
    assert public_of(load_private(read_key_file(file), lambda: passphrase or "")) == key
    if passphrase:
        with pytest.raises(KeyFileError, match="encrypted"):
            open_signer(file)


def test_only_the_owner_may_read_a_new_key_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        generate(tmp_path / "key")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "key.pub").stat().st_mode) == 0o644


@pytest.mark.parametrize("there", ["key", "key.pub"])
@pytest.mark.parametrize("dangling", [False, True])
def test_a_new_key_overwrites_nothing_and_nothing_is_left(there: str, dangling: bool, tmp_path: Path) -> None:
    if dangling:
        (tmp_path / there).symlink_to(tmp_path / "elsewhere")
    else:
        (tmp_path / there).write_bytes(b"mine")
    with pytest.raises(KeyFileError, match=rf"{there}: .*there already, and a key is never overwritten"):
        generate(tmp_path / "key")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert dangling or (tmp_path / there).read_bytes() == b"mine"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KeyFileError, match="No such file"):
        generate(tmp_path / "no" / "key")
