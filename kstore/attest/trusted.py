"""The trust of an open registry: its policies, this clone's pin, and when each policy appeared in its history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.attest.appearance import appearances
from kstore.attest.chain import Trust, policy_numbers, read_trust
from kstore.attest.pin import Pin
from kstore.git.files import UnreadableError
from kstore.layout import policy_path

if TYPE_CHECKING:
    from kstore.attest.appearance import Appearances
    from kstore.digest import Digest
    from kstore.git.files import Files
    from kstore.registry import Registry


def trust_of(registry: Registry) -> Trust:
    """Find out which policies of a registry are to be believed in this clone.

    Raises:
        KstoreError: What is pinned cannot be read.
    """
    return trust_from(registry, Pin(registry.derived).recall())


def trust_from(registry: Registry, pin: Digest | None) -> Trust:
    """Find out which policies of a registry follow from one that is, or is to be, pinned; None is no pin."""
    times = policy_times(registry.files, appearances(registry.history(), registry.derived))
    return read_trust(registry.files, pin, times)


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
