"""One writer at a time: a lock that the kernel releases when its holder ends, however it ends."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from typing import TYPE_CHECKING

from kstore.errors import KstoreError, LockedError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_POLL_SECONDS = 0.02


@contextlib.contextmanager
def writer_lock(common_dir: Path, wait: float) -> Iterator[int]:
    """Hold the registry's writer lock, `kstore/lock` in the git directory.

    It is an flock(2), so that a killed writer leaves nothing behind that somebody would have to clear.

    Args:
        common_dir: The git directory that all working trees share.
        wait: How many seconds to wait for another writer.

    Yields:
        The descriptor that holds it. A process that inherits it holds the lock too, until it ends.

    Raises:
        LockedError: Another writer still held it after `wait` seconds.
        KstoreError: The lock file cannot be made (a read-only registry, a full disk).
    """
    path = common_dir / "kstore" / "lock"
    try:
        path.parent.mkdir(exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise KstoreError(f"{path}: cannot write to this registry: {error.strerror}") from error
    try:
        _acquire(descriptor, path, wait)
        yield descriptor
        # Worker processes may have inherited it, and may take a moment to end.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    finally:
        os.close(descriptor)


def link_when_free(own: Path, lock: Path, wait: float, doing: str) -> None:
    """Take one of git's locks, a file of a certain name, by making it a hard link to a file of our own.

    Args:
        own: That file.
        lock: The lock's name.
        wait: How many seconds to wait for whoever else holds it.
        doing: What that one is doing, for the message.

    Raises:
        LockedError: It was still held after `wait` seconds.
    """
    deadline = time.monotonic() + wait
    while True:
        try:
            lock.hardlink_to(own)
        except FileNotFoundError:
            # `git pack-refs` removes folders of branches that it empties.
            lock.parent.mkdir(parents=True, exist_ok=True)
            if time.monotonic() >= deadline + _POLL_SECONDS:
                raise
        except FileExistsError:
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"{lock}: another program is {doing}, and still was after {wait:g} s; wait longer with "
                    "--wait SECONDS, or, when no git runs in this repository any more, remove that file"
                ) from None
            time.sleep(_POLL_SECONDS)
        else:
            return


def clear_own(own: Path, lock: Path) -> None:
    """Remove one of git's locks if a killed kstore left it: it is the same file as ours. See `link_when_free`."""
    if own.exists() and lock.exists() and own.samefile(lock):
        lock.unlink()


def _acquire(descriptor: int, path: Path, wait: float) -> None:
    deadline = time.monotonic() + wait
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise LockedError(
                    f"{path}: another kstore is writing to this registry, and still was after {wait:g} s; "
                    "try again, or wait longer with --wait SECONDS"
                ) from None
            time.sleep(_POLL_SECONDS)
        else:
            return
