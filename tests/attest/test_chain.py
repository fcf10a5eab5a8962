from __future__ import annotations

import pickle

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.chain import FOLDER, Trust, policy_numbers, read_trust
from kstore.attest.envelope import Envelope
from kstore.attest.instant import now, seconds_of
from kstore.attest.policy import MAX_POLICIES, Listed
from kstore.attest.statement import Sha256
from kstore.digest import Digest
from kstore.layout import policy_path
from tests.attest.policies import (
    ALICE,
    BOB,
    CAROL,
    DORA,
    MALLORY,
    Key,
    Snapshot,
    chain,
    file_of,
    policy,
)

ALONE = policy(1, 1, ALICE.listed("alice"))
BOTH_FIRST = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob"))
BOTH = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob"))
TWO = policy(3, 2, ALICE.listed("alice"), BOB.listed("bob"), CAROL.listed("carol", "signer"))
FOUR = policy(4, 2, ALICE.listed("alice"), BOB.listed("bob"), DORA.listed("dora", "signer"))

# Made once: a policy that a second maintainer joins, one that needs both, one that both have changed.
SOUND = chain((ALONE, (ALICE,)), (BOTH, (ALICE,)), (TWO, (ALICE, BOB)), (FOUR, (ALICE, BOB)))
PIN = Digest.of(SOUND[0])


def trusted(*files: bytes, pin: Digest | None = PIN, times: dict[int, int] | None = None) -> Trust:
    return read_trust(Snapshot.of(*files), pin, times)


def refused(trust: Trust, number: int, said: str) -> None:
    """Insist that a policy is named as wrong, and that it and what comes after are not believed."""
    (problem,) = trust.problems
    assert (problem.path, problem.code) == (policy_path(number), "invalid-policy")
    assert said in problem.message
    assert [each.number for each in trust.policies] == list(range(1, number))


def test_what_follows_from_the_pinned_policy_is_believed() -> None:
    trust = trusted(*SOUND)
    assert trust.pinned
    assert trust.exists
    assert trust.problems == ()
    assert [each.number for each in trust.policies] == [1, 2, 3, 4]
    assert trust.digests == tuple(map(Digest.of, SOUND))
    assert trust.latest == trust.policy(4)
    assert trust.digest(3) == Digest.of(SOUND[2])
    assert [trust.policy(0), trust.policy(5), trust.digest(0), trust.digest(5)] == [None] * 4
    assert trust.keys == {key.id: key.public for key in (ALICE, BOB, CAROL, DORA)}
    assert pickle.loads(pickle.dumps(trust)) == trust  # noqa: S301 # our own bytes


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_any_policy_can_be_pinned(number: int) -> None:
    trust = trusted(*SOUND, pin=Digest.of(SOUND[number - 1]))
    assert trust.pinned
    assert [each.number for each in trust.policies] == [1, 2, 3, 4]


def test_without_a_pin_the_chain_agrees_with_itself_alone() -> None:
    trust = trusted(*SOUND, pin=None)
    assert not trust.pinned
    assert trust.problems == ()
    assert len(trust.policies) == 4


def test_without_policies_there_is_nothing() -> None:
    assert trusted(pin=None) == Trust()
    assert Trust().latest is None
    assert Trust().policy(1) is None


def test_a_pin_that_is_not_there_leaves_nothing_to_believe() -> None:
    for files in ((), tuple(SOUND)):
        trust = trusted(*files, pin=Digest.of(b"another"))
        (problem,) = trust.problems
        assert (problem.path, problem.code) == (FOLDER, "invalid-policy")
        assert "rolled back" in problem.message
        assert not trust.pinned
        assert trust.policies == ()
        assert trust.exists == bool(files)


def test_a_first_policy_that_vouches_for_itself_replaces_nothing() -> None:
    replaced = chain((policy(1, 1, MALLORY.listed("alice")), (MALLORY,)), (BOTH, (MALLORY,)))
    trust = trusted(*replaced)
    assert trust.policies == ()
    assert not trust.pinned
    # Nobody who has not pinned anything can tell.
    assert trusted(replaced[0], pin=None).problems == ()


