"""The standing of a record: what follows from the statements about it, and never from what anybody typed in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kstore.attest.statement import Endorsement, Replication, Retraction, Supersession

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kstore.attest.chain import Trust
    from kstore.attest.judge import Judged
    from kstore.attest.statement import Predicate
    from kstore.digest import Digest

Status: TypeAlias = Literal["reported", "signed", "replicated", "disputed", "retracted", "superseded"]

ENOUGH = 2
"""How many signers other than a record's endorsers must have reproduced it for it to be replicated."""


class Withdrawal(msgspec.Struct, frozen=True, rename="camel"):
    """A statement that a record should not be used any more.

    Attributes:
        by: Who says so.
        reason: Why.
        replacement: The record to use in its place, where the statement names one.
        statement: The SHA-256 of the statement's file, which is its name.
    """

    by: tuple[str, ...]
    reason: str
    replacement: Digest | None
    statement: Digest


class Claims(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """What is said of a record, and by whom: names of signers, or ids of keys where no names are trusted.

    Attributes:
        status: What follows: the first that holds of `retracted`; `superseded`; `disputed` (somebody could not
            reproduce it, or objects); `replicated` (`ENOUGH` others reproduced it); `signed`; `reported`, which says
            nothing.
        signed_by: Who vouches for it.
        stale_metadata: Which of them have signed other metadata than it has now.
        reproduced_by: Who has repeated the measurement, and got what it says; its endorsers do not count.
        not_reproduced_by: Who got something else.
        retractions: Those that count: by an endorser of the record, or by a maintainer.
        supersessions: Likewise.
        objections: Retractions and supersessions by anybody else.
    """

    status: Status = "reported"
    signed_by: tuple[str, ...] = ()
    stale_metadata: tuple[str, ...] = ()
    reproduced_by: tuple[str, ...] = ()
    not_reproduced_by: tuple[str, ...] = ()
    retractions: tuple[Withdrawal, ...] = ()
    supersessions: tuple[Withdrawal, ...] = ()
    objections: tuple[Withdrawal, ...] = ()


class Standing(Claims, frozen=True, kw_only=True, rename="camel"):
    """What to think of a record; the other attributes are those of `Claims`, by the signers' names.

    Attributes:
        untrusted: Where no policy is pinned: what is said, by the ids of the keys that the registry's own policies
            list, and what would follow. None of it counts: all other attributes are as if it were not there.
        uncounted: How many statements do not count, since something is wrong with them, or with their signers.
    """

    untrusted: Claims | None = None
    uncounted: int = 0


def standing(judged: Sequence[Judged], metadata: Digest | None, trust: Trust) -> Standing:
    """Derive the standing of a record.

    Args:
        judged: All statements about it, in any order.
        metadata: The SHA-256 of its metadata as they are now, or None where it has none.
        trust: The policies, which say who is a maintainer.
    """
    counting = sorted((each for each in judged if each.counts), key=lambda each: each.digest)
    uncounted = len(judged) - len(counting)
    claims = _claims(counting, metadata, trust)
    if not trust.pinned:
        return Standing(untrusted=claims if counting else None, uncounted=uncounted)
    return Standing(**msgspec.structs.asdict(claims), uncounted=uncounted)


def _status(claims: Claims) -> Status:
    if claims.retractions:
        return "retracted"
    if claims.supersessions:
        return "superseded"
    if claims.not_reproduced_by or claims.objections:
        return "disputed"
    if len(claims.reproduced_by) >= ENOUGH:
        return "replicated"
    return "signed" if claims.signed_by else "reported"


def _claims(counting: Sequence[Judged], metadata: Digest | None, trust: Trust) -> Claims:
    endorsers: set[str] = set()
    fresh: set[str] = set()
    results: dict[str, set[str]] = {"reproduced": set(), "not-reproduced": set()}
    for each, predicate in _predicates(counting):
        if isinstance(predicate, Endorsement):
            endorsers.update(_who(each, trust))
            if predicate.metadata.digest == metadata:
                fresh.update(_who(each, trust))
        elif isinstance(predicate, Replication):
            results[predicate.result].update(_who(each, trust))
    retractions, supersessions, objections = [], [], []
    for each, predicate in _predicates(counting):
        if not isinstance(predicate, Retraction | Supersession):
            continue
        replacement = predicate.by.digest if isinstance(predicate, Supersession) else None
        withdrawal = Withdrawal(_who(each, trust), predicate.reason, replacement, each.digest)
        if not endorsers.intersection(withdrawal.by) and not _by_maintainer(each, trust):
            objections.append(withdrawal)
        elif replacement is None:
            retractions.append(withdrawal)
        else:
            supersessions.append(withdrawal)
    claims = Claims(
        signed_by=tuple(sorted(endorsers)),
        stale_metadata=tuple(sorted(endorsers - fresh)),
        reproduced_by=tuple(sorted(results["reproduced"] - endorsers)),
        not_reproduced_by=tuple(sorted(results["not-reproduced"])),
        retractions=tuple(retractions),
        supersessions=tuple(supersessions),
        objections=tuple(objections),
    )
    return msgspec.structs.replace(claims, status=_status(claims))


def _predicates(counting: Sequence[Judged]) -> Iterator[tuple[Judged, Predicate]]:
    for each in counting:
        assert each.statement is not None, "what counts is a statement"
        yield each, each.statement.predicate


def _who(judged: Judged, trust: Trust) -> tuple[str, ...]:
    """Name those who made a statement; where no policy is pinned, anybody could have written the names."""
    return judged.signers if trust.pinned else tuple(sorted(key for key in judged.keys if key in trust.keys))


def _by_maintainer(judged: Judged, trust: Trust) -> bool:
    """Tell whether a maintainer's key made a statement: one that was such a key when it appeared, or is one now."""
    then = None if judged.appearance is None else trust.policy(judged.appearance.policy)
    entries = (policy.entry(key) for policy in (then, trust.latest) if policy is not None for key in judged.keys)
    return any(entry is not None and entry.is_maintainer and entry.name in judged.signers for entry in entries)
