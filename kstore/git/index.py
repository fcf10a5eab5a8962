"""Keeping git's index in step: after a commit, the files that it wrote are neither staged nor modified.

The `git` program does it when there is one: dulwich parses and writes the whole index in Python, a quarter of a
second for 20,000 entries. Without the program dulwich does it all the same.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.errors import KstoreError
from kstore.git.lock import clear_own, link_when_free

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dulwich.repo import Repo

    from kstore.git.place import Place

_EMPTY_TREE = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Index:
    """Git's index of one working tree, locked against everybody else; a context manager.

    The lock is a hard link to a file of our own, so that one that a killed kstore left is known for what it is. Changes
    are made to a copy, which git would have to lock too: what a killed git leaves behind is in nobody's way. git
    inherits the writer's lock, so that nobody who holds that lock ever meets a git that a killed kstore had started.
    """

    def __init__(self, repo: Repo, place: Place, wait: float, lock: int) -> None:
        """Name the index.

        Args:
            repo: The open repository.
            place: Where it lies; it has a working tree.
            wait: Seconds to wait for whoever else has the index locked.
            lock: The descriptor of the writer's lock, which the caller holds.
        """
        assert place.work_tree is not None, "a bare repository has no index"
        self._repo = repo
        self._top = place.work_tree
        self._index = Path(repo.index_path())
        self._lock = self._index.with_name(f"{self._index.name}.lock")
        self._room = place.git_dir / "kstore"
        self._mark, self._copy, self._before = (self._room / name for name in ("index-lock", "index", "index-before"))
        self._wait = wait
        self._writer = lock
        self._git = shutil.which("git")

    def __enter__(self) -> Index:
        """Lock it.

        Raises:
            LockedError: Somebody else held it for longer than `wait` seconds.
        """
        clear_own(self._mark, self._lock)
        self._clear()
        self._room.mkdir(parents=True, exist_ok=True)
        self._mark.touch()
        link_when_free(self._mark, self._lock, self._wait, "changing git's index")
        try:
            for other in (self._copy, self._before):
                with contextlib.suppress(FileNotFoundError):
                    # git never changes an index, but puts a new one in its place.
                    other.hardlink_to(self._index)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        # What cannot be removed now is known for what it is, and removed, by the next writer.
        with contextlib.suppress(OSError):
            self._lock.unlink()
            self._clear()

    def update(self, paths: Sequence[str]) -> None:
        """Make the index say of some files what the working tree has; a file that is gone leaves the index.

        Raises:
            KstoreError: The index cannot be read or written; it is as it was.
        """
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if self._git is None:
            failure = self._update_without_git(paths)
        else:
            failure = self._run("update-index", "--add", "--remove", "-z", "--stdin", stdin=names)
        if failure is not None:
            raise KstoreError(f"git's index cannot be brought up to date: {failure}")
        self._put()

    def can_check_out(self, before: bytes | None, after: bytes, quarantine: Path) -> bool:
        """Tell whether git would check a commit out over another one: nothing uncommitted is in its way.

        Args:
            before: The commit that is checked out now, or None before the first.
            after: The commit to check out.
            quarantine: A folder with the objects of `after`.
        """
        if self._git is None:
            return False
        merge = ("read-tree", "--dry-run", "-m", "-u", (before or _EMPTY_TREE).decode(), after.decode())
        return self._run(*merge, borrow=quarantine) is None

    def check_out(self, before: bytes | None, after: bytes | None) -> None:
        """Put the files of a commit into the working tree and the index, in the place of another's.

        Raises:
            KstoreError: git could not.
        """
        if not self._copy.exists() and self._index.exists():
            # This is the way back: the copy has become the index.
            self._copy.hardlink_to(self._index)
        old, new = ((commit or _EMPTY_TREE).decode() for commit in (before, after))
        complaint = self._run("read-tree", "-m", "-u", old, new)
        if complaint is not None:
            raise KstoreError(f"git cannot check out the new files: {complaint}")
        self._put()

    def restore(self) -> None:
        """Put the index back that was there before."""
        if self._before.exists():
            self._before.replace(self._index)
        else:
            self._index.unlink(missing_ok=True)

    def _put(self) -> None:
        if self._copy.exists():
            self._copy.replace(self._index)

    def _clear(self) -> None:
        for name in ("index", "index.lock", "index-before", "index-lock"):
            (self._room / name).unlink(missing_ok=True)

    def _run(self, *arguments: str, stdin: bytes = b"", borrow: Path | None = None) -> str | None:
        """Run git on the copy; give what it complained about when it failed, or None.

        The environment of a hook may point to another repository or index, and a configured monitor is not ours to
        start. `borrow` is a folder of objects that it may read besides the repository's own.
        """
        assert self._git is not None, "whoever runs git has looked whether there is one"
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        environment["GIT_INDEX_FILE"] = os.fspath(self._copy)
        if borrow is not None:
            environment["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = f'"{borrow}"'
        done = subprocess.run(
            [self._git, "-C", os.fspath(self._top), "-c", "core.fsmonitor=false", *arguments],
            input=stdin,
            env=environment,
            capture_output=True,
            check=False,
            pass_fds=[self._writer],
        )
        return None if done.returncode == 0 else done.stderr.decode(errors="replace").strip()

    def _update_without_git(self, paths: Sequence[str]) -> str | None:
        from dulwich.index import index_entry_from_stat, write_index_dict
        from dulwich.objects import Blob, ObjectID
        from dulwich.pack import SHA1Writer

        index = self._repo.open_index()
        if index.is_sparse():
            return "it is a sparse one, which needs the `git` program"
        for path in paths:
            try:
                data, status = (self._top / path).read_bytes(), (self._top / path).stat()
            except FileNotFoundError:
                if path.encode() in index:
                    del index[path.encode()]
                continue
            index[path.encode()] = index_entry_from_stat(status, ObjectID(Blob.from_string(data).id))
        # dulwich's own `Index.write` would put a half-written index in place when the disk is full.
        new = self._copy.with_name("index.lock")
        with new.open("wb") as file:
            writer = SHA1Writer(file)
            write_index_dict(writer, dict(index.items()))
            writer.close()
        new.replace(self._copy)
        return None
