"""Which policies of a registry are to be believed: those that lead from the one that the reader pinned.

Going back, each policy names the SHA-256 of the one before it. Going forward, each must be signed by a threshold of the
maintainers of the one before, and by a threshold of its own; and none takes a revocation back. Nothing after the first
fault is believed. What a file of a registry says never raises here: it becomes a problem.
"""

from __future__ import annotations

from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from kstore.attest.instant import now, seconds_of
from kstore.attest.policy import Policy, PolicyError, read_policy
from kstore.digest import Digest
from kstore.git.files import UnreadableError
from kstore.git.uncommitted import blob_id
from kstore.layout import STORE, numbers_in, policy_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kstore.attest.envelope import Envelope
    from kstore.attest.key import PublicKey
    from kstore.git.files import Files

FOLDER = f"{STORE}/trust"
CODE = "invalid-policy"


class TrustProblem(msgspec.Struct, frozen=True):
    """Something that is wrong with a policy.

    Attributes:
        path: Its file, or the folder of all of them.
        code: The finding's code.
        message: What is wrong.
    """

    path: str
    code: str
    message: str


class Trust(msgspec.Struct, frozen=True, dict=True):
    """What may be believed of a registry's policies.

    Attributes:
        policies: Those that are believed, in order, without a gap; usually from number 1.
        digests: The SHA-256 of each one's file.
        blobs: The ids, 20 bytes, that git gives to those files' bytes.
        times: When each one came, in seconds since 1970, and none before the one before it.
        pinned: Whether they follow from a policy that the reader pinned; otherwise they only agree with themselves.
        problems: What is wrong with the others.
        exists: Whether there is any file of a policy at all.
    """

    policies: tuple[Policy, ...] = ()
    digests: tuple[Digest, ...] = ()
    blobs: tuple[bytes, ...] = ()
    times: tuple[int, ...] = ()
    pinned: bool = False
    problems: tuple[TrustProblem, ...] = ()
    exists: bool = False

    @property
    def latest(self) -> Policy | None:
        """The last policy that is believed."""
        return self.policies[-1] if self.policies else None

    def policy(self, number: int) -> Policy | None:
        """Give a policy that is believed, by its number."""
        at = self._at(number)
        return None if at is None else self.policies[at]

    def digest(self, number: int) -> Digest | None:
        """Give the SHA-256 of the file of a policy that is believed."""
        at = self._at(number)
        return None if at is None else self.digests[at]

    def revoked_from(self, key_id: str) -> str | None:
        """Say from when on a key is revoked, by the last policy that lists it."""
        entries = (policy.entry(key_id) for policy in reversed(self.policies))
        last = next((entry for entry in entries if entry is not None), None)
        return None if last is None or last.revoked_from is UNSET else last.revoked_from

    def before(self, number: int) -> Trust:
        """Give what was to be believed before a policy of some number."""
        count = self.upto(number - 1)
        return msgspec.structs.replace(
            self,
            policies=self.policies[:count],
            digests=self.digests[:count],
            blobs=self.blobs[:count],
            times=self.times[:count],
        )

    @cached_property
    def keys(self) -> dict[str, PublicKey]:
        """All keys that a believed policy lists, by their ids."""
        return {each.id: each.public_key for policy in self.policies for each in policy.signers}

    def upto(self, number: int) -> int:
        """Tell how many of them have a number of at most that."""
        return min(max(number - self.policies[0].number + 1, 0), len(self.policies)) if self.policies else 0

    def _at(self, number: int) -> int | None:
        at = number - self.policies[0].number if self.policies else -1
        return at if 0 <= at < len(self.policies) else None


class _File(msgspec.Struct, frozen=True):
    """The file of a policy, well formed."""

    digest: Digest
    blob: bytes
    envelope: Envelope
    policy: Policy


def read_trust(files: Files, pin: Digest | None, times: Mapping[int, int] | None = None) -> Trust:
    """Find out which policies of a snapshot are to be believed.

    Args:
        files: The snapshot.
        pin: The digest of the policy's file that the reader trusts; None where nothing was pinned. Then the first
            policy need only be signed by a threshold of its own maintainers.
        times: When each policy appeared, by its number, in seconds since 1970. A policy that has no time here is one
            that appears now; a maintainer whose window has ended since, or who was revoked since, would not count.
    """
    try:
        numbers = policy_numbers(files)
    except UnreadableError as error:
        return Trust(problems=(TrustProblem(FOLDER, CODE, str(error)),), exists=True)
    if not numbers and pin is None:
        return Trust()
    if pin is None:
        return _follow(files, numbers, [], times or {}, pinned=False)
    return _from_pin(files, numbers, pin, times or {})


def policy_problem(policy: Policy, envelope: Envelope, before: Policy | None, time: int) -> str | None:
    """Say why a policy may not follow another, or None where it may.

    Args:
        policy: The policy, and
        envelope: what it came in.
        before: The policy before it, which is believed; None for the first one, which nothing but itself signs.
        time: When it appeared, in seconds since 1970.
    """
    for signature in envelope.signatures:
        entry = policy.entry(signature.keyid) or (before and before.entry(signature.keyid))
        if not entry:
            return f"it has a signature of {signature.keyid}, which neither it nor the policy before it lists"
        if not entry.public_key.verifies(signature.sig, envelope.signed):
            return f"the signature of {entry.name} ({signature.keyid}) is not right for what it signs"
    if before is not None:
        for problem in _taken_back(before, policy):
            return problem
    signed = [signature.keyid for signature in envelope.signatures]
    for rule, whose in ((before, "the maintainers of the policy before it"), (policy, "its own maintainers")):
        if rule is not None:
            names = rule.counted(signed, time, policy)
            if len(names) < rule.threshold:
                found = f"{len(names)}: {', '.join(sorted(names))}" if names else "none"
                return (
                    f"expected signatures of at least {rule.threshold} of {whose} that are not revoked and were valid "
                    f"when it appeared (all keys of one name count once), found {found}"
                )
    return None


