"""The table of what appeared when, and its file in the git directory: rows of one length each, sorted.

It is looked up where it lies, so that opening it costs next to nothing however much it has.
"""

from __future__ import annotations

import hashlib
import struct
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

from kstore import __version__
from kstore.git.derived import keep_sealed, recall_sealed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

_NAME = "appearances"
_HEAD = struct.Struct(">20sIQ")
_COMMIT = struct.Struct(">20sqI?")
_OID = 20
_KEY = 32
_MANY = 500
"""From so many questions on, a dictionary answers faster, for all that making it costs."""

_VERSION = f"kstore {__version__}: appearances 3\n".encode()


class Row(NamedTuple):
    """What is known of a commit.

    Attributes:
        time: When it was made, in seconds since 1970, and not before any commit that it descends from.
        policy: The highest number of a policy that its parents have; 0 where they have none.
        cut: Whether some of its parents are not here, so that what it seems to bring may be older.
    """

    time: int
    policy: int
    cut: bool


class Table:
    """What is known of the history of one commit.

    Attributes:
        head: The commit, 20 bytes.
        commits: Rows of all commits that it reaches.
        files: Which commits brought each signed file, the first one first.
        policies: How many of these are policies.
    """

    def __init__(self, head: bytes = b"", commits: bytes = b"", files: bytes = b"", policies: int = 0) -> None:
        self.head = head
        self.commits = commits
        self.files = files
        self.policies = policies
        self._asked = 0
        self._by_key: dict[bytes, list[bytes]] | None = None
        self._by_id: dict[bytes, Row] = {}

    @classmethod
    def of(
        cls, head: bytes, commits: Mapping[bytes, Row], files: Mapping[bytes, Sequence[bytes]], policies: int
    ) -> Table:
        """Write down a history: rows by the commits' ids, and commits' ids by `file_key`."""
        return cls(
            head,
            b"".join(_COMMIT.pack(oid, *commits[oid]) for oid in sorted(commits)),
            b"".join(key + oid for key in sorted(files) for oid in files[key]),
            policies,
        )

    def commits_of(self, key: bytes) -> Sequence[bytes]:
        """Give the commits that brought a file, by `file_key`, the first one first; nothing where none has."""
        if self._by_key is None:
            self._asked += 1
            if self._asked < _MANY:
                return [row[_KEY:] for row in _find(self.files, _KEY + _OID, key)]
            self._by_key = self.all_files()
        return self._by_key.get(key, ())

    def row(self, oid: bytes) -> Row:
        """Give what is known of a commit, which is one of those that `commits_of` gives."""
        row = self._by_id.get(oid)
        if row is None:
            found = next(_find(self.commits, _COMMIT.size, oid), None)
            assert found is not None, "every commit that brought a file has a row"
            row = self._by_id[oid] = Row(*_COMMIT.unpack(found)[1:])
        return row

    def all_commits(self) -> dict[bytes, Row]:
        """Give all rows, by the commits' ids."""
        return {oid: Row(*values) for oid, *values in _COMMIT.iter_unpack(self.commits)}

    def all_files(self) -> dict[bytes, list[bytes]]:
        """Give the commits that brought every file, by `file_key`."""
        width, files = _KEY + _OID, self.files
        found: dict[bytes, list[bytes]] = {}
        for at in range(0, len(files), width):
            found.setdefault(files[at : at + _KEY], []).append(files[at + _KEY : at + width])
        return found


def file_key(path: str, blob: bytes) -> bytes:
    """Name a file with its content: two contents of one path are two files, each with a beginning of its own."""
    return hashlib.sha256(path.encode("utf-8", "surrogateescape") + b"\0" + blob).digest()


def recall(derived: Path) -> Table | None:
    """Read the table that was kept, or None where there is none, or where it is damaged or another version's."""
    body = recall_sealed(derived / _NAME, _VERSION)
    if body is None:
        return None
    head, count, policies = _HEAD.unpack_from(body)
    end = _HEAD.size + count * _COMMIT.size
    return Table(head, body[_HEAD.size : end], body[end:], policies)


def keep(derived: Path, table: Table) -> None:
    """Write a table down, in place of another one; a repository that cannot be written to is read all the same."""
    body = _HEAD.pack(table.head, len(table.commits) // _COMMIT.size, table.policies) + table.commits + table.files
    keep_sealed(derived / _NAME, body, _VERSION)


def _find(rows: bytes, width: int, key: bytes) -> Iterator[bytes]:
    """Find the rows that begin with a key."""
    size, count = len(key), len(rows) // width
    place = bisect_left(range(count), key, key=lambda number: rows[number * width : number * width + size])
    while rows[place * width : place * width + size] == key:
        yield rows[place * width : (place + 1) * width]
        place += 1
