"""Make a checkpoint: a signed statement of everything that HEAD has, committed on top of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kstore.actions.checkpoints import Row, row_of
from kstore.actions.progress import Progress, silent
from kstore.actions.root import Roots
from kstore.actions.signed_names import strangers
from kstore.attest.checkpoint import checkpoint_bytes, read_checkpoint
from kstore.attest.checkpoints import checkpoint_numbers
from kstore.attest.evidence import evidence, past_of
from kstore.attest.instant import instant_of, now
from kstore.attest.seen import SeenCheckpoints
from kstore.attest.signing import public_key_of, sign_payload
from kstore.attest.statement import PAYLOAD_TYPE
from kstore.digest import Digest
from kstore.errors import KstoreError, NoTrustError, UsageError
from kstore.layout import checkpoint_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.attest.chain import Trust
    from kstore.attest.policy import Policy
    from kstore.attest.signing import Signer
    from kstore.registry import Registry

Status: TypeAlias = Literal["added", "present"]


class Created(msgspec.Struct, frozen=True):
    """What a call came to.

    Attributes:
        status: `present` where nothing under store/ has changed since the last checkpoint, which is then the one meant.
        commit: The new commit, or None where none was made.
        checkpoint: The checkpoint.
        notes: What a person should know.
    """

    status: Status
    commit: str | None
    checkpoint: Row
    notes: tuple[str, ...] = ()


class _Plan(msgspec.Struct, frozen=True):
    status: Status
    trust: Trust
    data: bytes
    number: int


def create_checkpoint(
    registry: Registry,
    signers: Sequence[Signer],
    *,
    jobs: int | None = None,
    cache: bool = True,
    dry_run: bool = False,
    wait: float = 10,
    progress: Progress = silent,
) -> Created:
    """State what HEAD has under store/, signed by maintainers, in one commit of its own.

    Args:
        registry: Where.
        signers: The maintainers' keys; any signers of securesystemslib's with Ed25519 keys.
        jobs: How many processes work the root out; None is one for each processor where that pays.
        cache: Whether folders that were read for an earlier root need not be read; see `kstore.attest.folder_hashes`.
        dry_run: Check and sign everything, and write nothing.
        wait: Seconds to wait for another writer.
        progress: Told of every folder that is read.

    Raises:
        UsageError: There is no signer.
        NoTrustError: The registry has no trust policy.
        LockedError: Another writer held the registry for longer than `wait` seconds.
        RootError: Something under store/ has no place there, or is damaged or missing.
        KstoreError: A key is no maintainer's, an earlier checkpoint is bad or HEAD does not contain it, or the
            checkpoint could not be written; nothing was changed.
    """
    if not signers:
        raise UsageError("a checkpoint needs a signature; --key FILE names the key of a maintainer")
    roots = Roots(registry, jobs=jobs, cache=cache, progress=progress)
    # What takes long is done before others have to wait; once they have to, only what they changed meanwhile is read.
    plan = _plan(registry, signers, roots)
    if dry_run or plan.status == "present":
        return _created(plan, None)
    with registry.writing(wait) as found:
        plan = _plan(registry, signers, roots)
        made = None
        if plan.status == "added":
            message = f"Checkpoint {plan.number}\n"
            made = registry.commit({checkpoint_path(plan.number): plan.data}, message, wait)
            branch = registry.history().branch
            if branch is not None:
                SeenCheckpoints(registry.derived).keep(branch, plan.number, Digest.of(plan.data))
    return _created(plan, made, found)


def _plan(registry: Registry, signers: Sequence[Signer], roots: Roots) -> _Plan:
    """Make the next checkpoint of what HEAD has, and sign it.

    Raises:
        KstoreError: It cannot be, and why.
    """
    past, head = past_of(registry), registry.at_head()
    history, files = past.history, head.files
    assert history is not None, "a registry that is read from HEAD has a history"
    assert history.head is not None, "and a commit"
    known = evidence(head, past, seen=SeenCheckpoints(registry.derived))
    _check_keys(signers, _latest(known.trust))
    for problem in known.checkpoints.problems:
        if problem.severity == "error":
            raise KstoreError(f"{problem.path}: {problem.message}; no checkpoint can follow")
    for gap in known.checkpoints.gaps:
        raise KstoreError(f"the checkpoints before cannot be checked in this clone: {gap}")
    _check_strangers(head)
    number, previous, time = 1, None, min(registry.moment(), now())
    for good in known.checkpoints.good:
        if good.time > now():
            raise KstoreError(
                f"{good.path}: it says that it was made {instant_of(good.time)}, which is still to come; see whether "
                "this machine's clock is right, or make the next checkpoint after that"
            )
        time = max(time, good.time)
    root = roots.of(history.commit(history.head).tree)
    numbers = checkpoint_numbers(files)
    if numbers:
        data = files.read(checkpoint_path(numbers[-1]))
        assert data is not None, "it was read when it was checked"
        last = read_checkpoint(data, numbers[-1])[1]
        if last.root == root.hash.hex():
            return _Plan("present", known.trust, data, last.number)
        number, previous = last.number + 1, Digest.of(data)
    payload = checkpoint_bytes(number, root, history.head.hex(), time, previous)
    return _Plan("added", known.trust, sign_payload(PAYLOAD_TYPE, payload, signers).to_bytes(), number)


def _check_strangers(head: Registry) -> None:
    """Check that the folders of signed files have nothing else, which a checkpoint would state for all time.

    Raises:
        KstoreError: There is something.
    """
    for found in strangers(head.files, head.settings.fanout):
        raise KstoreError(f"{found.path}: {found.message}; a checkpoint would state it for all time")


def _latest(trust: Trust) -> Policy:
    for problem in trust.problems:
        raise KstoreError(f"{problem.path}: {problem.message}")
    if trust.latest is None:
        raise NoTrustError(
            "this registry has no trust policy, so that nobody's signature would count; "
            "`kstore trust init --name NAME --key FILE` makes one"
        )
    return trust.latest


def _check_keys(signers: Sequence[Signer], policy: Policy) -> None:
    """Check that all keys are those of maintainers that count now: a checkpoint with any other signature is bad."""
    for key in map(public_key_of, signers):
        entry = policy.entry(key.id)
        if entry is None or not entry.is_maintainer:
            who = "of nobody whom it lists" if entry is None else f"of {entry.name}, who is none"
            raise KstoreError(
                f"policy {policy.number} lets maintainers alone make checkpoints, and {key.id} is the key {who}"
            )
        state = entry.state(now())
        if state != "valid":
            raise KstoreError(
                f"{key.id}, a key of {entry.name}, is {state} by policy {policy.number}; sign with another"
            )


def _created(plan: _Plan, commit: str | None, notes: tuple[str, ...] = ()) -> Created:
    if not plan.trust.pinned:
        notes += ("no policy is pinned in this clone: who its maintainers are is what the registry says of itself",)
    return Created(plan.status, commit, row_of(plan.data, plan.number, plan.trust), notes)
