"""Files of keys: private ones of OpenSSH and PEM, encrypted or not, and public ones of OpenSSH.

What is secret is never part of a message: every error here is raised from nothing, and quotes no byte of a private key.
OpenSSH's format: github.com/openssh/openssh-portable, `PROTOCOL.key`; PEM: RFC 5958 in the text form of RFC 7468.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kstore.attest.key import KeyRefusedError, PublicKey
from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

MAX_KEY_FILE = 65_536
"""How many bytes a key file may have; RSA keys of 16,384 bits, the largest that OpenSSH makes, have 13,000."""

_OPENSSH = "OPENSSH PRIVATE KEY"
_ARMOUR = re.compile(rb"-----BEGIN OPENSSH PRIVATE KEY-----([A-Za-z0-9+/=\s]*)-----END OPENSSH PRIVATE KEY-----")
_BEGIN = re.compile(rb"-----BEGIN ((?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY)-----")
_MAGIC = b"openssh-key-v1\x00"

Asked: TypeAlias = "Callable[[], str | bytes] | None"
"""What is asked for the passphrase of an encrypted key, once; None where there is nobody to ask."""


class KeyFileError(KstoreError):
    """A key file cannot be read, opened, or written."""


class KeyFile(NamedTuple):
    """A file of a key.

    Attributes:
        file: Its name, for messages.
        label: What its PEM armour calls it, or empty: then it is a public key of OpenSSH.
        data: Its bytes.
    """

    file: str
    label: str
    data: bytes

    def __repr__(self) -> str:
        """Name the file and say nothing of what it holds."""
        return f"KeyFile({self.file!r})"

    @property
    def private(self) -> bool:
        """Whether it holds a private key."""
        return self.label != ""


def read_key_file(file: str | Path) -> KeyFile:
    """Read a file of a key; it may be a pipe.

    Raises:
        KeyFileError: It cannot be read, or is a private key that others may read too.
        KeyRefusedError: It is no key, or of another kind than Ed25519.
    """
    name = str(file)
    try:
        with Path(file).open("rb") as opened:
            status = os.fstat(opened.fileno())
            data = opened.read(MAX_KEY_FILE + 1)
    except OSError as error:
        raise KeyFileError(f"{name}: cannot read the key: {error.strerror}") from None
    if len(data) > MAX_KEY_FILE:
        raise KeyRefusedError(f"{name}: expected a key, found a file of more than {MAX_KEY_FILE} bytes")
    begin = _BEGIN.search(data)
    if begin is None:
        return KeyFile(name, "", data)
    # As ssh does: a key of one's own that others can read is no secret any more. What root lends is root's business.
    if hasattr(os, "getuid") and status.st_uid == os.getuid() and status.st_mode & 0o077:
        raise KeyFileError(
            f"{name}: others may read this private key (its mode is {stat.S_IMODE(status.st_mode):04o}), so that it is "
            f"not used; `chmod 600 {name}` keeps them out from now on"
        )
    return KeyFile(name, begin[1].decode(), data)


def public_key_in(file: str | Path, passphrase: Asked = None) -> PublicKey:
    """Give the public key that a file of a public or a private key has.

    A passphrase is needed for encrypted PEM only: OpenSSH's files have their public key in the clear.

    Raises:
        KeyFileError: The file cannot be read or decrypted.
        KeyRefusedError: It is no key, or of another kind than Ed25519.
    """
    found = read_key_file(file)
    if not found.private:
        return read_public(found)
    if found.label == _OPENSSH:
        return _openssh(found).public
    return public_of(load_private(found, passphrase))


def read_public(found: KeyFile) -> PublicKey:
    """Read the public key that a file has as its one line.

    Raises:
        KeyRefusedError: It is no key, or of another kind than Ed25519.
    """
    try:
        lines = found.data.decode().strip().splitlines()
        if len(lines) != 1:
            raise KeyRefusedError("expected a private key, or a public key as OpenSSH writes it, on one line")
        return PublicKey.parse(lines[0])
    except UnicodeDecodeError:
        raise KeyRefusedError(f"{found.file}: expected a key, found bytes that are no text") from None
    except KeyRefusedError as error:
        raise KeyRefusedError(f"{found.file}: {error}") from None


def load_private(found: KeyFile, passphrase: Asked) -> Ed25519PrivateKey:
    """Read, and where needed decrypt, the private key that a file has.

    Raises:
        KeyFileError: It is encrypted, and the passphrase is not to be had, or wrong.
        KeyRefusedError: It is of another kind than Ed25519, or damaged.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_ssh_private_key

    openssh = found.label == _OPENSSH
    if openssh:
        encrypted = _openssh(found).encrypted
    elif found.label in {"PRIVATE KEY", "ENCRYPTED PRIVATE KEY"}:
        encrypted = found.label.startswith("ENCRYPTED")
    else:
        raise _another_kind(found, found.label.removesuffix(" PRIVATE KEY"))
    secret = _ask(found, passphrase) if encrypted else None
    try:
        key = load_ssh_private_key(found.data, secret) if openssh else load_pem_private_key(found.data, secret)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        if encrypted:
            raise KeyFileError(f"{found.file}: the passphrase is wrong, or the file is damaged") from None
        raise KeyRefusedError(f"{found.file}: expected an Ed25519 key, found a damaged file or another kind") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise _another_kind(found, type(key).__name__.removesuffix("PrivateKey").lstrip("_"))
    return key


