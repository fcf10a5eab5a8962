"""Finding the commit that a revision names, in the everyday part of what gitrevisions(7) allows."""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING

from dulwich.objectspec import parse_commit

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from dulwich.objects import ObjectID
    from dulwich.repo import Repo

_REVISION = re.compile(r"(?P<start>.+?)(?P<steps>(?:[~^][0-9]{0,9})*)", re.DOTALL)
_STEP = re.compile(r"([~^])([0-9]*)")
_UNKNOWN = (KeyError, IndexError, ValueError, OSError, AssertionError)
"""What dulwich raises for names that it does not know or cannot read."""


def find_commit(repo: Repo, revision: str) -> ObjectID:
    """Find a commit.

    Args:
        repo: The open repository.
        revision: An id or its unique start, a branch, a tag, HEAD or @, with any number of `~2` (the second ancestor
            along first parents) and `^2` (the second parent) behind it.

    Raises:
        KstoreError: It names no commit.
    """
    match = _REVISION.fullmatch(revision)
    try:
        if match is None:
            raise KeyError(revision)
        start = match["start"]
        commit = parse_commit(repo, b"HEAD" if start == "@" else start.encode())
        for sign, number in _STEP.findall(match["steps"]):
            count = int(number or 1)
            # An ancestor further away than there are commits ends with the first commit's missing parent.
            for parent in repeat(0, count) if sign == "~" else [count - 1] * bool(count):
                commit = parse_commit(repo, commit.parents[parent])
    except _UNKNOWN as error:
        raise KstoreError(f"no commit is called {revision!r} here; `git log --oneline` lists them") from error
    except Exception as error:
        # What damaged objects make dulwich raise has no common parent: struct.error, zlib.error, errors of its own.
        raise KstoreError(f"the commit {revision!r} cannot be read ({error}); run git fsck") from error
    return commit.id