def test_a_rotation() -> None:
    """The old key lists the new one, and the new one revokes the old."""
    new = Key("alice's new key")
    both = policy(2, 1, ALICE.listed("alice"), new.listed("alice"))
    gone = policy(3, 1, ALICE.listed("alice", revoked="2026-03-01T00:00:00Z"), new.listed("alice"))
    later = policy(4, 1, *gone.signers, BOB.listed("bob", "signer"))
    files = chain((ALONE, (ALICE,)), (both, (ALICE,)), (gone, (new,)), (later, (new,)))
    assert trusted(*files).problems == ()
    stolen = chain((ALONE, (ALICE,)), (both, (ALICE,)), (gone, (new,)), (later, (ALICE,)))
    refused(trusted(*stolen), 4, "the maintainers of the policy before it")


def test_a_lost_key_with_the_threshold_still_met() -> None:
    three = policy(2, 2, ALICE.listed("alice"), BOB.listed("bob"), CAROL.listed("carol"))
    entries = (ALICE.listed("alice"), BOB.listed("bob"), CAROL.listed("carol", revoked="2026-03-01T00:00:00Z"))
    lost = policy(3, 2, *entries)
    begun = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob"))
    files = chain((begun, (ALICE,)), (three, (ALICE, BOB)), (lost, (ALICE, BOB)))
    assert trusted(*files, pin=Digest.of(files[0])).problems == ()


@pytest.mark.parametrize("signers", [(), (ALICE,), (BOB,)], ids=["nobody", "alice", "bob"])
def test_signed_by_too_few_of_the_policy_before(signers: tuple[Key, ...]) -> None:
    lower = policy(4, 1, ALICE.listed("alice"), BOB.listed("bob"), DORA.listed("dora"))
    files = [*SOUND[:3], chain(*[(each, (ALICE, BOB)) for each in (ALONE, BOTH, TWO)], (lower, (DORA, *signers)))[3]]
    files[3] = file_of(msgspec.structs.replace(lower, previous=Sha256.of(Digest.of(SOUND[2]))), DORA, *signers)
    refused(trusted(*files), 4, "expected signatures of at least 2 of the maintainers of the policy before it")


def test_signed_by_too_few_of_its_own() -> None:
    files = chain((ALONE, (ALICE,)), (BOTH, (ALICE,)), (TWO, (ALICE,)))
    refused(trusted(*files), 3, "expected signatures of at least 2 of its own maintainers")
    refused(trusted(*files, pin=None), 3, "expected signatures of at least 2 of its own maintainers")


def test_a_first_policy_signed_by_too_few_of_its_own() -> None:
    first = policy(1, 2, ALICE.listed("alice"), BOB.listed("bob"))
    refused(trusted(file_of(first, ALICE), pin=None), 1, "at least 2 of its own maintainers")


def test_two_keys_of_one_name_count_once() -> None:
    second = Key("alice's other key")
    entries = (ALICE.listed("alice"), second.listed("alice"), BOB.listed("bob"))
    two = policy(2, 2, *entries)
    third = policy(3, 2, *entries, CAROL.listed("carol", "signer"))
    files = chain((ALONE, (ALICE,)), (two, (ALICE, BOB)), (third, (ALICE, second)))
    refused(trusted(*files), 3, "all keys of one name count once), found 1: alice")


def test_one_key_cannot_sign_twice() -> None:
    (first,) = chain((ALONE, (ALICE,)))
    envelope = msgspec.json.decode(first)
    envelope["signatures"] *= 2
    refused(trusted(msgspec.json.encode(envelope, order="sorted"), pin=None), 1, "different keys")


def test_a_signer_who_is_no_maintainer_does_not_count() -> None:
    five = policy(5, 1, ALICE.listed("alice"))
    linked = msgspec.structs.replace(five, previous=Sha256.of(Digest.of(SOUND[3])))
    refused(trusted(*SOUND, file_of(linked, ALICE, DORA)), 5, "found 1: alice")


def test_a_key_of_a_stranger_is_refused_even_if_enough_others_have_signed() -> None:
    files = chain((ALONE, (ALICE,)), (BOTH, (ALICE, MALLORY)))
    refused(trusted(*files), 2, f"a signature of {MALLORY.id}, which neither")


