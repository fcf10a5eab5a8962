"""Files on their way into one commit: each content is taken in as a git object first, then all paths at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kstore.git.objects import Quarantine
    from kstore.git.packed import PackedObject
    from kstore.git.repository import Repository


class Bulk:
    """Many files on their way into one commit; see `Registry.bulk`."""

    def __init__(self, repository: Repository, objects: Quarantine) -> None:
        self._repository = repository
        self._objects = objects

    def put(self, blob: PackedObject) -> None:
        """Take in the content of a file."""
        self._objects.put(blob)

    def commit(self, blobs: Mapping[str, bytes], message: str, wait: float) -> str:
        """Commit files whose contents were taken in; see `Repository.commit`."""
        return self._repository.commit(self._objects, blobs, message, wait)


def commit_files(repository: Repository, changes: Mapping[str, bytes], message: str, wait: float) -> str:
    """Commit a few files, given their contents; see `Repository.commit`."""
    from kstore.git.packed import BLOB, packed_object

    blobs = {path: packed_object(BLOB, changes[path]) for path in sorted(changes)}
    with repository.quarantine() as objects:
        for blob in blobs.values():
            objects.put(blob)
        return repository.commit(objects, {path: blob.oid for path, blob in blobs.items()}, message, wait)