def public_of(key: Ed25519PrivateKey) -> PublicKey:
    """Give the public half of a key."""
    return PublicKey(key.public_key().public_bytes_raw())


def generate(file: str | Path, passphrase: str | bytes | None = None) -> PublicKey:
    """Make a key: its private half in a new file (mode 0600, OpenSSH's format), its public half in `FILE.pub`.

    Args:
        file: Where to write it.
        passphrase: What to encrypt it with; None for no encryption.

    Raises:
        KeyFileError: One of the files is there already, or they cannot be written; then neither is left behind.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = Ed25519PrivateKey.generate()
    encryption = BestAvailableEncryption(_bytes(passphrase)) if passphrase else NoEncryption()
    private, public = Path(file), Path(f"{file}.pub")
    files = (
        (private, 0o600, key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, encryption)),
        (public, 0o644, f"{public_of(key)}\n".encode()),
    )
    made: list[Path] = []
    try:
        for path, mode, data in files:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0), mode)
            made.append(path)
            with os.fdopen(descriptor, "wb") as opened:
                opened.write(data)
                opened.flush()
                os.fsync(opened.fileno())
    except OSError as error:
        for path in made:
            path.unlink()
        reason = "it is there already, and a key is never overwritten" if error.errno == 17 else error.strerror
        raise KeyFileError(f"{error.filename or file}: cannot write the key: {reason}") from None
    return public_of(key)


class _OpenSsh(NamedTuple):
    """What an OpenSSH private key says in the clear."""

    public: PublicKey
    encrypted: bool


def _openssh(found: KeyFile) -> _OpenSsh:
    """Read the part of an OpenSSH private key that is never encrypted.

    Raises:
        KeyRefusedError: It is of another kind than Ed25519, or damaged.
    """
    armour = _ARMOUR.search(found.data)
    try:
        blob = base64.b64decode(b"".join(armour[1].split()), validate=True) if armour else b""
    except binascii.Error:
        blob = b""
    if not blob.startswith(_MAGIC):
        raise KeyRefusedError(f"{found.file}: expected an OpenSSH private key, found a damaged one")
    cipher, rest = _string(blob[len(_MAGIC) :])
    _kdf, rest = _string(rest)
    _options, rest = _string(rest)
    public, _ = _string(rest[4:])
    kind, _ = _string(public)
    line = f"{kind.decode('ascii', 'replace')} {base64.b64encode(public).decode()}"
    try:
        return _OpenSsh(PublicKey.parse(line), cipher != b"none")
    except KeyRefusedError as error:
        raise KeyRefusedError(f"{found.file}: {error}") from None


def _string(data: bytes) -> tuple[bytes, bytes]:
    """Split what RFC 4251, section 5, calls a string off; where bytes lack, it is shorter than it says."""
    length = int.from_bytes(data[:4], "big")
    return data[4 : 4 + length], data[4 + length :]


def _ask(found: KeyFile, passphrase: Asked) -> bytes:
    secret = b"" if passphrase is None else _bytes(passphrase())
    if not secret:
        raise KeyFileError(
            f"{found.file}: this key is encrypted, and there is no passphrase; "
            "set KSTORE_KEY_PASSPHRASE, run kstore on a terminal, or use an ssh-agent: "
            "`ssh-add` the key and give its public file"
        )
    return secret


def _bytes(secret: str | bytes) -> bytes:
    return secret if isinstance(secret, bytes) else os.fsencode(secret)


def _another_kind(found: KeyFile, kind: str) -> KeyRefusedError:
    return KeyRefusedError(
        f"{found.file}: expected an Ed25519 key, found one of the kind {kind}: only Ed25519 keys sign here; "
        "make one with `kstore key generate` or `ssh-keygen -t ed25519`"
    )