def test_one_wrong_signature_is_too_much() -> None:
    *files, last = SOUND
    envelope = Envelope.from_bytes(last)
    swapped = msgspec.structs.replace(
        envelope, signatures=tuple(msgspec.structs.replace(each, sig=bytes(64)) for each in envelope.signatures)
    )
    refused(trusted(*files, swapped.to_bytes()), 4, "is not right for what it signs")


def test_a_key_that_claims_another_s_id() -> None:
    payload = msgspec.structs.replace(BOTH, previous=Sha256.of(PIN)).to_bytes()
    forged = Envelope.from_bytes(file_of(msgspec.structs.replace(BOTH, previous=Sha256.of(PIN)), MALLORY))
    assert forged.payload == payload
    claimed = msgspec.structs.replace(
        forged, signatures=(msgspec.structs.replace(forged.signatures[0], keyid=ALICE.id),)
    )
    refused(trusted(SOUND[0], claimed.to_bytes()), 2, "is not right for what it signs")


MARCH = seconds_of("2026-03-01T00:00:00Z")


@pytest.mark.parametrize(
    ("fields", "good", "bad"),
    [
        ({"before": "2026-03-01T00:00:00Z"}, MARCH - 1, MARCH),
        ({"after": "2026-03-01T00:00:00Z"}, MARCH, MARCH - 1),
    ],
)
def test_maintainers_count_as_they_were_when_the_policy_appeared(fields: dict[str, str], good: int, bad: int) -> None:
    before = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", **fields))
    after = policy(3, 1, BOB.listed("bob"), ALICE.listed("alice"))
    files = chain((ALONE, (ALICE,)), (before, (ALICE,)), (after, (BOB,)))
    assert trusted(*files, times={1: 0, 2: 0, 3: good}).problems == ()
    refused(trusted(*files, times={1: 0, 2: 0, 3: bad}), 3, "the maintainers of the policy before it")


def test_own_maintainers_count_as_they_were_too() -> None:
    leaving = policy(2, 1, ALICE.listed("alice", before="2026-03-01T00:00:00Z"), BOB.listed("bob"))
    files = chain((ALONE, (ALICE,)), (leaving, (ALICE,)))
    assert trusted(*files, times={1: 0, 2: MARCH - 1}).problems == ()
    refused(trusted(*files, times={1: 0, 2: MARCH}), 2, "its own maintainers")


@pytest.mark.parametrize("since", ["2020-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2999-01-01T00:00:00Z"])
@pytest.mark.parametrize("time", [0, MARCH, MARCH + 1])
def test_a_revoked_maintainer_signs_no_policy_whatever_the_clocks_say(since: str, time: int) -> None:
    """What follows a policy is later than it, as it has its digest: no date can take it back to before."""
    revoking = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", revoked=since))
    after = policy(3, 1, ALICE.listed("alice"), BOB.listed("bob", revoked=since), DORA.listed("dora"))
    files = chain((BOTH_FIRST, (ALICE,)), (revoking, (ALICE,)), (after, (BOB,)))
    times = {1: 0, 2: 0, 3: time}
    refused(read_trust(Snapshot.of(*files), Digest.of(files[0]), times), 3, "that are not revoked")
    # Nor the policy that revokes it: its own maintainers must have signed that.
    files = chain((BOTH_FIRST, (ALICE,)), (revoking, (BOB,)))
    refused(read_trust(Snapshot.of(*files), Digest.of(files[0]), times), 2, "that are not revoked")


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ((), "it dropped"),
        ((BOB.listed("bob"),), "not revoked"),
        ((BOB.listed("bob", revoked="2026-03-01T00:00:01Z"),), "revoked from 2026-03-01T00:00:01Z"),
    ],
)
def test_a_revocation_is_not_taken_back(entry: tuple[Listed, ...], said: str) -> None:
    revoking = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", revoked="2026-03-01T00:00:00Z"))
    files = chain((BOTH_FIRST, (ALICE,)), (revoking, (ALICE,)), (policy(3, 1, ALICE.listed("alice"), *entry), (ALICE,)))
    trust = read_trust(Snapshot.of(*files), Digest.of(files[0]), {1: 0, 2: 0, 3: 0})
    refused(trust, 3, said)
    assert trust.revoked_from(BOB.id) == "2026-03-01T00:00:00Z"


