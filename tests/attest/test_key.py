from __future__ import annotations

import base64
import contextlib
import pickle
from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.key import _SMALL_ORDER, KeyRefusedError, PublicKey
from tests.keys import NEEDS_SSH, ssh_key, ssh_keygen

if TYPE_CHECKING:
    from pathlib import Path

RAW = Ed25519PrivateKey.from_private_bytes(bytes(range(32))).public_key().public_bytes_raw()
KEY = PublicKey(RAW)

# RFC 8032, section 5.1: the curve's prime and its constant d.
P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
ORDER = 2**252 + 27742317777372353535851937790883648493


@NEEDS_SSH
def test_the_id_is_the_fingerprint_that_ssh_keygen_prints(tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    key = PublicKey.parse((tmp_path / "key.pub").read_text())
    assert ssh_keygen("-l", "-E", "sha256", "-f", file).split()[1] == key.id
    assert ssh_keygen("-y", "-f", file).split()[:2] == str(key).split()


def test_a_key_survives_its_text_and_a_process_boundary() -> None:
    assert PublicKey.parse(str(KEY)) == KEY
    assert PublicKey.parse(f"  {KEY} a comment of\tmany words\n") == KEY
    assert pickle.loads(pickle.dumps(KEY)) == KEY  # noqa: S301 # our own bytes
    assert len({KEY, PublicKey(RAW)}) == 1
    assert KEY != RAW


@NEEDS_SSH
@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "dsa"])
def test_other_kinds_are_refused_with_the_reason(kind: str, tmp_path: Path) -> None:
    ssh_key(tmp_path / "key", kind)
    with pytest.raises(KeyRefusedError, match="only Ed25519 keys sign here, as they have one size"):
        PublicKey.parse((tmp_path / "key.pub").read_text())


@NEEDS_SSH
def test_a_certificate_is_no_key(tmp_path: Path) -> None:
    ssh_key(tmp_path / "ca")
    ssh_key(tmp_path / "key")
    ssh_keygen("-q", "-s", tmp_path / "ca", "-I", "id", "-n", "somebody", tmp_path / "key.pub")
    with pytest.raises(KeyRefusedError, match="a certificate is no key"):
        PublicKey.parse((tmp_path / "key-cert.pub").read_text())


def test_a_key_on_a_security_token_is_refused_with_the_reason() -> None:
    with pytest.raises(KeyRefusedError, match="security token signs more than it is given"):
        PublicKey.parse("sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIA==")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ssh-ed25519",
        "AAAAC3NzaC1lZDI1NTE5",
        "ssh-ed25519 AAAA",
        "ssh-ed25519 " + str(KEY).split()[1] + "=",
        "ssh-ed25519 " + str(KEY).split()[1][:-4],
        "ssh-ed25519 " + str(KEY).split()[1] + "AAAA",
        "ssh-ed25519 " + str(KEY).split()[1].replace("A", "é", 1),
        "ssh-ed25519 " + base64.b64encode(b"\x00\x00\x00\x07ssh-rsa" + bytes(32)).decode(),
    ],
)
def test_what_is_no_key_is_refused(text: str) -> None:
    with pytest.raises(KeyRefusedError):
        PublicKey.parse(text)


@given(st.binary(max_size=40).filter(lambda raw: len(raw) != 32))
def test_a_key_has_32_bytes(raw: bytes) -> None:
    with pytest.raises(KeyRefusedError, match=f"found {len(raw)}"):
        PublicKey(raw)


@given(at=st.integers(0, len(str(KEY)) - 1), character=st.characters(codec="ascii"))
def test_no_other_spelling_is_this_key(at: int, character: str) -> None:
    text = str(KEY)[:at] + character + str(KEY)[at + 1 :]
    if text.split() != str(KEY).split():
        with contextlib.suppress(KeyRefusedError):
            assert PublicKey.parse(text) != KEY


def test_points_of_small_order_are_nobodys_key() -> None:
    found = {encoding for y in orders_dividing_8() for encoding in spellings(y)}
    assert {raw[:-1] + bytes([raw[-1] & 0x7F]) for raw in found} == _SMALL_ORDER
    for raw in found:
        with pytest.raises(KeyRefusedError, match="small order"):
            PublicKey(raw)


def test_a_forgery_with_such_a_point_would_have_verified() -> None:
    """Shows why: with the neutral point as the key, this is a signature of any message."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    neutral = (1).to_bytes(32, "little")
    Ed25519PublicKey.from_public_bytes(neutral).verify(neutral + bytes(32), b"whatever")


def test_a_signature_verifies_for_its_message_and_key_alone() -> None:
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    signature = private.sign(b"message")
    assert KEY.verifies(signature, b"message")
    assert not KEY.verifies(signature, b"messagf")
    assert not PublicKey(Ed25519PrivateKey.generate().public_key().public_bytes_raw()).verifies(signature, b"message")
    for wrong in (b"", signature[:-1], signature + b"\x00"):
        assert not KEY.verifies(wrong, b"message")


def test_a_signature_has_one_form() -> None:
    """RFC 8032, section 5.1.7: S must be below the group's order, or whoever sees a signature can make another."""
    private = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    signature = private.sign(b"message")
    again = int.from_bytes(signature[32:], "little") + ORDER
    assert not KEY.verifies(signature[:32] + again.to_bytes(32, "little"), b"message")


def orders_dividing_8() -> set[int]:
    """Give the y of every point whose order divides 8, by multiplying points by the odd part of the curve's order."""
    found = set()
    for y in range(200):
        x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
        x = pow(x2, (P + 3) // 8, P)
        if x * x % P != x2:
            x = x * pow(2, (P - 1) // 4, P) % P
        if x * x % P == x2:
            found.add(times(ORDER, (x, y))[1])
    return found


def times(factor: int, point: tuple[int, int]) -> tuple[int, int]:
    result = (0, 1)
    while factor:
        if factor & 1:
            result = plus(result, point)
        point = plus(point, point)
        factor >>= 1
    return result


def plus(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    (x1, y1), (x2, y2) = one, other
    product = D * x1 * x2 * y1 * y2
    return (x1 * y2 + y1 * x2) * pow(1 + product, -1, P) % P, (y1 * y2 + x1 * x2) * pow(1 - product, -1, P) % P


def spellings(y: int) -> list[bytes]:
    """Give every way to write a point's y in 255 bits, with either sign."""
    return [(value | sign << 255).to_bytes(32, "little") for value in (y, y + P) if value < 2**255 for sign in (0, 1)]
