"""What differs between a folder of a working tree and the same folder of HEAD."""

from __future__ import annotations

import contextlib
import hashlib
from typing import TYPE_CHECKING

import msgspec

from kstore.git.files import UnreadableError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kstore.git.files import Entry, Files
    from kstore.git.tree import TreeFiles


class Differing(msgspec.Struct, frozen=True, array_like=True):
    """A file that is not as HEAD has it.

    Attributes:
        path: Where it is.
        here: The id, 20 bytes, of the blob that it would be, or None where it is gone.
        committed: The id of HEAD's blob, or None where HEAD has none.
    """

    path: str
    here: bytes | None
    committed: bytes | None


def differing(
    committed: TreeFiles, files: Files, folder: str, entries: Iterable[Entry], blobs: Mapping[str, bytes]
) -> Iterator[Differing]:
    """Give the files that lie in one folder and are not as HEAD has them; what cannot be read is not among them.

    Args:
        committed: HEAD's files.
        files: Those of the working tree.
        folder: The folder.
        entries: What a scan of it met.
        blobs: The ids, 20 bytes, of the blobs of those files that were read already, by their paths.

    Raises:
        UnreadableError: HEAD's folder cannot be read.
    """
    known = {}
    for entry in committed.scan(folder):
        if entry.type == "unreadable":
            raise UnreadableError(entry.reason)
        if entry.type == "file":
            known[entry.path] = bytes.fromhex(entry.oid.decode())
    for entry in entries:
        there = known.pop(entry.path, None)
        if entry.type == "file":
            with contextlib.suppress(UnreadableError):
                here = blobs.get(entry.path) or blob_id(files.load(entry)[1])
                if here != there:
                    yield Differing(entry.path, here, there)
    for path, there in known.items():
        yield Differing(path, None, there)


def blob_id(data: bytes) -> bytes:
    """Give the id, 20 bytes, that git gives to a file's content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).digest()
