"""Reading what HEAD has, and no more: it opens no repository, which takes longer than looking up a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.errors import KstoreError
from kstore.git.branches import head_of, lost_head
from kstore.git.files import UnreadableError
from kstore.git.raw import COMMIT, MAX_TREE, RawObjects
from kstore.git.tree import TreeFiles

if TYPE_CHECKING:
    from kstore.git.place import Place


def files_of(objects: RawObjects, commit: bytes | None) -> TreeFiles:
    """Give the files of a commit, named by 40 hexadecimal digits; of None, no files.

    Raises:
        KstoreError: There is no such commit, or it is damaged.
    """
    if commit is None:
        return TreeFiles(objects, None)
    try:
        kind, data = objects.read(bytes.fromhex(commit.decode()), MAX_TREE)
    except UnreadableError as error:
        raise KstoreError(f"commit {commit.decode()} is missing or damaged ({error}); run git fsck") from error
    if kind != COMMIT or not data.startswith(b"tree ") or data[45:46] != b"\n":
        raise KstoreError(f"{commit.decode()} is no commit; run git fsck")
    return TreeFiles(objects, data[5:45])


def head_files(place: Place) -> TreeFiles:
    """Give the files of HEAD; see `head_of` and `files_of`."""
    return files_of(RawObjects(place.common_dir / "objects"), head_of(place).commit)


def born_files(place: Place) -> TreeFiles:
    """Give the files of HEAD, where it leads to a commit as it should.

    Raises:
        KstoreError: It does not although there are commits, or they are damaged; see `lost_head` and `files_of`.
    """
    head = head_of(place)
    lost = lost_head(place, head)
    if lost is not None:
        raise KstoreError(f"{place.root}: {lost}")
    return files_of(RawObjects(place.common_dir / "objects"), head.commit)
