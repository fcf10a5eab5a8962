"""Moving HEAD, or the branch that it names, to a new commit, in one step that no other writer can get between.

dulwich can do it too, but its lock stays behind when the disk fails at the wrong moment or the process is killed, and
nobody could tell it from a lock that git holds.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from dulwich.reflog import format_reflog_line
from dulwich.refs import DiskRefsContainer

from kstore.errors import KstoreError
from kstore.git.branches import head_of
from kstore.git.durable import sync_folder
from kstore.git.lock import clear_own, link_when_free

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dulwich.objects import Commit
    from dulwich.repo import Repo

    from kstore.git.place import Place


def move_head(repo: Repo, place: Place, parent: bytes | None, commit: Commit, wait: float) -> None:
    """Make a stored commit the one that HEAD, or HEAD's branch, names. The caller holds the writer's lock.

    Args:
        repo: The open repository.
        place: Where it lies.
        parent: What HEAD must name now, or None before the first commit.
        commit: What it shall name.
        wait: Seconds to wait for the branch's lock.

    Raises:
        LockedError: Another program held the branch for longer than `wait` seconds.
        KstoreError: HEAD names something else by now.
    """
    if not isinstance(repo.refs, DiskRefsContainer):
        raise KstoreError(f"{place.root}: expected branches in files, as git has them by default")
    branch = head_of(place).branch
    name = (place.git_dir, "HEAD") if branch is None else (place.common_dir, branch)
    path = name[0] / name[1]
    with _locked(path, commit.id + b"\n", place.common_dir / "kstore" / "ref", wait) as lock:
        if head_of(place) != (branch, parent):
            raise KstoreError(
                f"{place.root}: somebody committed while this was writing; nothing was changed, run it again"
            )
        lock.rename(path)
    # The commit stands from here on, whether or not the disk takes what follows.
    with contextlib.suppress(OSError):
        sync_folder(path.parent)
    for log in {place.git_dir / "logs" / "HEAD", name[0] / "logs" / name[1]}:
        with contextlib.suppress(OSError):
            _note(log, parent, commit, always=place.work_tree is not None)


@contextlib.contextmanager
def _locked(path: Path, data: bytes, own: Path, wait: float) -> Iterator[Path]:
    """Hold git's lock of a reference, a file beside it, which already has the new contents.

    The lock is a hard link to a file of our own: a lock that a killed kstore left is the same file as that one, and
    is removed. A lock of anybody else is waited for.
    """
    lock = path.with_name(path.name + ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_own(own, lock)
    own.unlink(missing_ok=True)
    try:
        _write_synced(own, data)
        link_when_free(own, lock, wait, "moving this branch")
        try:
            yield lock
        except BaseException:
            lock.unlink(missing_ok=True)
            raise
    finally:
        with contextlib.suppress(OSError):
            own.unlink(missing_ok=True)


def _write_synced(path: Path, data: bytes) -> None:
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _note(log: Path, parent: bytes | None, commit: Commit, *, always: bool) -> None:
    """Note the move in a log, as git does: always beside a working tree, otherwise where there is a log already.

    See core.logAllRefUpdates in git-config(1).
    """
    if not always and not log.exists():
        return
    subject = b"kstore: " + commit.message.partition(b"\n")[0]
    line = format_reflog_line(parent, commit.id, commit.committer, commit.commit_time, commit.commit_timezone, subject)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        file.write(line + b"\n")
