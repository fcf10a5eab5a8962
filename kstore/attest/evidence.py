"""What tells which statements of an open registry count: its policies, its checkpoints, and when each file came."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kstore.attest.appearance import Appearances, appearances
from kstore.attest.chain import Trust, read_trust
from kstore.attest.checkpoint_report import Checkpoints
from kstore.attest.checkpoints import check_checkpoints
from kstore.attest.judge import Judge, Witness
from kstore.attest.pin import Pin
from kstore.attest.trusted import policy_times
from kstore.errors import NoRegistryError
from kstore.layout import SIGNED_FOLDERS

if TYPE_CHECKING:
    from kstore.attest.checkpoints import Roots
    from kstore.attest.judge import Examined, Judged
    from kstore.attest.seen import SeenCheckpoints
    from kstore.digest import Digest
    from kstore.git.history import History
    from kstore.registry import Registry

_NO_WITNESS = Witness()


class Evidence(msgspec.Struct, frozen=True, dict=True):
    """What is known of a registry when its statements are judged.

    Attributes:
        trust: The policies that are believed.
        appeared: How signed files came into history.
        checkpoints: The checkpoints, and what is wrong with them.
    """

    trust: Trust
    appeared: Appearances
    checkpoints: Checkpoints

    def judge(self, examined: Examined) -> Judged:
        """Say what to think of a statement whose file was examined."""
        appearance = self.appeared.of_blob(examined.path, examined.blob)
        return self._judge.judge(examined, appearance, self._witness(examined.path))

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.trust, self.appeared.policy)

    def _witness(self, path: str) -> Witness:
        good = self.checkpoints.good
        if not good:
            return _NO_WITNESS
        # Each checkpoint contains what the one before contains, and was not made before it.
        first = bisect_left(good, True, key=lambda checkpoint: checkpoint.contains(path))
        absent = good[first - 1].time if first > 0 else 0
        return Witness(absent, good[first].time if first < len(good) else None)


class Past(NamedTuple):
    """What a snapshot of a registry was made from.

    Attributes:
        history: The history that its checkpoints are about; None leaves them unchecked, and then none of them is good.
        appeared: How signed files came into that history.
    """

    history: History | None
    appeared: Appearances


def past_of(registry: Registry) -> Past:
    """Give the past of an open registry."""
    history = registry.history()
    return Past(history, appearances(history, registry.derived, remember=registry.is_current))


def _trust_of_head(registry: Registry, pin: Digest) -> Trust | None:
    """Find what follows from the pinned policy at HEAD; None where that does not have it either."""
    with contextlib.suppress(NoRegistryError), registry.at_head() as head:
        trust = read_trust(head.files, pin, policy_times(head.files, past_of(head).appeared))
        if trust.pinned:
            return msgspec.structs.replace(trust, problems=())
    return None


def evidence(
    registry: Registry,
    past: Past | None = None,
    *,
    roots: Roots | None = None,
    seen: SeenCheckpoints | None = None,
) -> Evidence:
    """Gather what tells which statements of a registry count.

    Args:
        registry: The registry; its files are those that are judged.
        past: What they were made from, where that is not what the registry itself says.
        roots: Works out the roots of checkpoints; None takes them as they are stated.
        seen: The checkpoints that this clone has seen, where the files are to be the newest.

    Raises:
        KstoreError: What is pinned cannot be read.
    """
    files = registry.files
    history, appeared = past or past_of(registry)
    pin = Pin(registry.derived).recall()
    trust = read_trust(files, pin, policy_times(files, appeared))
    if pin is not None and not trust.pinned and (past is not None or not registry.is_current):
        # A commit of long ago, or one beside HEAD, need not have the pinned policy; HEAD must.
        trust = _trust_of_head(registry, pin) or trust
    checkpoints = Checkpoints()
    if history is not None and (seen is not None or any(files.scan(SIGNED_FOLDERS["checkpoints"]))):
        checkpoints = check_checkpoints(history, files, trust, appeared, roots, seen)
    return Evidence(trust, appeared, checkpoints)
