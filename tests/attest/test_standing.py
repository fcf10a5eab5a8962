"""What follows from statements: the order of the statuses, who counts, and what is said where nobody is trusted."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.appearance import Appearance
from kstore.attest.chain import Trust
from kstore.attest.judge import Judged
from kstore.attest.key import PublicKey
from kstore.attest.policy import Listed, Policy, Role
from kstore.attest.standing import Standing, standing
from kstore.attest.statement import (
    Endorsement,
    Predicate,
    Replication,
    Retraction,
    Sha256,
    Supersession,
    read_statement,
    statement_bytes,
)
from kstore.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

Fact: TypeAlias = tuple[str, Predicate]

RECORD = Digest.of(b"record")
METADATA = Digest.of(b"metadata")
OTHER = Digest.of(b"another record")

SIGNS = Endorsement(Sha256.of(METADATA))
SIGNED_BEFORE = Endorsement(Sha256.of(Digest.of(b"older metadata")))
REPRODUCED = Replication("reproduced")
NOT_REPRODUCED = Replication("not-reproduced")
RETRACTS = Retraction("the clock was wrong")
SUPERSEDES = Supersession(Sha256.of(OTHER), "measured again")

NAMES = ("alice", "bob", "carol", "dora", "maintainer")
PREDICATES = (SIGNS, SIGNED_BEFORE, REPRODUCED, NOT_REPRODUCED, RETRACTS, SUPERSEDES)

facts = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(PREDICATES)), max_size=12)


def key(name: str, number: int = 0) -> PublicKey:
    return PublicKey(hashlib.sha256(f"{name} {number}".encode()).digest())


def listed(name: str, number: int, *roles: Role) -> Listed:
    return Listed(name, str(key(name, number)), roles)


def policy(number: int, *more: Listed) -> Policy:
    """Everybody has three keys, and the maintainer's first one is that of a maintainer."""
    signers = [listed(name, each, "signer") for name in NAMES for each in range(3) if (name, each) != (NAMES[-1], 0)]
    return Policy(1, number, 1, (*signers, listed(NAMES[-1], 0, "maintainer"), *more))


TRUST = Trust(policies=(policy(1),), pinned=True)


def judged(
    by: str | tuple[str, ...],
    predicate: Predicate,
    *,
    number: int = 0,
    counts: bool = True,
    policy: int = 1,
    keys: tuple[str, ...] | None = None,
) -> Judged:
    """Give a statement that was judged already, by somebody's key of a number."""
    names = (by,) if isinstance(by, str) else by
    statement = read_statement(statement_bytes("record", RECORD, predicate))
    ids = tuple(sorted(key(name, number).id for name in names)) if keys is None else keys
    digest = Digest.of(repr((names, predicate, ids)).encode())
    return Judged(
        path=f"store/attestations/{digest.hex}.json",
        subject=RECORD,
        digest=digest,
        statement=statement,
        signers=tuple(sorted(names)) if counts else (),
        keys=ids,
        problems=(),
        appearance=Appearance("0" * 40, 0, policy),
    )


def stands(*said: Fact, trust: Trust = TRUST) -> Standing:
    return standing([judged(name, predicate) for name, predicate in said], METADATA, trust)


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ([], "reported"),
        ([("bob", REPRODUCED)], "reported"),
        ([("alice", SIGNS)], "signed"),
        ([("alice", SIGNS), ("bob", REPRODUCED)], "signed"),
        ([("alice", SIGNS), ("bob", REPRODUCED), ("alice", REPRODUCED)], "signed"),
        ([("alice", SIGNS), ("bob", REPRODUCED), ("carol", REPRODUCED)], "replicated"),
        ([("bob", REPRODUCED), ("carol", REPRODUCED)], "replicated"),
        ([("alice", SIGNS), ("carol", SIGNS), ("bob", REPRODUCED), ("carol", REPRODUCED)], "signed"),
        ([("alice", SIGNS), ("bob", REPRODUCED), ("carol", REPRODUCED), ("dora", NOT_REPRODUCED)], "disputed"),
        ([("alice", SIGNS), ("alice", NOT_REPRODUCED)], "disputed"),
        ([("alice", SIGNS), ("bob", RETRACTS)], "disputed"),
        ([("alice", SIGNS), ("bob", SUPERSEDES)], "disputed"),
        ([("alice", SIGNS), ("alice", SUPERSEDES), ("dora", NOT_REPRODUCED)], "superseded"),
        ([("alice", SIGNS), ("maintainer", SUPERSEDES)], "superseded"),
        ([("alice", SIGNS), ("maintainer", RETRACTS), ("alice", SUPERSEDES)], "retracted"),
        ([("alice", RETRACTS)], "disputed"),
        ([("maintainer", RETRACTS)], "retracted"),
    ],
)
def test_status(said: list[Fact], status: str) -> None:
    assert stands(*said).status == status


@given(facts)
def test_the_status_is_the_first_that_holds(said: list[Fact]) -> None:
    def who(*predicates: Predicate) -> set[str]:
        return {name for name, predicate in said if predicate in predicates}

    endorsers = who(SIGNS, SIGNED_BEFORE)
    may = endorsers | {"maintainer"}
    expected = "signed" if endorsers else "reported"
    if len(who(REPRODUCED) - endorsers) >= 2:
        expected = "replicated"
    if who(NOT_REPRODUCED) or who(RETRACTS, SUPERSEDES) - may:
        expected = "disputed"
    if who(SUPERSEDES) & may:
        expected = "superseded"
    if who(RETRACTS) & may:
        expected = "retracted"
    found = stands(*said)
    assert found.status == expected
    assert set(found.signed_by) == endorsers
    assert set(found.stale_metadata) == endorsers - who(SIGNS)
    assert set(found.reproduced_by) == who(REPRODUCED) - endorsers
    assert set(found.not_reproduced_by) == who(NOT_REPRODUCED)
    assert {name for each in found.objections for name in each.by} == who(RETRACTS, SUPERSEDES) - may


