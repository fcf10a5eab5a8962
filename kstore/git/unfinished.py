"""Noting which files are about to be put into a working tree, so that the next writer can take back what was left.

See `kstore.git.finished` for what readers make of the note.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from kstore.git.difference import Trees, differences
from kstore.git.durable import sync_folder
from kstore.git.files import UnreadableError
from kstore.git.finished import beside, is_ours, note_in
from kstore.git.folder import FolderFiles
from kstore.git.worktree import put_file
from kstore.layout import MAX_FILE

if TYPE_CHECKING:
    from kstore.git.place import Place
    from kstore.git.raw import RawObjects


def begin(place: Place, tree: bytes) -> None:
    """Note, durably, that the files of a tree are about to be put into the working tree; see `end`.

    Args:
        place: Where the repository lies.
        tree: The tree's id, 40 hexadecimal digits; its objects are in the repository by the time of the first file.
    """
    note = note_in(place)
    note.parent.mkdir(parents=True, exist_ok=True)
    new = note.with_name("unfinished.new")
    with new.open("wb") as file:
        file.write(tree + b"\n")
        file.flush()
        os.fsync(file.fileno())
    new.rename(note)
    sync_folder(note.parent)


def end(place: Place) -> None:
    """Note that they are committed, or gone again."""
    # A note that stays does no harm: whatever it names HEAD has, or the working tree has not.
    with contextlib.suppress(OSError):
        note_in(place).unlink()


def take_back(place: Place, objects: RawObjects, planned: bytes, committed: bytes | None) -> list[str]:
    """Undo an unfinished write in the working tree. The caller holds the writer's lock.

    Args:
        place: Where the repository lies; it has a working tree.
        objects: Its objects.
        planned: The tree that the writer was to make, and
        committed: that of HEAD, 40 hexadecimal digits; None before the first commit.

    Returns:
        The paths that differ between the two and that nobody else has changed: the index may have them as planned.

    Raises:
        UnreadableError: One of the trees cannot be read.
    """
    assert place.work_tree is not None
    top, present = place.work_tree, FolderFiles(place.work_tree)
    parents = [] if committed is None else [bytes.fromhex(committed.decode())]
    paths = []
    for path, now, before in differences(Trees(objects), bytes.fromhex(planned.decode()), parents, _all, _stop):
        if now is None or now.type != "file":
            continue
        beside(top / path).unlink(missing_ok=True)
        try:
            data = present.read(path)
        except UnreadableError:
            continue
        if data is not None and not is_ours(data, now.oid):
            continue
        paths.append(path)
        if before[0] is not None:
            old = objects.read(before[0].oid, MAX_FILE)[1]
            put_file(place.git_dir / "kstore" / "incoming", top / path, old)
        elif data is not None:
            (top / path).unlink()
    return paths


def _all(_: str) -> bool:
    return True


def _stop(path: str, error: UnreadableError) -> None:
    raise UnreadableError(f"{path}: {error}")
