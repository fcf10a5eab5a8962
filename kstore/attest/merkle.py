"""The two hashes that a checkpoint's root is made of, BLAKE3 of a file and of a folder, each in a domain of its own.

`docs/format.md`, "Checkpoint root", has them byte by byte.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from blake3 import blake3

FILE_CONTEXT = "kstore checkpoint v1 file"
FOLDER_CONTEXT = "kstore checkpoint v1 folder"

LENGTH = 32
"""How many bytes a hash has."""

FILE, FOLDER = b"\x01", b"\x02"
"""What an entry of a folder is."""


Item: TypeAlias = tuple[bytes, bytes, bytes]
"""An entry of a folder: its name, as the bytes that git has; `FILE` or `FOLDER`; and its hash."""


def file_hash(data: bytes) -> bytes:
    """Hash the bytes of a file."""
    state = _begun(FILE_CONTEXT).copy()
    state.update(data)
    return state.digest()


def folder_hash(items: Iterable[Item]) -> bytes:
    """Hash a folder from its entries, which come in the order of their names' bytes, each name once."""
    state = _begun(FOLDER_CONTEXT).copy()
    state.update(b"".join([b"%b%b%b%b" % (kind, len(name).to_bytes(4), name, inner) for name, kind, inner in items]))
    return state.digest()


@cache
def _begun(context: str) -> blake3:
    """Give a hasher of a domain; copying one is cheaper than deriving its key for every file again."""
    from blake3 import blake3

    return blake3(derive_key_context=context)
