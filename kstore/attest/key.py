"""A public key of Ed25519 and its name, the SHA256 fingerprint that OpenSSH gives it."""

from __future__ import annotations

import base64
import binascii
import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

KIND = "ssh-ed25519"
LENGTH = 32
"""How many bytes a public key of Ed25519 has (RFC 8032, section 5.1.5)."""

_PREFIX = b"\x00\x00\x00\x0b" + KIND.encode() + b"\x00\x00\x00\x20"
"""How OpenSSH begins the blob of such a key: its kind and the length of what follows (RFC 8709, section 4)."""


_OTHERS = {
    "sk-ssh-ed25519@openssh.com": "a key on a security token signs more than it is given, which DSSE has no place for",
    "ssh-ed25519-cert-v01@openssh.com": "a certificate is no key; give the key that it certifies",
}
"""Kinds that one might take for Ed25519, and why they are refused."""

_REASON = "only Ed25519 keys sign here, as they have one size, no parameters to get wrong, and one signature a message"


_SMALL_ORDER = frozenset(
    bytes.fromhex(text)
    for text in (
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    )
)
"""The points whose order divides 8, in every spelling, without the sign bit.

As keys they have no private half, and signatures that anybody can make, some of them for any message.
"""


class KeyRefusedError(KstoreError):
    """A key is none of Ed25519, or is no key at all."""


class PublicKey:
    """A public key; equal keys have equal bytes.

    Attributes:
        raw: Its 32 bytes.
        id: Its name: `SHA256:` and the unpadded base64 of the SHA-256 of its OpenSSH blob, as `ssh-keygen -l` prints.
    """

    def __init__(self, raw: bytes) -> None:
        """Take a key's 32 bytes.

        Raises:
            KeyRefusedError: They are not 32, or nobody's key.
        """
        if len(raw) != LENGTH:
            raise KeyRefusedError(f"expected the {LENGTH} bytes of an Ed25519 public key, found {len(raw)}")
        if raw[:-1] + bytes([raw[-1] & 0x7F]) in _SMALL_ORDER:
            raise KeyRefusedError("expected an Ed25519 public key, found a point of small order, which nobody can own")
        self.raw = raw
        self.id = "SHA256:" + base64.b64encode(hashlib.sha256(_PREFIX + raw).digest()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """Read a key as OpenSSH writes it on one line: `ssh-ed25519 AAAA… [comment]`.

        Raises:
            KeyRefusedError: It is of another kind, or damaged.
        """
        words = text.split(maxsplit=2)
        if len(words) < 2:
            raise KeyRefusedError("expected an OpenSSH public key on one line, `ssh-ed25519 AAAA…`")
        if words[0] != KIND:
            raise KeyRefusedError(
                f"expected a key of the kind {KIND}, found {words[0]!r}: {_OTHERS.get(words[0], _REASON)}; "
                "make one with `kstore key generate` or `ssh-keygen -t ed25519`"
            )
        try:
            blob = base64.b64decode(words[1], validate=True)
        except (binascii.Error, ValueError):
            raise KeyRefusedError(f"expected base64 after {KIND}, found something else") from None
        if not blob.startswith(_PREFIX) or base64.b64encode(blob).decode() != words[1]:
            raise KeyRefusedError(f"expected the blob of an Ed25519 key after {KIND}, found something else")
        return cls(blob[len(_PREFIX) :])

    def verifies(self, signature: bytes, message: bytes) -> bool:
        """Tell whether a signature is this key's over a message (RFC 8032, section 5.1.7)."""
        from cryptography.exceptions import InvalidSignature

        try:
            self._key.verify(signature, message)
        except InvalidSignature:
            return False
        return True

    def __str__(self) -> str:
        """Give the key as OpenSSH writes it, without a comment."""
        return f"{KIND} {base64.b64encode(_PREFIX + self.raw).decode()}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PublicKey) and other.raw == self.raw

    def __hash__(self) -> int:
        return hash(self.raw)

    def __reduce__(self) -> Any:
        """Travel to another process as bytes."""
        return PublicKey, (self.raw,)

    @cached_property
    def _key(self) -> Ed25519PublicKey:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey.from_public_bytes(self.raw)
