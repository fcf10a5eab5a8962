"""A registry: records in the `store/` folder of a git repository, read checked and written in whole commits."""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.digest import Digest
from kstore.errors import KstoreError, NoRegistryError
from kstore.git.finished import finished_files
from kstore.git.place import Place, place_at, places_upwards, refuse_sha256
from kstore.layout import (
    ATTRIBUTES,
    ATTRIBUTES_LINE,
    DEFAULT_REQUIRES,
    SETTINGS,
    STORE,
    Part,
    Settings,
    is_folder,
    path_of,
    place_of,
)
from kstore.registry.bulk import Bulk, commit_files
from kstore.registry.errors import DamageError, NotFoundError
from kstore.schema import Record, SchemaError, stored_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.git.files import Files
    from kstore.git.history import History
    from kstore.git.raw import RawObjects
    from kstore.git.repository import Repository


class Registry:
    """An open registry; a context manager, which closes the repository.

    Attributes:
        settings: What its `store/kstore.json` says.
        files: The files that it is read from: the working tree's, or HEAD's in a bare repository.
    """

    def __init__(self, place: Place, files: Files | None = None, commit: bytes | None = None) -> None:
        """Read the registry at a place; `files` is another snapshot of it to read from, a commit's where it has one.

        Raises:
            NoRegistryError: The repository has no `store/kstore.json`.
            KstoreError: Its settings are not those of a registry that this program knows.
        """
        refuse_sha256(place)
        self._place = place
        self._commit = commit
        self._checked_out = files is None and place.work_tree is not None
        self.files = self._current() if files is None else files
        settings = self.files.read(SETTINGS)
        if settings is None:
            self.close()
            raise NoRegistryError(
                f"{place.root}: this git repository is no registry: it has no {SETTINGS}; `kstore init` makes it one"
            )
        self.settings = Settings.from_bytes(settings)

    @classmethod
    def open(cls, path: str | Path | None = None) -> Registry:
        """Open a registry: the one at `path`, or the nearest one from the current folder upwards.

        Raises:
            NoRegistryError: There is none.
            KstoreError: It is not a registry that this program knows.
        """
        if path is not None:
            place = place_at(Path(path).absolute())
            if place is None:
                raise NoRegistryError(f"{path}: there is no git repository here; `kstore init {path}` makes a registry")
            return cls(place)
        try:
            here = Path.cwd()
        except FileNotFoundError:
            raise NoRegistryError("the current folder was removed; go to one that is there") from None
        for place in places_upwards(here):
            with contextlib.suppress(NoRegistryError):
                return cls(place)
        raise NoRegistryError(
            f"there is no registry in {here} or above; go to one, name one with --registry PATH, or make one "
            "with `kstore init`"
        )

    @classmethod
    def of_head(cls, place: Place) -> Registry:
        """Open the registry that HEAD has at a place, whether or not its files are checked out.

        Raises:
            NoRegistryError: HEAD has no registry.
            KstoreError: It is not one that this program knows.
        """
        from kstore.git.snapshot import head_files

        return cls(place, head_files(place))

    @classmethod
    def init(cls, path: str | Path = ".", *, bare: bool = False, fanout: int = 1, wait: float = 10) -> Registry:
        """Make a registry and its first commit, in a new repository or in one that is there, and open it.

        Making it again changes nothing.

        Args:
            path: The top of the repository; made when it is not there.
            bare: Make a bare repository where there is none yet.
            fanout: How many two-digit folders stand above a record's file: 1, or 2 for over half a million records.
            wait: Seconds to wait for another writer.

        Raises:
            KstoreError: It is a registry already, with another fan-out, or it could not be written.
        """
        from kstore.git.repository import Repository

        folder = Path(path).absolute()
        if folder.exists() and not folder.is_dir():
            raise KstoreError(f"{path}: expected a folder")
        settings = Settings(fanout=fanout, format=1, requires=DEFAULT_REQUIRES)
        place = place_at(folder)
        repository = Repository.create(folder, bare=bare) if place is None else Repository(place)
        with repository:
            if bare and repository.place.work_tree is not None:
                raise KstoreError(f"{path}: expected a bare repository, found one with a working tree")
            with repository.writing(wait):
                cls._write_first(repository, settings)
        return cls(repository.place)

    @staticmethod
    def _write_first(repository: Repository, settings: Settings) -> None:
        files = repository.files(repository.head())
        present = files.read(SETTINGS)
        if present is not None:
            if Settings.from_bytes(present).fanout != settings.fanout:
                raise KstoreError(
                    f"{repository.place.root}: this is a registry already, with a fan-out of "
                    f"{Settings.from_bytes(present).fanout}; a registry keeps the fan-out that it was made with"
                )
            return
        attributes = files.read(ATTRIBUTES) or b""
        changes = {SETTINGS: settings.to_bytes()}
        if ATTRIBUTES_LINE.encode() not in attributes.splitlines():
            if attributes and not attributes.endswith(b"\n"):
                attributes += b"\n"
            changes[ATTRIBUTES] = attributes + ATTRIBUTES_LINE.encode() + b"\n"
        commit_files(repository, changes, "Make this repository a registry\n", 0)

    def close(self) -> None:
        """Close the repository's packs, where they were opened."""
        if "_repository" in self.__dict__:
            self._repository.close()

    def __enter__(self) -> Registry:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The top of the working tree, or the bare repository's folder."""
        return self._place.root

    @property
    def bare(self) -> bool:
        """Whether there is no working tree."""
        return self._place.work_tree is None

    @property
    def is_current(self) -> bool:
        """Whether its history is HEAD's."""
        return self._commit is None

    @property
    def memory(self) -> Path:
        """Where verifying may remember what it found sound: a folder of the git directory."""
        return self.derived / "sound"

    @property
    def derived(self) -> Path:
        """Where kstore keeps what it can make again, or do without: a folder of the git directory."""
        return self._place.common_dir / "kstore"

    @property
    def git_objects(self) -> RawObjects:
        """Git's objects, which are closed with the registry."""
        return self._repository.objects

    def get(self, digest: Digest) -> Record:
        """Read one record, having checked that its bytes are what its name says.

        Raises:
            NotFoundError: It is not in the registry.
            DamageError: What is stored under that name is something else.
        """
        body = self._read("objects", digest)
        if body is None:
            raise NotFoundError(f"{digest} is not in this registry")
        if Digest.of(body) != digest:
            raise DamageError(digest, f"the bytes of its object hash to {Digest.of(body)}")
        metadata = self._read("metadata", digest)
        if metadata is None:
            raise DamageError(digest, "it has no metadata")
        try:
            return stored_record(body, metadata)
        except SchemaError as error:
            raise DamageError(digest, str(error)) from error

    def __contains__(self, digest: Digest) -> bool:
        """Tell whether a record is in the registry, without checking it."""
        return self._read("objects", digest) is not None

    def metadata(self, digest: Digest) -> bytes | None:
        """Give the stored metadata of a record, canonical bytes, or None where there are none."""
        return self._read("metadata", digest)

    def blob(self, part: Part, digest: Digest) -> bytes | None:
        """Give git's id, 20 bytes, of a record's file in a commit, or None where there is no such file."""
        from kstore.git.tree import TreeFiles

        assert isinstance(self.files, TreeFiles), "only a commit has blobs"
        found = self.files.find(path_of(part, digest, self.settings.fanout))
        return None if found is None else bytes.fromhex(found[1].decode())

    def digests(self, prefix: str = "") -> Iterator[Digest]:
        """Give the digests of all records in order; those alone that start with some hexadecimal digits."""
        yield from self._digests(f"{STORE}/objects", prefix)

    def at_head(self) -> Registry:
        """Give this registry as HEAD has it, which is what a commit builds on."""
        repository = self._repository
        return Registry(self._place, repository.files(repository.head()))

    def at(self, revision: str) -> Registry:
        """Give this registry as some commit has it.

        Raises:
            KstoreError: The revision names no commit.
            NoRegistryError: The repository was no registry then.
        """
        commit = self._repository.resolve(revision)
        return Registry(self._place, self._repository.files(commit), commit)

    def history(self) -> History:
        """Give the history of the commit that this is read from, or of HEAD, to be walked."""
        from kstore.git.history import history_of

        return history_of(self._place, self._commit)

    def commit_id(self, revision: str) -> bytes:
        """Find the commit that a revision names, and give its id, 20 bytes.

        Raises:
            KstoreError: The revision names no commit.
        """
        return bytes.fromhex(self._repository.resolve(revision).decode())

    @property
    def checked_out(self) -> Place | None:
        """Where the working tree lies that this is read from, or None where it is read from a commit."""
        return self._place if self._checked_out else None

    @contextlib.contextmanager
    def writing(self, wait: float) -> Iterator[tuple[str, ...]]:
        """Hold the writer's lock, so that what is read inside stays true until it is written upon.

        Yields:
            What a person should know about what was found.

        Raises:
            LockedError: Another writer held it for longer than `wait` seconds.
        """
        with self._repository.writing(wait) as taken_back:
            yield (f"took {taken_back} files back that a killed kstore had left unfinished",) if taken_back else ()

    def moment(self) -> int:
        """Say what time a commit made now gets, in seconds since 1970: `GIT_COMMITTER_DATE` may set it.

        Raises:
            KstoreError: That cannot be read, or nobody is named as the committer.
        """
        return self._repository.identities()[1].seconds

    def commit(self, changes: Mapping[str, bytes], message: str, wait: float) -> str:
        """Write files in one commit and give its id; see `Repository.commit`. Needs the writer's lock."""
        return commit_files(self._repository, changes, message, wait)

    @contextlib.contextmanager
    def bulk(self) -> Iterator[Bulk]:
        """Write many records, prepared one by one, to be committed inside the block, or to leave no trace.

        Needs the writer's lock.
        """
        with self._repository.quarantine() as objects:
            yield Bulk(self._repository, objects)

    def stage(self, changes: Mapping[str, bytes], wait: float) -> None:
        """Write files and stage them without a commit; see `Repository.stage`. Needs the writer's lock."""
        self._repository.stage(changes, wait)

    def files_of(self, record: Record) -> dict[str, bytes]:
        """Give the two files that a record is stored as, by path."""
        fanout = self.settings.fanout
        return {
            path_of("objects", record.digest, fanout): record.body,
            path_of("metadata", record.digest, fanout): record.metadata_bytes,
        }

    @cached_property
    def _repository(self) -> Repository:
        from kstore.git.repository import Repository

        return Repository(self._place)

    def _current(self) -> Files:
        if self._place.work_tree is not None:
            return finished_files(self._place, self._place.work_tree)
        from kstore.git.snapshot import born_files

        return born_files(self._place)

    def _read(self, part: Part, digest: Digest) -> bytes | None:
        return self.files.read(path_of(part, digest, self.settings.fanout))

    def _digests(self, folder: str, prefix: str) -> Iterator[Digest]:
        fanout = self.settings.fanout
        for name in self.files.names(folder):
            path = f"{folder}/{name}"
            if is_folder(path, fanout):
                start = "".join(path.split("/")[2:])
                if start.startswith(prefix[: len(start)]):
                    yield from self._digests(path, prefix)
            else:
                place = place_of(path, fanout)
                if place is not None and place.right == path and place.digest.hex.startswith(prefix):
                    yield place.digest
