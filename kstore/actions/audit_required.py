"""Find the records that came after a policy that wants them signed, and that no signer who counts has endorsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.refer import DAMAGED, kind_of, said_unchecked
from kstore.git.files import UnreadableError
from kstore.layout import STORE, is_folder, path_of, place_of, policy_path
from kstore.schema.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from kstore.attest.evidence import Evidence
    from kstore.digest import Digest
    from kstore.git.history import Commit, History
    from kstore.registry import Registry

_OBJECTS = f"{STORE}/objects"


class Unsigned(msgspec.Struct, frozen=True):
    """Records that nobody has endorsed who counts.

    Attributes:
        later: Those that came after the policy that wants them signed.
        beside: Those that came by a branch that did not have it yet. They may have been taken before there was that
            policy, or have gone around it.
    """

    later: list[Digest] = []
    beside: list[Digest] = []


def unsigned(head: Registry, history: History, known: Evidence, endorsed: Container[Digest]) -> Unsigned:
    """Look for them in what HEAD has and the commit that brought the policy has not.

    Args:
        head: HEAD's snapshot.
        history: Its history.
        known: What tells which policies are believed, and when they came.
        endorsed: The records that are endorsed by a signer who counts.
    """
    found = Unsigned([], [])
    for number, kinds in _since(known).items():
        begun = _brought(head, history, known, number)
        if begun is None:
            continue
        missing = [each for each in _added(head, history, begun) if each not in endorsed]
        missing = [each for each in missing if _kind(head, each) in kinds]
        tips = _beside(history, bytes.fromhex(begun.id)) if missing else []
        for digest in missing:
            path = path_of("objects", digest, head.settings.fanout)
            (found.beside if any(history.find(tip, path) for tip in tips) else found.later).append(digest)
    return found


def _since(known: Evidence) -> dict[int, set[str]]:
    """Say by which policy, and all later ones, which kinds of records must be signed."""
    since: dict[int, set[str]] = {}
    policies = known.trust.policies
    for kind in KINDS:
        number = None
        for policy in reversed(policies):
            if not policy.requires(kind):
                break
            number = policy.number
        if number is not None:
            since.setdefault(number, set()).add(kind)
    return since


def _brought(head: Registry, history: History, known: Evidence, number: int) -> Commit | None:
    """Find the commit that brought a policy; None where it is not here, which is reported elsewhere."""
    try:
        data = head.files.read(policy_path(number))
        appearance = None if data is None else known.appeared.of(policy_path(number), data)
        if appearance is not None and not appearance.cut:
            return history.commit(bytes.fromhex(appearance.commit))
    except UnreadableError:
        pass
    return None


def _added(head: Registry, history: History, earlier: Commit) -> Iterator[Digest]:
    """Give the records that HEAD has and an earlier commit has not."""
    assert history.head is not None, "there is a policy"
    fanout = head.settings.fanout

    def enters(path: str) -> bool:
        return path == STORE or (f"{path}/".startswith(f"{_OBJECTS}/") and is_folder(path, fanout))

    now = history.commit(history.head)
    for path, entry, before in history.differences(now, [earlier], enters, _pass_over):
        place = place_of(path, fanout)
        if place is not None and place.right == path and entry is not None and before == (None,):
            yield place.digest


def _pass_over(path: str, error: UnreadableError) -> None:
    """Leave a folder out that cannot be read: whoever verifies or audits says so."""


def _kind(head: Registry, digest: Digest) -> str | None:
    try:
        data = head.files.read(path_of("objects", digest, head.settings.fanout))
    except UnreadableError:
        return None
    return kind_of(DAMAGED if data is None else said_unchecked(data))


def _beside(history: History, begun: bytes) -> list[Commit]:
    """Give the commits that were merged into what descends from a commit, and do not descend from it themselves."""
    later = {begun}
    tips: dict[bytes, None] = {}
    for oid, parents in history.commits()[0].items():
        if oid != begun and not later.isdisjoint(parents):
            later.add(oid)
            tips.update((parent, None) for parent in parents if parent not in later)
    return [history.commit(tip) for tip in tips]