def test_a_revocation_may_become_an_earlier_one() -> None:
    revoking = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", revoked="2026-03-01T00:00:00Z"))
    earlier = policy(3, 1, ALICE.listed("alice"), BOB.listed("bob", revoked="2026-02-01T00:00:00Z"))
    trust = trusted(*chain((BOTH_FIRST, (ALICE,)), (revoking, (ALICE,)), (earlier, (ALICE,))), pin=None)
    assert trust.problems == ()
    assert trust.revoked_from(BOB.id) == "2026-02-01T00:00:00Z"
    assert trust.revoked_from(ALICE.id) is None


def test_no_policy_is_older_than_the_one_that_it_follows() -> None:
    """A window that had ended when the policy before came had ended when this one did, whatever that is dated."""
    ending = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", before="2026-03-01T00:00:00Z"))
    after = policy(3, 1, BOB.listed("bob"), ALICE.listed("alice"))
    files = chain((ALONE, (ALICE,)), (ending, (ALICE,)), (after, (BOB,)))
    refused(trusted(*files, times={1: 0, 2: MARCH, 3: 0}), 3, "the maintainers of the policy before it")
    assert trusted(*files, times={1: 0, 2: MARCH - 1, 3: 0}).times == (0, MARCH - 1, MARCH - 1)


def test_a_policy_without_a_time_appears_now() -> None:
    ended = policy(2, 1, ALICE.listed("alice", before="2020-01-01T00:00:00Z"), BOB.listed("bob"))
    after = policy(3, 1, BOB.listed("bob"), ALICE.listed("alice"))
    files = chain((ALONE, (ALICE,)), (ended, (ALICE, BOB)), (after, (ALICE,)))
    refused(trusted(*files), 3, "the maintainers of the policy before it")
    assert trusted(*files, times={1: 0, 2: 0, 3: 0}).problems == ()
    refused(trusted(*files, times={1: 0, 2: 0, 3: now()}), 3, "the maintainers of the policy before it")


def test_what_is_pinned_is_vouched_for_by_its_reader_and_what_it_names_by_it() -> None:
    """A key that expired since then, or a signature that is missing, is no matter for what has the right digest."""
    ended = policy(1, 1, ALICE.listed("alice", before="2020-01-01T00:00:00Z"))
    files = chain((ended, (MALLORY,)), (BOTH, (MALLORY,)))
    trust = trusted(*files, pin=Digest.of(files[1]))
    assert trust.pinned
    assert trust.problems == ()
    assert len(trust.policies) == 2
    refused(trusted(*files, pin=None), 1, "which neither")


def test_a_skipped_number() -> None:
    files = Snapshot.of(*SOUND)
    del files.files[policy_path(3)]
    trust = read_trust(files, PIN, None)
    (problem,) = trust.problems
    assert problem.path == policy_path(4)
    assert "skipped" in problem.message
    assert [each.number for each in trust.policies] == [1, 2]


def test_a_chain_that_does_not_begin_with_the_first() -> None:
    files = Snapshot({policy_path(2): SOUND[1]})
    (problem,) = read_trust(files, None).problems
    assert "skipped" in problem.message
    trust = read_trust(files, Digest.of(SOUND[1]))
    assert trust.pinned
    assert [each.number for each in trust.policies] == [2]
    assert [trust.policy(1), trust.policy(2), trust.policy(3)] == [None, trust.latest, None]
    (problem,) = trust.problems
    assert problem.path == policy_path(1)


def test_a_repeated_number() -> None:
    refused(trusted(*SOUND[:3], SOUND[2]), 4, "expected number 4, as its file's name says, found 3")


def test_a_wrong_previous() -> None:
    other = chain((policy(1, 1, ALICE.listed("alice"), DORA.listed("dora", "signer")), (ALICE,)), (BOTH, (ALICE,)))
    refused(trusted(SOUND[0], other[1]), 2, "previous: expected")
    refused(trusted(SOUND[0], other[1], pin=None), 2, "previous: expected")


