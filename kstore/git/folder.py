"""Reading the files of a working tree, where anything may lie: links, pipes, endless files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from kstore.git.files import Entry, Type, UnreadableError, printable, too_large
from kstore.layout import MAX_FILE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_ENTER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


class FolderFiles:
    """The files below the top of a working tree (a `Files`)."""

    def __init__(self, top: Path) -> None:
        self._top = os.fspath(top)

    def read(self, path: str) -> bytes | None:
        """Give a file's bytes, or None; see `Files.read`."""
        folder, _, name = path.rpartition("/")
        descriptor = self._enter(folder)
        if descriptor is None:
            return None
        try:
            return _contents(name, path, descriptor)[1]
        except FileNotFoundError:
            return None
        finally:
            os.close(descriptor)

    def names(self, folder: str) -> list[str]:
        """Give the names in a folder; see `Files.names`."""
        descriptor = self._enter(folder)
        if descriptor is None:
            return []
        try:
            return sorted(os.listdir(descriptor))  # noqa: PTH208  (pathlib cannot list an open folder)
        finally:
            os.close(descriptor)

    def scan(self, folder: str) -> Iterator[Entry]:
        """Give everything in one folder; see `Files.scan`."""
        return self._scan(folder, self._enter)

    def enter(self, entry: Entry) -> Iterator[Entry]:
        """Give everything in a folder that a scan met; see `Files.enter`."""
        return self._scan(entry.path, self._enter_met)

    def _scan(self, folder: str, enter: Callable[[str], int | None]) -> Iterator[Entry]:
        try:
            descriptor = enter(folder)
            if descriptor is None:
                return
            try:
                with os.scandir(descriptor) as found:
                    entries = sorted((entry.name, _type(entry)) for entry in found)
            finally:
                os.close(descriptor)
        except (OSError, UnreadableError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            yield Entry(folder, "unreadable", reason=f"this folder cannot be listed: {reason}")
            return
        for name, kind in entries:
            yield Entry(f"{folder}/{printable(name)}", kind)

    def load(self, entry: Entry) -> tuple[int, bytes]:
        """Give mode and bytes of a file that a scan met; see `Files.load`."""
        try:
            return _contents(f"{self._top}/{entry.path}", entry.path, None)
        except FileNotFoundError:
            raise UnreadableError(f"{entry.path}: it was removed while this was reading") from None

    def _enter_met(self, folder: str) -> int | None:
        """Open a folder at once, as `load` does with files; where that fails, the longer way says why."""
        try:
            return os.open(f"{self._top}/{folder}", _ENTER)
        except OSError:
            return self._enter(folder)

    def _enter(self, folder: str) -> int | None:
        """Open a folder step by step, so that no link on the way can lead out of the registry."""
        descriptor = os.open(self._top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for step in folder.split("/") if folder else ():
            try:
                inner = os.open(step, _ENTER, dir_fd=descriptor)
            except FileNotFoundError:
                return None
            except OSError as error:
                raise UnreadableError(f"{folder}: expected a folder at {step!r}: {error.strerror}") from error
            finally:
                os.close(descriptor)
            descriptor = inner
        return descriptor


def _type(entry: os.DirEntry[str]) -> Type:
    if entry.is_file(follow_symlinks=False):
        return "file"
    if entry.is_symlink():
        return "link"
    return "folder" if entry.is_dir(follow_symlinks=False) else "special"


def _contents(name: str, path: str, folder: int | None) -> tuple[int, bytes]:
    """Read one regular file: its git mode and its bytes.

    O_NONBLOCK keeps a pipe from holding us; the size limit holds for what is read, whatever stat says.
    """
    try:
        descriptor = os.open(name, _READ, dir_fd=folder)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(f"{path}: cannot read this as a plain file: {error.strerror}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableError(f"{path}: expected a plain file")
        if status.st_size > MAX_FILE:
            raise too_large(path, status.st_size)
        # One byte more than there should be: a buffer of the largest size would cost more than reading does.
        data = os.read(descriptor, status.st_size + 1)
        if len(data) != status.st_size:
            raise UnreadableError(f"{path}: it changed while this was reading")
        return 0o100755 if status.st_mode & 0o100 else 0o100644, data
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)
