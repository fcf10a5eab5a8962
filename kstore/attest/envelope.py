"""DSSE envelopes: a payload, and signatures over it and its type.

The file of an envelope is canonical JSON with base64 as RFC 4648, section 4, writes it, so that no bit of it can be
other than it was without being seen. DSSE: github.com/secure-systems-lab/dsse, `envelope.md` and `protocol.md`, v1.0.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from kstore.errors import KstoreError

MAX_SIGNATURES = 64
"""How many signatures an envelope may have."""

KeyId = Annotated[str, Meta(pattern=r"^SHA256:[A-Za-z0-9+/]{43}(?!\n)$")]
"""A key's SHA256 fingerprint as OpenSSH prints it; see `kstore.attest.key.PublicKey.id`."""

MediaType = Annotated[str, Meta(pattern=r"^[a-z]+/[a-z0-9.+-]+(?!\n)$", max_length=200)]


class EnvelopeError(KstoreError):
    """Bytes are no envelope of this form."""


class Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True, gc=False):
    """One signature: whose key made it, and its bytes (64 for Ed25519)."""

    keyid: KeyId
    sig: bytes


class Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """A signed payload.

    Attributes:
        payload: What is signed.
        payload_type: The media type of the payload, which is signed with it.
        signatures: At least one, at most `MAX_SIGNATURES`, each of another key, sorted by the keys' ids.
    """

    payload: bytes
    payload_type: MediaType
    signatures: Annotated[tuple[Signature, ...], Meta(min_length=1, max_length=MAX_SIGNATURES)]

    @classmethod
    def from_bytes(cls, data: bytes) -> Envelope:
        """Read an envelope; its signatures are not verified.

        Raises:
            EnvelopeError: The bytes are something else, or another spelling of it.
        """
        try:
            envelope = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise EnvelopeError(f"expected a DSSE envelope: {error}") from None
        if envelope.to_bytes() != data:
            raise EnvelopeError("expected the canonical form (RFC 8785) of an envelope, found another spelling of it")
        ids = [signature.keyid for signature in envelope.signatures]
        if ids != sorted(set(ids)):
            raise EnvelopeError("expected signatures of different keys, sorted by the keys' ids")
        return envelope

    def to_bytes(self) -> bytes:
        """Spell the envelope canonically: its strings are ASCII and it has no numbers, so sorted keys are enough."""
        return _encode(self)

    @property
    def signed(self) -> bytes:
        """The bytes that the signatures are made over; see `pae`."""
        return pae(self.payload_type, self.payload)


def pae(payload_type: str, payload: bytes) -> bytes:
    """Join a payload and its type into the bytes that are signed (DSSE protocol, "Signature Definition")."""
    kind = payload_type.encode()
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)


def sealed(payload_type: str, payload: bytes, signatures: dict[str, bytes]) -> Envelope:
    """Put signatures, by the ids of their keys, into an envelope."""
    return Envelope(payload, payload_type, tuple(Signature(key, signatures[key]) for key in sorted(signatures)))


_decode = msgspec.json.Decoder(Envelope).decode
_encode = msgspec.json.Encoder(order="sorted").encode
