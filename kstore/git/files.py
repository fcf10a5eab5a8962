"""Files as one snapshot has them: the working tree's folder and a commit's tree look the same to a reader."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import msgspec

from kstore.errors import KstoreError
from kstore.layout import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

Type: TypeAlias = Literal["file", "folder", "link", "submodule", "special", "duplicate", "unreadable", "unfinished"]

REGULAR = 0o100644
"""The one mode that a file under store/ may have."""


class Entry(msgspec.Struct, frozen=True, array_like=True, gc=False):
    r"""One thing that a scan met.

    Attributes:
        path: Where it lies, from the repository's root; bytes that are no UTF-8 stand as `\xff`.
        type: What it is.
        mode: Its git mode, and
        oid: its object's id, where the snapshot is a tree.
        reason: Why a folder is unreadable.
    """

    path: str
    type: Type
    mode: int = 0
    oid: bytes = b""
    reason: str = ""


class UnreadableError(KstoreError):
    """A file is there and cannot be read as the bytes that it should have."""


class Files(Protocol):
    """A snapshot of a repository's files, read without following links and never beyond `MAX_FILE` bytes a file.

    It can be pickled, for a worker process to read the same files.
    """

    def read(self, path: str) -> bytes | None:
        """Give a file's bytes, or None where nothing has that path.

        Raises:
            UnreadableError: What has that path is no regular file, is too large, or is damaged.
        """
        ...

    def names(self, folder: str) -> list[str]:
        """Give the names in a folder, sorted; none where there is no such folder."""
        ...

    def scan(self, folder: str) -> Iterator[Entry]:
        """Give everything in one folder, in the order of the names; nothing where there is no such folder.

        A folder that cannot be listed gives one entry, of type `unreadable`; a name that a tree has twice comes twice;
        a file that a killed writer left is `unfinished`.
        """
        ...

    def enter(self, entry: Entry) -> Iterator[Entry]:
        """Give everything in a folder that a scan has just met; see `scan`, which may take longer."""
        ...

    def load(self, entry: Entry) -> tuple[int, bytes]:
        """Give the mode and the bytes of a file that a scan met.

        Raises:
            UnreadableError: It is too large, or is damaged.
        """
        ...


def printable(name: str) -> str:
    """Spell a file's name so that it can be written anywhere; names of bytes that are no UTF-8 are for reading only."""
    return name if name.isascii() else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def too_large(path: str, size: int) -> UnreadableError:
    """Say that a file is over the limit, without having read it."""
    return UnreadableError(f"{path}: expected at most {MAX_FILE:,} bytes, found {size:,}")
