"""What tells which statements of an open registry count: its policies, its checkpoints, and when each file came."""

from __future__ import annotations

import contextlib
from bisect import bisect_left
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kstore.attest.appearance import Appearances, appearances
from kstore.attest.chain import CODE, Trust, TrustProblem, policy_numbers
from kstore.attest.checkpoint_report import Checkpoints
from kstore.attest.checkpoints import check_checkpoints
from kstore.attest.instant import now
from kstore.attest.judge import Judge, Witness
from kstore.attest.pin import Pin
from kstore.attest.seen import SeenPolicies
from kstore.attest.trusted import believe
from kstore.digest import Digest
from kstore.errors import NoRegistryError
from kstore.git.files import UnreadableError
from kstore.layout import SIGNED_FOLDERS, policy_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.attest.checkpoints import Roots
    from kstore.attest.judge import Examined, Judged
    from kstore.attest.seen import SeenCheckpoints
    from kstore.git.files import Files
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
        witness, first = self._witness(examined.path), None
        for appearance in self.appeared.all_of(examined.path, examined.blob):
            number = self.appeared.before(appearance, self.trust)
            came = appearance if number == appearance.policy else msgspec.structs.replace(appearance, policy=number)
            judged = self._judge.judge(examined, came, witness)
            # Who brings it once more, on a branch where it would not count, takes nothing from it.
            if judged.counts:
                return judged
            first = first or judged
        return first or self._judge.judge(examined, None, witness)

    @cached_property
    def _judge(self) -> Judge:
        return Judge(self.trust, self.appeared.before(None, self.trust))

    def _witness(self, path: str) -> Witness:
        good = self.checkpoints.good
        if not good:
            return _NO_WITNESS
        # Each checkpoint contains what the one before contains, and was not made before it.
        first = bisect_left(good, True, key=lambda checkpoint: checkpoint.contains(path))
        absent = min(good[first - 1].time, now()) if first > 0 else 0
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


def _trust_of_head(registry: Registry, pin: Digest, files: Files) -> Trust | None:
    """Find what follows from the pinned policy at HEAD; None where that does not have it either.

    What is wrong is said of the policies of a snapshot.
    """
    with contextlib.suppress(NoRegistryError), registry.at_head() as head:
        trust = believe(head.files, pin, *past_of(head))
        if trust.pinned:
            return msgspec.structs.replace(trust, problems=tuple(_strangers(files, trust)))
    return None


def _strangers(files: Files, trust: Trust) -> Iterator[TrustProblem]:
    """Name the policies of a snapshot that are none of those that are believed at HEAD."""
    # A folder that cannot be read is reported as such.
    with contextlib.suppress(UnreadableError):
        for number in policy_numbers(files):
            path = policy_path(number)
            try:
                data = files.read(path)
            except UnreadableError as error:
                yield TrustProblem(path, CODE, str(error))
                continue
            believed = trust.digest(number)
            if data is not None and Digest.of(data) != believed:
                expected = f"the policy of this number at HEAD, {believed}" if believed else "no policy of this number"
                yield TrustProblem(
                    path,
                    CODE,
                    "this snapshot does not have the policy that is pinned here, so that HEAD's policies count: "
                    f"expected {expected}, found {Digest.of(data)}",
                )


def _unless_rolled_back(files: Files, trust: Trust, memory: SeenPolicies, branch: str, *, keep: bool) -> Trust:
    """Name a rollback of policies; or remember the last one, if so wanted, where nothing is wrong with them."""
    last = memory.recall(branch)
    if last is not None:
        path, data = policy_path(last.number), None
        # One that cannot be read is reported as such.
        with contextlib.suppress(UnreadableError):
            data = files.read(path)
        if data is None or Digest.of(data) != last.file.digest:
            message = (
                f"rollback: this clone has seen policy {last.number} ({last.file.digest}) on {branch}, and finds "
                f"{'none' if data is None else 'another one'} of this number; what it revoked may count again. If this "
                f"was meant, remove {memory.path}"
            )
            return msgspec.structs.replace(trust, problems=(*trust.problems, TrustProblem(path, CODE, message)))
    if keep and trust.latest is not None and not trust.problems:
        memory.keep(branch, trust.latest.number, trust.digests[-1])
    return trust


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
    trust = believe(files, pin, history, appeared)
    if pin is not None and not trust.pinned and (past is not None or not registry.is_current):
        # A commit of long ago, or one beside HEAD, need not have the pinned policy; HEAD must.
        trust = _trust_of_head(registry, pin, files) or trust
    if (
        history is not None
        and history.branch is not None
        and registry.is_current
        and (past is None or seen is not None)
    ):
        trust = _unless_rolled_back(files, trust, SeenPolicies(registry.derived), history.branch, keep=seen is not None)
    checkpoints = Checkpoints()
    if history is not None and (seen is not None or any(files.scan(SIGNED_FOLDERS["checkpoints"]))):
        checkpoints = check_checkpoints(history, files, trust, appeared, roots, seen)
    return Evidence(trust, appeared, checkpoints)
