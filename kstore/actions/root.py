"""Working out roots with what is remembered of earlier ones, and in several processes where that pays."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

from kstore.actions.parallel import in_order, usable_processors
from kstore.actions.progress import Progress, silent
from kstore.attest.folder_hashes import FolderHashes
from kstore.attest.root import Hasher, Root, RootError, alone, hash_batch, roots

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from kstore.registry import Registry

_ALONE = 0.2
"""Seconds of work that are done before other processes are started, which takes as long as a part of that."""


class Roots:
    """Works out the roots of one registry's commits; what one call has read, the next ones need not read again."""

    def __init__(
        self, registry: Registry, *, jobs: int | None = None, cache: bool = True, progress: Progress = silent
    ) -> None:
        """Begin with what is remembered.

        Args:
            registry: Whose commits.
            jobs: How many processes do the work; None is one for each processor where that pays.
            cache: Whether folders that were hashed by an earlier call of kstore need not be read; see `FolderHashes`.
            progress: Told of every folder.
        """
        self._memory = FolderHashes(registry.derived if cache else None)
        self._hasher = Hasher(registry.git_objects, self._memory, self._memory.recall())
        self._spread = partial(_spread, jobs, progress)

    def __call__(self, trees: Iterable[bytes]) -> dict[bytes, Root | RootError]:
        """Give the roots of commits, by the ids of their trees, 20 bytes each; see `kstore.attest.root.roots`."""
        remembered = len(self._hasher.known)
        found = roots(self._hasher, trees, self._spread)
        if len(self._hasher.known) > remembered:
            self._memory.keep(self._hasher.known)
        return found

    def of(self, tree: bytes) -> Root:
        """Give the root of one commit, given the id of its tree, 20 bytes.

        Raises:
            RootError: There is none.
            IncompleteError: Objects are missing.
        """
        found = self([tree])[tree]
        if isinstance(found, RootError):
            raise found
        return found


def _spread(jobs: int | None, progress: Progress, hasher: Hasher, batches: Sequence[bytes]) -> Iterator[bytes]:
    with progress(len(batches)) as step:
        for done in _results(jobs, hasher, batches):
            yield done
            if step is not None:
                step(1)


def _results(jobs: int | None, hasher: Hasher, batches: Sequence[bytes]) -> Iterator[bytes]:
    start, first = time.monotonic(), 0
    if jobs is None:
        for result in alone(hasher, batches):
            yield result
            first += 1
            if time.monotonic() - start > _ALONE:
                break
    if first < len(batches):
        yield from in_order(hash_batch, hasher, batches[first:], jobs or usable_processors())
