from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET

from kstore.attest.amend import (
    differences,
    first_policy,
    listed,
    successor,
    with_key,
    with_required,
    with_revoked,
    with_threshold,
)
from kstore.attest.policy import MAX_POLICIES, MAX_THRESHOLD, read_payload
from kstore.attest.statement import Sha256
from kstore.digest import Digest
from kstore.errors import KstoreError, UsageError
from kstore.schema import KINDS
from tests.attest.policies import ALICE, BOB, CAROL, policy

LAST = policy(1, 1, ALICE.listed("alice", "maintainer", "signer"), BOB.listed("bob", "signer"))
DIGEST = Digest.of(b"the file of the last one")
MARCH, APRIL = "2026-03-01T00:00:00Z", "2026-04-01T00:00:00Z"


def test_the_first_policy_has_one_key_that_may_do_everything() -> None:
    made = first_policy("alice", ALICE.public)
    assert made == policy(1, 1, ALICE.listed("alice", "maintainer", "signer"))
    assert read_payload(made.to_bytes()) == made
    assert list(differences(None, made)) == [f"add alice {ALICE.id} (maintainer, signer)", "need 1 maintainer"]


def test_the_next_policy_names_the_one_before() -> None:
    made = successor(with_threshold(1)(LAST), LAST, DIGEST)
    assert (made.number, made.previous) == (2, Sha256.of(DIGEST))
    assert read_payload(made.to_bytes()) == made
    assert list(differences(LAST, made)) == []


def test_a_key_is_listed_in_its_place() -> None:
    entry = listed("aaron", CAROL.public, ["signer", "signer", "maintainer"], MARCH, APRIL)
    made = successor(with_key(entry)(LAST), LAST, DIGEST)
    assert [each.name for each in made.signers] == ["aaron", "alice", "bob"]
    assert read_payload(made.to_bytes()) == made
    words = f"add aaron {CAROL.id} (maintainer, signer, valid from {MARCH}, valid before {APRIL})"
    assert list(differences(LAST, made)) == [words]


def test_a_key_of_the_same_name_is_listed_as_it_is_said_now() -> None:
    made = with_key(listed("bob", BOB.public, ["maintainer"], UNSET, APRIL))(LAST)
    assert len(made.signers) == 2
    entry = made.entry(BOB.id)
    assert entry is not None
    assert (entry.roles, entry.valid_before) == (("maintainer",), APRIL)
    assert list(differences(LAST, made)) == [
        f"change bob {BOB.id} (signer) to bob {BOB.id} (maintainer, valid before {APRIL})"
    ]
    assert with_key(entry)(made) == made


def test_a_key_belongs_to_one_name() -> None:
    with pytest.raises(KstoreError, match="is the key of bob already"):
        with_key(listed("robert", BOB.public, ["signer"]))(LAST)


def test_a_revoked_key_stays_revoked() -> None:
    revoked = with_revoked("bob", MARCH)(LAST)
    with pytest.raises(KstoreError, match="stays so"):
        with_key(listed("bob", BOB.public, ["signer"]))(revoked)
    assert with_revoked("bob", APRIL)(revoked) == revoked
    earlier = with_revoked("bob", "2026-02-01T00:00:00Z")(revoked)
    assert list(differences(revoked, earlier)) == [f"revoke bob {BOB.id} from 2026-02-01T00:00:00Z"]


def test_all_keys_of_a_name_are_revoked_or_one() -> None:
    several = with_key(listed("bob", CAROL.public, ["signer"]))(LAST)
    everything = with_revoked("bob", MARCH)(several)
    assert [each.revoked_from for each in everything.signers] == [UNSET, MARCH, MARCH]
    one = with_revoked(CAROL.id, MARCH)(several)
    assert [each.id for each in one.signers if each.revoked_from] == [CAROL.id]
    assert list(differences(several, one)) == [f"revoke bob {CAROL.id} from {MARCH}"]


def test_nobody_of_that_name() -> None:
    with pytest.raises(KstoreError, match=r"no signer is named 'dora'.*alice, bob"):
        with_revoked("dora", MARCH)(LAST)


def test_what_must_be_signed() -> None:
    runs = with_required(["ServingRun", "BenchmarkRun", "ServingRun"])(LAST)
    assert runs.requires_signature == ("BenchmarkRun", "ServingRun")
    assert list(differences(LAST, runs)) == ["require signatures of BenchmarkRun, ServingRun"]
    assert list(differences(runs, with_required(True)(runs))) == ["require signatures of all records"]
    assert list(differences(runs, with_required(False)(runs))) == ["require signatures of nothing"]
    assert with_required([])(runs) == LAST
    assert read_payload(with_required(list(KINDS))(LAST).to_bytes()).requires("BenchmarkRun")
    with pytest.raises(UsageError, match="no kind 'Nothing'"):
        with_required(["Nothing"])


def test_what_is_dropped_is_said_though_no_command_does_it() -> None:
    dropped = policy(1, 1, ALICE.listed("alice", "maintainer", "signer"))
    assert list(differences(LAST, dropped)) == [f"drop bob {BOB.id} (signer)"]


@pytest.mark.parametrize("threshold", [0, 2, MAX_THRESHOLD + 1])
def test_no_policy_is_made_that_nobody_could_change(threshold: int) -> None:
    with pytest.raises(KstoreError, match=r"could change it any more|out of bounds"):
        successor(with_threshold(threshold)(LAST), LAST, DIGEST)


def test_the_last_maintainer_cannot_be_revoked() -> None:
    with pytest.raises(KstoreError, match="could change it any more"):
        successor(with_revoked("alice", MARCH)(LAST), LAST, DIGEST)


def test_there_is_a_last_number() -> None:
    last = msgspec.structs.replace(LAST, number=MAX_POLICIES, previous=Sha256.of(DIGEST))
    with pytest.raises(KstoreError, match="out of bounds"):
        successor(last, last, DIGEST)


@pytest.mark.parametrize("name", ["", "Alice", "a b", "alice,bob", "a*", "-a", "a" * 101, "alice\n", "älice"])
def test_names_are_plain(name: str) -> None:
    with pytest.raises(UsageError, match="a signer's name"):
        listed(name, ALICE.public, ["signer"])


def test_a_window_that_is_empty() -> None:
    with pytest.raises(UsageError, match="a window that ends after it begins"):
        listed("alice", ALICE.public, ["signer"], APRIL, MARCH)