def test_policies_before_the_pin_are_found_by_their_digest() -> None:
    pin = Digest.of(SOUND[2])
    trust = trusted(SOUND[0], file_of(BOTH_AGAIN, BOB), *SOUND[2:], pin=pin)
    assert trust.pinned
    assert [each.number for each in trust.policies] == [3, 4]
    (problem,) = trust.problems
    assert problem.path == policy_path(2)
    assert "policy 3 names" in problem.message


BOTH_AGAIN = msgspec.structs.replace(BOTH, previous=Sha256.of(PIN), requires_signature=True)


def test_nothing_after_a_fault_is_believed() -> None:
    forged = file_of(BOTH_AGAIN, MALLORY)
    third = msgspec.structs.replace(TWO, previous=Sha256.of(Digest.of(forged)))
    trust = trusted(SOUND[0], forged, file_of(third, ALICE, BOB))
    refused(trust, 2, "the later ones, up to number 3, are not believed either")


def test_a_pinned_file_that_is_no_policy() -> None:
    for data in (b"{}", SOUND[1]):
        trust = trusted(data, pin=Digest.of(data))
        assert trust.policies == ()
        assert not trust.pinned
        assert trust.problems[0].path == policy_path(1)


def test_files_that_cannot_be_read() -> None:
    files = Snapshot.of(*SOUND)
    files.files[policy_path(3)] = None
    refused(read_trust(files, PIN), 3, "expected a plain file")
    refused(read_trust(files, None), 3, "expected a plain file")
    trust = read_trust(files, Digest.of(SOUND[3]))
    assert [each.number for each in trust.policies] == [4]


def test_other_names_are_no_policies() -> None:
    files = {f"{FOLDER}/{name}": b"" for name in ("0.json", "01.json", "-1.json", "1.JSON", "x", "1.json.json", "1")}
    assert policy_numbers(Snapshot({**files})) == []
    assert read_trust(Snapshot({**files}), None) == Trust()


def test_a_number_that_no_policy_has() -> None:
    number = MAX_POLICIES + 1
    files = Snapshot.of(*SOUND)
    files.files[policy_path(number)] = SOUND[0]
    trust = read_trust(files, PIN)
    assert len(trust.policies) == 4
    assert trust.problems[0].path == policy_path(number)


def test_a_flipped_bit_anywhere_is_seen() -> None:
    first, second = SOUND[:2]
    flips = [(at, 1 << bit) for at in range(len(second)) for bit in range(8)]
    for at, bit in flips:
        flipped = bytearray(second)
        flipped[at] ^= bit
        trust = trusted(first, bytes(flipped))
        assert [each.number for each in trust.policies] == [1], (at, bit)
        assert trust.problems[0].path == policy_path(2)
        trust = trusted(first, bytes(flipped), pin=Digest.of(second))
        assert trust.policies == (), (at, bit)


def test_a_flipped_bit_of_a_first_policy_is_seen_without_a_pin() -> None:
    first = SOUND[0]
    for at in range(len(first)):
        for bit in range(8):
            flipped = bytearray(first)
            flipped[at] ^= 1 << bit
            assert trusted(bytes(flipped), pin=None).policies == (), (at, bit)


pieces = st.sampled_from([*SOUND, b"", b"{}", b"\xff"]) | st.binary(max_size=50) | st.none()


@given(
    st.dictionaries(st.integers(1, 6) | st.just(10**9), pieces, max_size=6),
    st.sampled_from([None, *map(Digest.of, SOUND)]),
)
def test_nothing_in_a_registry_raises_and_what_is_believed_is_real(
    found: dict[int, bytes | None], pin: Digest | None
) -> None:
    trust = read_trust(Snapshot({policy_path(number): data for number, data in found.items()}), pin)
    assert all(each in map(Digest.of, SOUND) for each in trust.digests)
    numbers = [each.number for each in trust.policies]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))) if numbers else not trust.pinned
    assert trust.pinned == (pin in trust.digests)
