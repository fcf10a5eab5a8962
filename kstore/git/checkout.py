"""Bringing a working tree and git's index in step with a commit that is being made: all of it, or none.

A few files are moved into place one by one. Thousands are git's own work: `git read-tree -m -u` writes files and index
together and refuses to overwrite anything that no commit has (git-read-tree(1), "Two Tree Merge"). Without the `git`
program, or where it refuses, the first way does it, slowly, and names the file that is in the way.

HEAD moves inside these blocks, last of all: a process that is killed in between leaves files that no commit has (see
`kstore.git.unfinished`), and never a commit whose files look removed.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from kstore.errors import KstoreError
from kstore.git.worktree import Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from kstore.git.files import Files
    from kstore.git.index import Index
    from kstore.git.place import Place


@contextlib.contextmanager
def checked_out_files(
    place: Place, index: Index, changes: Mapping[str, bytes], committed: Files, ready: Callable[[], None]
) -> Iterator[None]:
    """Have some files in the working tree and the index while the block runs, and for good when it ends well.

    Args:
        place: Where the repository lies; it has a working tree.
        index: Its index, locked.
        changes: The new bytes, by path.
        committed: The files of HEAD.
        ready: Called when all is checked and prepared, and nothing has changed yet.

    Raises:
        KstoreError: Nothing was changed, and why.
    """
    assert place.work_tree is not None
    with Writing(place.work_tree, place.git_dir / "kstore" / "incoming", changes, committed) as working:
        ready()
        try:
            working.release()
            index.update(list(changes))
            yield
        except BaseException:
            try:
                index.restore()
            finally:
                working.undo()
            raise


@contextlib.contextmanager
def checked_out_tree(index: Index, before: bytes | None, after: bytes) -> Iterator[None]:
    """Have the files of a commit in the working tree and the index while the block runs; see `checked_out_files`.

    Raises:
        KstoreError: Nothing was changed, and why.
    """
    index.check_out(before, after)
    try:
        yield
    except BaseException:
        with contextlib.suppress(KstoreError):
            index.check_out(after, before)
        raise
