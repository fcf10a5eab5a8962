"""Signing: from a key file to a signer, and from payloads to envelopes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.attest.envelope import Envelope, pae, sealed
from kstore.attest.key import KeyRefusedError, PublicKey
from kstore.attest.private_key import Asked, load_private, public_of, read_key_file, read_public
from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import TypeAlias

    import securesystemslib.signer
    from securesystemslib.signer import SSlibKey

    Signer: TypeAlias = securesystemslib.signer.Signer
    """What signs, for rooms that take a signer and need not know whose interface it is."""


class SigningError(KstoreError):
    """A signer does not sign, or not rightly."""


def open_signer(file: str | Path, passphrase: Asked = None) -> Signer:
    """Make a signer of a key file.

    Args:
        file: An OpenSSH or PEM private key, or a public key whose private half an ssh-agent holds.
        passphrase: What is asked for the passphrase of an encrypted key.

    Raises:
        KeyFileError: The key cannot be read or decrypted, or no agent has it.
        KeyRefusedError: It is no key, or of another kind than Ed25519.
    """
    found = read_key_file(file)
    if not found.private:
        public = read_public(found)
        from kstore.attest.agent import AgentSigner

        return AgentSigner(public, _described(public))
    from securesystemslib.signer import CryptoSigner

    private = load_private(found, passphrase)
    return CryptoSigner(private, _described(public_of(private)))


def public_key_of(signer: Signer) -> PublicKey:
    """Give the key that a signer signs with, whatever id it goes by itself.

    Raises:
        KeyRefusedError: It is of another kind than Ed25519.
    """
    key = signer.public_key
    if (key.keytype, key.scheme) != ("ed25519", "ed25519"):
        raise KeyRefusedError(
            f"expected a signer with an Ed25519 key, found one with {key.keytype} ({key.scheme}): "
            "only Ed25519 keys sign here"
        )
    return PublicKey(bytes.fromhex(key.keyval["public"]))


def sign_payload(payload_type: str, payload: bytes, signers: Iterable[Signer]) -> Envelope:
    """Sign a payload; a key that comes twice signs once.

    Raises:
        KeyRefusedError: A key is of another kind than Ed25519.
        SigningError: A signer made something that is no signature of its key.
    """
    message = pae(payload_type, payload)
    signatures = {}
    for key, signer in {public_key_of(signer): signer for signer in signers}.items():
        # What signs is not always ours (an agent, a cloud), and a signature that went wrong may give its key away.
        signature = bytes.fromhex(signer.sign(message).signature)
        if not key.verifies(signature, message):
            raise SigningError(f"what signs for {key.id} made a wrong signature; nothing of it was kept")
        signatures[key.id] = signature
    return sealed(payload_type, payload, signatures)


def _described(key: PublicKey) -> SSlibKey:
    from securesystemslib.signer import SSlibKey

    return SSlibKey(key.id, "ed25519", "ed25519", {"public": key.raw.hex()})
