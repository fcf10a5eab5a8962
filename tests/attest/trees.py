"""Folders as nested dictionaries, written into a repository as git's objects, and their root worked out plainly."""

from __future__ import annotations

import hashlib
import zlib
from typing import TYPE_CHECKING, TypeAlias

from blake3 import blake3

if TYPE_CHECKING:
    from pathlib import Path

Tree: TypeAlias = "dict[bytes, bytes | Tree]"
"""Names to the bytes of files, and to folders."""


def expected_root(tree: Tree) -> bytes:
    """Work out the root over `store`, by the words of the format's document and by nothing of kstore's."""
    store = tree.get(b"store", {})
    assert isinstance(store, dict)
    covered = {name: inner for name, inner in store.items() if name != b"checkpoints" or not isinstance(inner, dict)}
    return expected_folder(covered)


def expected_folder(folder: Tree) -> bytes:
    written = b""
    for name in sorted(folder):
        inner = folder[name]
        written += (b"\x02" if isinstance(inner, dict) else b"\x01") + len(name).to_bytes(4, "big") + name
        written += expected_folder(inner) if isinstance(inner, dict) else expected_file(inner)
    return blake3(written, derive_key_context="kstore checkpoint v1 folder").digest()


def expected_file(data: bytes) -> bytes:
    return blake3(data, derive_key_context="kstore checkpoint v1 file").digest()


def put(objects: Path, kind: str, data: bytes) -> bytes:
    """Write a loose object, and give its id, 20 bytes."""
    whole = f"{kind} {len(data)}".encode() + b"\0" + data
    oid = hashlib.sha1(whole, usedforsecurity=False).digest()
    path = objects / oid.hex()[:2] / oid.hex()[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(zlib.compress(whole, 1))
    return oid


def put_tree(objects: Path, tree: Tree) -> bytes:
    """Write a folder in git's own order of names, in which a folder counts as if its name ended with `/`."""
    entries = []
    for name, inner in tree.items():
        if isinstance(inner, dict):
            entries.append((name + b"/", b"40000 " + name + b"\0" + put_tree(objects, inner)))
        else:
            entries.append((name, b"100644 " + name + b"\0" + put(objects, "blob", inner)))
    return put(objects, "tree", b"".join(entry for _, entry in sorted(entries)))


def entry(mode: str, name: bytes, oid: bytes) -> bytes:
    """Spell an entry of a tree as git does."""
    return mode.encode() + b" " + name + b"\0" + oid
