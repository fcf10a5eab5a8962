"""Reading what HEAD has, and no more: it opens no repository, which takes longer than looking up a record."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from dulwich.refs import HEADREF, DiskRefsContainer

from kstore.errors import KstoreError
from kstore.git.files import UnreadableError
from kstore.git.raw import COMMIT, MAX_TREE, RawObjects
from kstore.git.tree import TreeFiles

if TYPE_CHECKING:
    from kstore.git.place import Place

_ID = re.compile(rb"[0-9a-f]{40}")


def head_of(place: Place) -> bytes | None:
    """Give the id of the commit that HEAD names, 40 hexadecimal digits, or None before the first commit.

    Raises:
        KstoreError: HEAD names something that is no commit id.
    """
    try:
        head = DiskRefsContainer(os.fspath(place.common_dir), os.fspath(place.git_dir))[HEADREF]
    except KeyError:
        return None
    except Exception as error:
        # dulwich has no common parent for what damaged references may be.
        raise KstoreError(f"{place.root}: HEAD cannot be read: {error}") from error
    if _ID.fullmatch(head) is None:
        raise KstoreError(f"{place.root}: HEAD: expected that it leads to a commit's id, found {head!r}; run git fsck")
    return head


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
    return files_of(RawObjects(place.common_dir / "objects"), head_of(place))
