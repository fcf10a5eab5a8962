from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from securesystemslib.signer import CryptoSigner, Signature, Signer

from kstore.attest.envelope import Envelope
from kstore.attest.key import KeyRefusedError
from kstore.attest.private_key import generate
from kstore.attest.signing import SigningError, open_signer, public_key_of, sign_payload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_every_signer_signs_once_and_signatures_are_sorted(tmp_path: Path) -> None:
    keys = [generate(tmp_path / name) for name in "abc"]
    signers = [open_signer(tmp_path / name) for name in "abca"]
    envelope = sign_payload("application/x", b"payload", signers)
    assert [each.keyid for each in envelope.signatures] == sorted(key.id for key in keys)
    assert Envelope.from_bytes(envelope.to_bytes()) == envelope
    assert sign_payload("application/x", b"payload", reversed(signers)) == envelope


def test_a_signer_of_securesystemslib_goes_by_our_id() -> None:
    signer = CryptoSigner.generate_ed25519()
    key = public_key_of(signer)
    assert signer.public_key.keyid != key.id
    (signature,) = sign_payload("application/x", b"payload", [signer]).signatures
    assert signature.keyid == key.id


@pytest.mark.parametrize("make", [CryptoSigner.generate_ecdsa, CryptoSigner.generate_rsa])
def test_signers_of_other_kinds_are_refused(make: Callable[[], CryptoSigner]) -> None:
    with pytest.raises(KeyRefusedError, match="only Ed25519 keys sign here"):
        sign_payload("application/x", b"payload", [make()])


class Broken(CryptoSigner):
    """A signer that has gone wrong somewhere between here and its hardware."""

    def sign(self, payload: bytes) -> Signature:
        right = super().sign(payload)
        return Signature(right.keyid, right.signature[:-2] + ("00" if right.signature[-2:] != "00" else "01"))


def test_a_wrong_signature_is_not_kept() -> None:
    broken: Signer = Broken(Ed25519PrivateKey.generate())
    with pytest.raises(SigningError, match="made a wrong signature"):
        sign_payload("application/x", b"payload", [broken])
