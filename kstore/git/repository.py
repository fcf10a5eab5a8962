"""One git repository: its commits, their trees, and the one way to add a commit."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from dulwich.errors import NotGitRepository
from dulwich.object_store import DiskObjectStore
from dulwich.objects import RawObjectID
from dulwich.repo import Repo

from kstore.errors import KstoreError
from kstore.git import unfinished
from kstore.git.branches import head_of, lost_head
from kstore.git.checkout import checked_out_files, checked_out_tree
from kstore.git.commits import new_commit
from kstore.git.files import UnreadableError
from kstore.git.finished import noted
from kstore.git.head import move_head
from kstore.git.history import History
from kstore.git.identity import Identity, identity
from kstore.git.index import Index
from kstore.git.lock import writer_lock
from kstore.git.new_tree import by_folder, new_trees
from kstore.git.objects import Quarantine
from kstore.git.packed import BLOB, packed_object
from kstore.git.place import Place, refuse_sha256
from kstore.git.raw import RawObjects
from kstore.git.snapshot import files_of

if TYPE_CHECKING:
    from kstore.git.tree import TreeFiles

_UNFINISHED = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_FEW_FILES = 256
"""Up to so many files are moved into a working tree one by one; of more, git checks out the whole commit."""


class Repository:
    """An open git repository. Use it as a context manager, or `close` it."""

    def __init__(self, place: Place) -> None:
        """Open the repository at a place.

        Raises:
            KstoreError: It uses something that kstore does not support, by name.
        """
        self.place = place
        refuse_sha256(place)
        try:
            self._repo = Repo(str(place.root), bare=place.work_tree is None)
        except (NotGitRepository, ValueError, OSError) as error:
            raise KstoreError(f"{place.root}: this git repository cannot be opened: {error}") from error
        except Exception as error:
            # dulwich has no common parent for UnsupportedExtension and UnsupportedVersion.
            raise KstoreError(f"{place.root}: this git repository is not supported: {error}") from error
        self.objects = RawObjects(Path(self._repo.object_store.path))
        self._lock: int | None = None

    @classmethod
    def create(cls, folder: Path, *, bare: bool) -> Repository:
        """Make a new repository, as `git init` does, and open it.

        Raises:
            KstoreError: Nobody could commit to it, because git knows no name or address; nothing was made.
        """
        from dulwich.config import StackedConfig

        config = StackedConfig.default()
        identity("author", config)
        identity("committer", config)
        branch = b"main"
        with contextlib.suppress(KeyError):
            branch = config.get((b"init",), b"defaultBranch")
        make: Callable[..., Repo] = Repo.init_bare if bare else Repo.init
        present = set(folder.iterdir()) if folder.is_dir() else set()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            make(str(folder), default_branch=branch).close()
        except OSError as error:
            for path in set(folder.iterdir() if folder.is_dir() else ()) - present:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            raise KstoreError(f"{folder}: cannot make a repository here: {error.strerror}") from error
        return cls(Place(folder, folder, None) if bare else Place(folder / ".git", folder / ".git", folder))

    def close(self) -> None:
        """Close the packs."""
        self.objects.close()
        self._repo.close()

    def __enter__(self) -> Repository:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def head(self) -> bytes | None:
        """Give the id of the commit that HEAD names, or None before the first commit.

        Raises:
            KstoreError: HEAD names something that is no commit id.
        """
        return head_of(self.place).commit

    def resolve(self, revision: str) -> bytes:
        """Find the commit that a revision names; see `find_commit`."""
        from kstore.git.revision import find_commit

        lost = lost_head(self.place, head_of(self.place)) if revision.startswith(("HEAD", "@")) else None
        if lost is not None:
            raise KstoreError(f"{self.place.root}: {lost}")
        return find_commit(self._repo, revision)

    def files(self, commit: bytes | None) -> TreeFiles:
        """Give the files of a commit; of None, no files."""
        return files_of(self.objects, commit)

    def history(self) -> History:
        """Give the history of HEAD."""
        return History(self.place, self.objects, head_of(self.place))

    @contextlib.contextmanager
    def writing(self, wait: float) -> Iterator[int]:
        """Hold the writer's lock; see `writer_lock`.

        Yields:
            How many files were taken back that a killed writer had left in the working tree.
        """
        with writer_lock(self.place.common_dir, wait) as self._lock:
            yield self._take_back(wait)

    def identities(self) -> tuple[Identity, Identity]:
        """Give the author and the committer of a commit made now; see `identity`."""
        config = self._repo.get_config_stack()
        return identity("author", config), identity("committer", config)

    @contextlib.contextmanager
    def quarantine(self) -> Iterator[Quarantine]:
        """Open a place for new objects, to be committed inside the block, or to leave no trace.

        Raises:
            KstoreError: They could not be written; nothing was changed.
        """
        with self._reporting_disk_errors(), Quarantine(Path(self._repo.object_store.path)) as objects:
            yield objects

    def commit(self, objects: Quarantine, blobs: Mapping[str, bytes], message: str, wait: float) -> str:
        """Add or replace files in one new commit on HEAD, and bring working tree and index in step.

        Objects are on disk before HEAD moves; what fails before that leaves everything as it was. The caller holds the
        writer's lock.

        Args:
            objects: Where the files' blobs are.
            blobs: The id of each file's blob, 20 bytes, by path; it goes through the paths in their order.
            message: The commit's message.
            wait: Seconds to wait for the lock of git's index.

        Returns:
            The commit's id.

        Raises:
            KstoreError: Nothing was changed, and why.
        """
        self._refuse_unfinished()
        author, committer = self.identities()
        parent = self.head()
        files = self.files(parent)
        root = b""
        for tree in new_trees(files, by_folder(blobs)):
            objects.put(tree)
            root = tree.oid.hex().encode()
        made = new_commit(root, parent, author, committer, message)
        objects.write([made])
        objects.seal()
        with contextlib.ExitStack() as stack:
            if self.place.work_tree is None:
                objects.release()
            else:
                index = stack.enter_context(self._index(wait))
                stack.enter_context(self._noted(root))
                if len(blobs) > _FEW_FILES and index.can_check_out(parent, made.id, objects.folder):
                    objects.release()
                    stack.enter_context(checked_out_tree(index, parent, made.id))
                else:
                    contents = _Contents(objects.folder, blobs)
                    stack.callback(contents.close)
                    stack.enter_context(checked_out_files(self.place, index, contents, files, objects.release))
            move_head(self._repo, self.place, parent, made, wait)
        return made.id.decode()

    def stage(self, changes: Mapping[str, bytes], wait: float) -> None:
        """Write files into the working tree and stage them, without a commit. The caller holds the writer's lock.

        Raises:
            KstoreError: Nothing was changed, and why.
        """
        if self.place.work_tree is None:
            raise KstoreError(f"{self.place.root}: a bare registry has no working tree to leave the files in")
        files = self.files(self.head())
        with self.quarantine() as objects:
            blobs = {path: packed_object(BLOB, data) for path, data in sorted(changes.items())}
            for blob in blobs.values():
                objects.put(blob)
            root = b""
            for tree in new_trees(files, by_folder({path: blob.oid for path, blob in blobs.items()})):
                objects.put(tree)
                root = tree.oid.hex().encode()
            objects.seal()
            with (
                self._index(wait) as index,
                self._noted(root),
                checked_out_files(self.place, index, changes, files, objects.release),
            ):
                pass

    def _index(self, wait: float) -> Index:
        assert self._lock is not None, "whoever writes holds the writer's lock"
        return Index(self._repo, self.place, wait, self._lock)

    @contextlib.contextmanager
    def _noted(self, tree: bytes) -> Iterator[None]:
        """Have it noted that the files of a tree are on their way into the working tree while the block runs."""
        unfinished.begin(self.place, tree)
        try:
            yield
        except BaseException:
            # What went wrong was undone already, unless the disk failed once more meanwhile.
            with contextlib.suppress(OSError):
                self._undo(tree)
                unfinished.end(self.place)
            raise
        unfinished.end(self.place)

    def _undo(self, planned: bytes) -> list[str]:
        # Without the tree, which `git gc` drops some weeks later, nobody can tell what was left.
        with contextlib.suppress(UnreadableError):
            return unfinished.take_back(self.place, self.objects, planned, self.files(self.head()).root)
        return []

    def _take_back(self, wait: float) -> int:
        planned = noted(self.place)
        if planned is None or self.place.work_tree is None:
            return 0
        with self._reporting_disk_errors(), self._index(wait) as index:
            paths = self._undo(planned)
            if paths:
                index.update(paths)
            unfinished.end(self.place)
        return len(paths)

    def _refuse_unfinished(self) -> None:
        for name, what in _UNFINISHED.items():
            if (self.place.git_dir / name).exists():
                raise KstoreError(
                    f"{self.place.root}: a {what} is under way; finish it (git {what} --continue) or drop it "
                    f"(git {what} --abort), and run this again"
                )

    @contextlib.contextmanager
    def _reporting_disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = error.filename if isinstance(error.filename, str) else self.place.root
            raise KstoreError(f"{where}: cannot write: {error.strerror}; nothing was changed") from error


class _Contents(Mapping[str, bytes]):
    """The bytes of many files, each read from a folder of objects when it is asked for."""

    def __init__(self, objects_dir: Path, blobs: Mapping[str, bytes]) -> None:
        self._store = DiskObjectStore(str(objects_dir))
        self._blobs = blobs

    def __getitem__(self, path: str) -> bytes:
        return self._store.get_raw(RawObjectID(self._blobs[path]))[1]

    def close(self) -> None:
        """Close the packs."""
        self._store.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._blobs)

    def __len__(self) -> int:
        return len(self._blobs)
