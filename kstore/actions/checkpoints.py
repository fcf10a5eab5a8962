"""What a checkpoint of a registry says, for people and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.attest.checkpoint import CheckpointError, read_checkpoint
from kstore.attest.checkpoints import checkpoint_numbers
from kstore.attest.trusted import trust_of
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.layout import checkpoint_path

if TYPE_CHECKING:
    from kstore.attest.chain import Trust
    from kstore.registry import Registry


class SignatureRow(msgspec.Struct, frozen=True):
    """One signature of a checkpoint.

    Attributes:
        keyid: The key's id.
        name: Whose it is by the last policy that lists it, or None where none does.
        right: Whether the signature is right for what it signs; None where nobody knows the key.
    """

    keyid: str
    name: str | None
    right: bool | None


class Row(msgspec.Struct, frozen=True, rename="camel"):
    """One checkpoint.

    Attributes:
        number: Which one it is, counted from 1.
        path: Its file, and
        digest: the SHA-256 of that.
        root: The BLAKE3 root over store/, 64 hexadecimal digits.
        git_commit: The commit that it is about.
        records: How many records that has.
        created_at: When it was made, by its maker's clock.
        previous: The SHA-256 of the file of the checkpoint before, or None.
        signatures: Who signed it.
    """

    number: int
    path: str
    digest: Digest
    root: str
    git_commit: str
    records: int
    created_at: str
    previous: Digest | None
    signatures: tuple[SignatureRow, ...]


def show_checkpoint(registry: Registry, number: int | None = None) -> Row:
    """Give a checkpoint as it stands; whether it holds is for an audit to say.

    Args:
        registry: Where.
        number: Which one; None is the last.

    Raises:
        KstoreError: There is none, or it is none.
    """
    numbers = checkpoint_numbers(registry.files)
    if not numbers:
        raise KstoreError("this registry has no checkpoint; `kstore checkpoint create --key FILE` makes one")
    wanted = numbers[-1] if number is None else number
    data = registry.files.read(checkpoint_path(wanted)) if wanted in numbers else None
    if data is None:
        raise KstoreError(f"there is no checkpoint {wanted}; the last one is {numbers[-1]}")
    try:
        return row_of(data, wanted, trust_of(registry))
    except CheckpointError as error:
        raise KstoreError(f"{checkpoint_path(wanted)}: {error}") from None


def row_of(data: bytes, number: int, trust: Trust) -> Row:
    """Describe the file of a checkpoint.

    Raises:
        CheckpointError: It is none.
    """
    envelope, checkpoint = read_checkpoint(data, number)
    signatures = []
    for signature in envelope.signatures:
        entries = (policy.entry(signature.keyid) for policy in reversed(trust.policies))
        entry = next((entry for entry in entries if entry is not None), None)
        right = None if entry is None else entry.public_key.verifies(signature.sig, envelope.signed)
        signatures.append(SignatureRow(signature.keyid, None if entry is None else entry.name, right))
    return Row(
        number,
        checkpoint_path(number),
        Digest.of(data),
        checkpoint.root,
        checkpoint.commit,
        checkpoint.records,
        checkpoint.predicate.created_at,
        checkpoint.previous,
        tuple(signatures),
    )