@given(facts, st.randoms(use_true_random=False))
def test_the_order_of_statements_does_not_matter(said: list[Fact], random: Random) -> None:
    statements = [judged(name, predicate) for name, predicate in said]
    shuffled = random.sample(statements, len(statements))
    assert standing(shuffled, METADATA, TRUST) == standing(statements, METADATA, TRUST)


@given(facts, st.lists(st.integers(1, 2), min_size=12, max_size=12))
def test_keys_of_one_signer_count_once(said: list[Fact], numbers: list[int]) -> None:
    statements = [judged(name, predicate) for name, predicate in said]
    again = [
        judged(name, predicate, number=number)
        for (name, predicate), number in zip(said, numbers, strict=False)
        if name != "maintainer"
    ]
    once, twice = (standing(each, METADATA, TRUST) for each in (statements, statements + again))
    assert once.status == twice.status
    assert (once.signed_by, once.reproduced_by) == (twice.signed_by, twice.reproduced_by)


@given(facts)
def test_an_endorser_does_not_replicate_its_own_record(said: list[Fact]) -> None:
    before = stands(*said)
    own = [(name, REPRODUCED) for name in before.signed_by]
    assert stands(*said, *own) == before


@given(facts, facts)
def test_what_does_not_count_changes_nothing_but_its_number(said: list[Fact], wrong: list[Fact]) -> None:
    statements = [judged(name, predicate) for name, predicate in said]
    others = [judged(name, predicate, counts=False) for name, predicate in wrong]
    before, after = (standing(each, METADATA, TRUST) for each in (statements, statements + others))
    assert after.uncounted == len(wrong)
    assert (after.status, after.signed_by, after.retractions) == (before.status, before.signed_by, before.retractions)


@given(facts)
def test_without_a_pin_nothing_counts_and_no_name_is_said(said: list[Fact]) -> None:
    found = stands(*said, trust=Trust(policies=(policy(1),), pinned=False))
    assert (found.status, found.signed_by, found.retractions, found.uncounted) == ("reported", (), (), 0)
    assert (found.untrusted is None) == (not said)
    if found.untrusted is not None:
        assert not set(NAMES) & set(found.untrusted.signed_by)
        assert set(found.untrusted.signed_by) == {
            key(name).id for name, predicate in said if isinstance(predicate, Endorsement)
        }
        withdrawals = (found.untrusted.retractions, found.untrusted.supersessions, found.untrusted.objections)
        assert all(by.startswith("SHA256:") for each in withdrawals for one in each for by in one.by)


def test_one_statement_with_two_signatures_has_two_signers() -> None:
    found = standing([judged(("bob", "carol"), REPRODUCED)], METADATA, TRUST)
    assert (found.status, found.reproduced_by) == ("replicated", ("bob", "carol"))


def test_metadata_that_are_gone_are_other_metadata() -> None:
    assert standing([judged("alice", SIGNS)], None, TRUST).stale_metadata == ("alice",)


def test_who_signed_again_has_signed_what_is_there() -> None:
    assert stands(("alice", SIGNED_BEFORE)).stale_metadata == ("alice",)
    assert stands(("alice", SIGNED_BEFORE), ("alice", SIGNS)).stale_metadata == ()


def test_a_withdrawal_says_what_it_said() -> None:
    found = stands(("alice", SIGNS), ("alice", RETRACTS), ("alice", SUPERSEDES))
    (retraction,), (supersession,) = found.retractions, found.supersessions
    assert (retraction.by, retraction.reason, retraction.replacement) == (("alice",), "the clock was wrong", None)
    assert (supersession.by, supersession.replacement) == (("alice",), OTHER)
    assert retraction.statement == judged("alice", RETRACTS).digest


def _withdrawn(statement: Judged, *policies: Policy) -> str:
    return standing([statement], METADATA, Trust(policies=policies, pinned=True)).status


def test_a_maintainer_is_who_was_one_then_or_is_one_now() -> None:
    promoted = policy(2, listed("zoe", 0, "maintainer"))
    assert _withdrawn(judged("zoe", RETRACTS, policy=2), policy(1), promoted) == "retracted"
    assert _withdrawn(judged("zoe", RETRACTS, policy=1), policy(1), promoted) == "retracted"
    assert _withdrawn(judged("zoe", RETRACTS, policy=1), promoted, policy(3)) == "disputed"
    assert _withdrawn(judged("zoe", RETRACTS, policy=2), promoted, policy(3)) == "retracted"
    assert _withdrawn(judged("zoe", RETRACTS, policy=0), policy(1)) == "disputed"


def test_another_key_of_a_maintainer_is_no_maintainers_key() -> None:
    assert _withdrawn(judged("maintainer", RETRACTS, number=1), policy(1)) == "disputed"


def test_a_maintainers_key_whose_signature_does_not_count_makes_nobody_a_maintainer() -> None:
    keys = (key("alice").id, key("maintainer").id)
    assert _withdrawn(judged("alice", RETRACTS, keys=keys), policy(1)) == "disputed"


def test_a_key_that_no_policy_lists_is_not_said_to_have_signed() -> None:
    keys = (key("alice").id, key("stranger").id)
    statements: Sequence[Judged] = [judged("alice", SIGNS, keys=keys)]
    found = standing(statements, METADATA, Trust(policies=(policy(1),), pinned=False))
    assert found.untrusted is not None
    assert found.untrusted.signed_by == (key("alice").id,)
