"""Making commit objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dulwich.objects import Commit, ObjectID

if TYPE_CHECKING:
    from kstore.git.identity import Identity


def new_commit(tree: bytes, parent: bytes | None, author: Identity, committer: Identity, message: str) -> Commit:
    """Make a commit object; it is not stored yet."""
    commit = Commit()
    commit.tree = ObjectID(tree)
    commit.parents = [] if parent is None else [ObjectID(parent)]
    commit.author, commit.author_time, commit.author_timezone = author.person, author.seconds, author.offset
    commit.committer = committer.person
    commit.commit_time, commit.commit_timezone = committer.seconds, committer.offset
    commit.message = message.encode()
    return commit
