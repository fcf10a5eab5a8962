"""The trust of an open registry: its policies, this clone's pin, and when each policy appeared in its history."""

from __future__ import annotations

import contextlib
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import UNSET

from kstore.attest.appearance import appearances
from kstore.attest.chain import Trust, policy_numbers, read_trust
from kstore.attest.checkpoint import CheckpointError, read_checkpoint
from kstore.attest.instant import seconds_of
from kstore.attest.pin import Pin
from kstore.git.files import UnreadableError
from kstore.layout import checkpoint_path, policy_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.attest.appearance import Appearances
    from kstore.digest import Digest
    from kstore.git.files import Files
    from kstore.git.history import History
    from kstore.registry import Registry


def trust_of(registry: Registry) -> Trust:
    """Find out which policies of a registry are to be believed in this clone.

    Raises:
        KstoreError: What is pinned cannot be read.
    """
    return trust_from(registry, Pin(registry.derived).recall())


def trust_from(registry: Registry, pin: Digest | None) -> Trust:
    """Find out which policies of a registry follow from one that is, or is to be, pinned; None is no pin."""
    history = registry.history()
    return believe(registry.files, pin, history, appearances(history, registry.derived))


def believe(files: Files, pin: Digest | None, history: History | None, appeared: Appearances) -> Trust:
    """Find out which policies of a snapshot are to be believed.

    A policy that a good checkpoint does not have came after that, whatever its commit is dated: a maintainer whose
    window had ended by then did not sign it in time. Which checkpoints are good is told by the policies before it.

    Args:
        files: The snapshot.
        pin: The digest of the policy's file that the reader trusts, or None.
        history: The history that checkpoints are about; None leaves them unasked.
        appeared: How signed files came into it.
    """
    times = policy_times(files, appeared)
    trust = read_trust(files, pin, times)
    # Few policies are signed with keys that end, and a checkpoint from after that has what was signed before.
    ends = {} if history is None else dict(_ends(trust))
    if not ends:
        return trust
    assert history is not None, "it was asked"
    from kstore.attest.checkpoints import check_checkpoints

    for number, end in ends.items():
        path = policy_path(number)
        if trust.policy(number) is not None and any(_later_without(files, history, end, path)):
            good = check_checkpoints(history, files, trust.before(number), appeared, None).good
            times[number] = max([times.get(number, 0), *(each.time for each in good if not each.contains(path))])
            trust = read_trust(files, pin, times)
    return trust


def _ends(trust: Trust) -> Iterator[tuple[int, int]]:
    """Give the policies that somebody may have signed whose window ends, and when the first of these windows does."""
    for before, policy in pairwise((None, *trust.policies)):
        assert policy is not None, "only the first has none before it"
        maintainers = (*(before.maintainers if before else ()), *policy.maintainers)
        ends = [seconds_of(each.valid_before) for each in maintainers if each.valid_before is not UNSET]
        if ends:
            yield policy.number, min(ends)


def _later_without(files: Files, history: History, end: int, path: str) -> Iterator[bool]:
    """Tell of each checkpoint whether it says that it was made when something had ended, and does not have a file."""
    from kstore.attest.checkpoints import checkpoint_numbers

    # A checkpoint that cannot be read is none; checking them all says so.
    with contextlib.suppress(UnreadableError):
        for number in checkpoint_numbers(files):
            with contextlib.suppress(UnreadableError, CheckpointError):
                _, checkpoint = read_checkpoint(files.read(checkpoint_path(number)) or b"", number)
                commit = history.commit(bytes.fromhex(checkpoint.commit))
                yield checkpoint.time >= end and history.find(commit, path) is None


def policy_times(files: Files, appeared: Appearances) -> dict[int, int]:
    """Say when each policy of a snapshot appeared in history, by its number, in seconds since 1970.

    A policy that history does not have, or that cannot be read, has no time.
    """
    times = {}
    try:
        for number in policy_numbers(files):
            path = policy_path(number)
            data = files.read(path)
            appearance = None if data is None else appeared.of(path, data)
            if appearance is not None:
                times[number] = appearance.time
    except UnreadableError:
        # Who reads the policies meets this again, and says it.
        pass
    return times