def _taken_back(before: Policy, policy: Policy) -> Iterator[str]:
    """Say which revocations a policy takes back, in whole or in part: what a revoked key signed could count again."""
    for old in before.signers:
        if old.revoked_from is UNSET:
            continue
        entry = policy.entry(old.id)
        since = None if entry is None else entry.revoked_from
        if since is None or since is UNSET or seconds_of(since) > seconds_of(old.revoked_from):
            revoked = f"revoked from {old.revoked_from}"
            found = "it dropped" if entry is None else f"one revoked from {since}" if since else "one not revoked"
            yield (
                f"expected the key of {old.name} ({old.id}), {revoked} by the policy before, to stay revoked from then "
                f"or earlier, found {found}"
            )


def policy_numbers(files: Files) -> list[int]:
    """Give the numbers of all files of policies, in order; names that are no policy's are not looked at here.

    Raises:
        UnreadableError: The folder cannot be read.
    """
    return numbers_in("trust", files.names(FOLDER))


def _from_pin(files: Files, numbers: Sequence[int], pin: Digest, times: Mapping[int, int]) -> Trust:
    problem = TrustProblem(
        FOLDER,
        CODE,
        f"the policy that is pinned here, {pin}, is not in this registry: it was rolled back, or this is another "
        "registry; nothing that it says of its signers is believed",
    )
    for number in reversed(numbers):
        path = policy_path(number)
        try:
            data = files.read(path)
        except UnreadableError:
            continue
        if data is None or Digest.of(data) != pin:
            continue
        try:
            pinned = _read(data, number)
        except PolicyError as error:
            # It may be a copy of the right one, under another number.
            problem = TrustProblem(path, CODE, f"this has the bytes that are pinned here, and is not right: {error}")
            continue
        chain, problems = _back(files, pinned)
        return _follow(files, numbers, chain, times, pinned=True, problems=problems)
    return Trust(problems=(problem,), exists=bool(numbers))


def _back(files: Files, pinned: _File) -> tuple[list[_File], list[TrustProblem]]:
    """Find the policies before a pinned one, by the digests that each has of the one before it."""
    chain = [pinned]
    while chain[-1].policy.previous:
        later = chain[-1].policy
        path = policy_path(later.number - 1)
        assert later.previous
        try:
            data = files.read(path)
            if data is None:
                raise PolicyError(f"expected the policy before number {later.number}, found none")
            if Digest.of(data) != later.previous.digest:
                raise PolicyError(
                    f"expected the file that policy {later.number} names as `previous`, {later.previous.digest}, "
                    f"found {Digest.of(data)}"
                )
            chain.append(_read(data, later.number - 1))
        except (PolicyError, UnreadableError) as error:
            return chain[::-1], [TrustProblem(path, CODE, str(error))]
    return chain[::-1], []


def _follow(
    files: Files,
    numbers: Sequence[int],
    chain: list[_File],
    times: Mapping[int, int],
    *,
    pinned: bool,
    problems: Sequence[TrustProblem] = (),
) -> Trust:
    """Go on from the policies that are believed already, if any, to those that follow from them."""
    found = list(problems)
    # No policy came before the one that it follows, whatever its commit is dated.
    came = max(_times(chain, times), default=0)
    for number in numbers:
        if chain and number <= chain[-1].policy.number:
            continue
        try:
            came = max(came, times.get(number, now()))
            chain.append(_next(files, number, chain[-1] if chain else None, came))
        except (PolicyError, UnreadableError) as error:
            later = (
                f"; the later ones, up to number {numbers[-1]}, are not believed either" if number < numbers[-1] else ""
            )
            found.append(TrustProblem(policy_path(number), CODE, f"{error}{later}"))
            break
    return Trust(
        tuple(each.policy for each in chain),
        tuple(each.digest for each in chain),
        tuple(each.blob for each in chain),
        tuple(_times(chain, times)),
        pinned,
        tuple(found),
        exists=True,
    )


def _times(chain: Sequence[_File], times: Mapping[int, int]) -> Iterator[int]:
    """Say when each policy came: not before the one that it follows."""
    return accumulate((times.get(each.policy.number, now()) for each in chain), max)


def _next(files: Files, number: int, last: _File | None, time: int) -> _File:
    """Read the policy that has a number and came at some time, and check that it follows the last one.

    Raises:
        PolicyError: It does not.
        UnreadableError: Its file cannot be read.
    """
    expected = last.policy.number + 1 if last else 1
    if number != expected:
        raise PolicyError(f"expected policy {expected} next, found {number}: a number was skipped")
    data = files.read(policy_path(number))
    if data is None:
        raise PolicyError("it was there a moment ago and is gone")
    file = _read(data, number)
    if last is not None and (not file.policy.previous or file.policy.previous.digest != last.digest):
        raise PolicyError(
            f"previous: expected the SHA-256 of policy {last.policy.number}'s file, {last.digest}, found "
            f"{file.policy.previous.digest if file.policy.previous else 'none'}"
        )
    problem = policy_problem(file.policy, file.envelope, None if last is None else last.policy, time)
    if problem is not None:
        raise PolicyError(problem)
    return file


def _read(data: bytes, number: int) -> _File:
    envelope, policy = read_policy(data)
    if policy.number != number:
        raise PolicyError(f"expected number {number}, as its file's name says, found {policy.number}")
    return _File(Digest.of(data), blob_id(data), envelope, policy)
