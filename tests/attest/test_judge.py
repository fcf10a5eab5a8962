"""A statement counts if its bytes are right, and its signer was allowed to make it when it came into history."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.appearance import Appearance
from kstore.attest.chain import Trust, read_trust
from kstore.attest.envelope import Envelope, pae, sealed
from kstore.attest.instant import instant_of, now
from kstore.attest.judge import Judge, Judged, Witness, examine
from kstore.attest.statement import PAYLOAD_TYPE, Endorsement, Retraction, Sha256, statement_bytes
from kstore.digest import Digest
from kstore.layout import attestation_path, signed_place_of
from tests.attest.policies import ALICE, BOB, CAROL, DORA, MALLORY, Snapshot, chain, policy
from tests.statements import ENDORSED, SUBJECT, statement_file

if TYPE_CHECKING:
    from kstore.attest.policy import Policy

OTHER = Digest.of(b"another record")
DAY = 86_400
NOON = 1_750_000_000
"""Some instant; the others of these tests lie around it."""

NO_WITNESS = Witness()
PLAIN = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"))


LATER = 10 * DAY + NOON
"""When all policies but the first came, if nothing else is said: after everything that is judged."""


def trust(*policies: Policy, pinned: bool = True, later: int = LATER) -> Trust:
    """Believe policies that Alice has signed, each following the one before; all but the first came at some time."""
    files = chain(*((each, (ALICE,)) for each in policies))
    pin = Digest.of(files[0]) if pinned else None
    made = read_trust(Snapshot.of(*files), pin, {1: 0} | dict.fromkeys(range(2, 10), later))
    assert made.problems == ()
    return made


def judged(
    data: bytes,
    believed: Trust,
    *,
    time: int | None = NOON,
    number: int = 1,
    cut: bool = False,
    witness: Witness = NO_WITNESS,
    subject: Digest = SUBJECT,
    name: Digest | None = None,
) -> Judged:
    """Judge the file of a statement that came at some time, under a policy of some number; None is not committed."""
    path = attestation_path(subject, name or Digest.of(data), 1)
    place = signed_place_of(path, 1)
    assert place is not None
    appearance = None if time is None else Appearance("ab" * 20, time, number, cut)
    return Judge(believed, number).judge(examine(path, place, data, believed.keys), appearance, witness)


def codes(found: Judged) -> list[tuple[str, str]]:
    return [(each.severity, each.code) for each in found.problems]


def refused(found: Judged, code: str, said: str, severity: str = "error") -> None:
    """Insist that a statement does not count, for one reason."""
    assert not found.counts
    assert codes(found) == [(severity, code)]
    assert said in found.problems[0].message


def test_what_a_listed_key_signs_counts() -> None:
    data = statement_file(SUBJECT, ENDORSED, BOB)
    found = judged(data, trust(PLAIN))
    assert found.counts
    assert (found.subject, found.digest, found.path) == (
        SUBJECT,
        Digest.of(data),
        attestation_path(SUBJECT, Digest.of(data), 1),
    )
    assert (found.signers, found.keys, found.problems) == (("bob",), (BOB.id,), ())
    assert found.statement is not None
    assert found.statement.predicate == ENDORSED
    assert found.appearance == Appearance("ab" * 20, NOON, 1)


def test_several_signers_of_one_statement_count_each() -> None:
    found = judged(statement_file(SUBJECT, ENDORSED, BOB, ALICE), trust(PLAIN))
    assert (found.signers, found.keys, found.problems) == (("alice", "bob"), tuple(sorted((ALICE.id, BOB.id))), ())


def test_several_keys_of_one_signer_count_once() -> None:
    both = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"), CAROL.listed("bob", "signer"))
    found = judged(statement_file(SUBJECT, ENDORSED, BOB, CAROL), trust(both))
    assert (found.signers, found.keys) == (("bob",), tuple(sorted((BOB.id, CAROL.id))))


def test_what_is_not_committed_is_judged_by_now_and_by_the_policy_of_head() -> None:
    data = statement_file(SUBJECT, ENDORSED, BOB)
    assert judged(data, trust(PLAIN), time=None).signers == ("bob",)
    refused(
        judged(data, trust(PLAIN), time=None, number=0),
        "unknown-signer",
        "is not committed yet, when there was no policy",
    )
    late = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=instant_of(now() - DAY)))
    refused(judged(data, trust(late), time=None), "signer-not-valid", "until")


# The bytes.


def test_every_flipped_bit_is_seen() -> None:
    data = statement_file(SUBJECT, ENDORSED, BOB)
    believed = trust(PLAIN)
    for bit in range(len(data) * 8):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        refused(judged(bytes(flipped), believed, name=Digest.of(data)), "bad-signature", "expected")


def test_every_flipped_bit_of_what_is_signed_is_seen_under_its_own_name_too() -> None:
    envelope = Envelope.from_bytes(statement_file(SUBJECT, ENDORSED, BOB))
    believed = trust(PLAIN)
    for part in ("payload", "sig"):
        whole = envelope.payload if part == "payload" else envelope.signatures[0].sig
        for bit in range(len(whole) * 8):
            flipped = bytearray(whole)
            flipped[bit // 8] ^= 1 << bit % 8
            payload, sig = (
                (bytes(flipped), envelope.signatures[0].sig)
                if part == "payload"
                else (envelope.payload, bytes(flipped))
            )
            data = sealed(PAYLOAD_TYPE, payload, {BOB.id: sig}).to_bytes()
            refused(judged(data, believed), "bad-signature", "")


@given(st.binary(max_size=300))
def test_what_is_no_envelope_is_no_statement(data: bytes) -> None:
    refused(judged(data, trust(PLAIN)), "bad-signature", "expected a DSSE envelope")


def test_a_statement_about_another_record_is_refused() -> None:
    """A payload swapped between records."""
    data = statement_file(OTHER, ENDORSED, BOB)
    refused(judged(data, trust(PLAIN)), "bad-signature", f"found one about {OTHER}")


def test_a_payload_under_another_s_signature_is_refused() -> None:
    envelope = Envelope.from_bytes(statement_file(SUBJECT, ENDORSED, BOB))
    other = statement_bytes("a-record", SUBJECT, Retraction("never mind"))
    data = sealed(PAYLOAD_TYPE, other, {BOB.id: envelope.signatures[0].sig}).to_bytes()
    refused(judged(data, trust(PLAIN)), "bad-signature", "they were changed, or another key claims that key's name")


def test_a_signature_made_for_another_payload_type_is_refused() -> None:
    payload = statement_bytes("a-record", SUBJECT, ENDORSED)
    signed = BOB.sign(pae("application/json", payload))
    refused(judged(sealed(PAYLOAD_TYPE, payload, {BOB.id: signed}).to_bytes(), trust(PLAIN)), "bad-signature", BOB.id)
    other = sealed("application/json", payload, {BOB.id: signed}).to_bytes()
    refused(judged(other, trust(PLAIN)), "bad-signature", "found application/json")


def test_a_key_that_claims_another_s_id_is_refused() -> None:
    payload = statement_bytes("a-record", SUBJECT, ENDORSED)
    data = sealed(PAYLOAD_TYPE, payload, {BOB.id: MALLORY.sign(pae(PAYLOAD_TYPE, payload))}).to_bytes()
    refused(judged(data, trust(PLAIN)), "bad-signature", BOB.id)


def test_one_wrong_signature_spoils_the_others() -> None:
    payload = statement_bytes("a-record", SUBJECT, ENDORSED)
    right = ALICE.sign(pae(PAYLOAD_TYPE, payload))
    data = sealed(PAYLOAD_TYPE, payload, {ALICE.id: right, BOB.id: right}).to_bytes()
    refused(judged(data, trust(PLAIN)), "bad-signature", BOB.id)


def test_a_name_that_is_not_the_hash_is_refused() -> None:
    data = statement_file(SUBJECT, ENDORSED, BOB)
    refused(judged(data, trust(PLAIN), name=Digest.of(b"x")), "bad-signature", str(Digest.of(data)))


@pytest.mark.parametrize(
    "payload",
    [
        b"{}",
        statement_bytes("a-record", SUBJECT, ENDORSED).replace(b"endorsement/v1", b"endorsement/v2"),
        statement_bytes("a-record", SUBJECT, ENDORSED) + b"\n",
        statement_bytes("a-record", SUBJECT, ENDORSED).replace(b'"metadata"', b'"more":1,"metadata"'),
    ],
)
def test_a_payload_that_is_no_statement_is_refused_though_it_is_signed(payload: bytes) -> None:
    data = sealed(PAYLOAD_TYPE, payload, {BOB.id: BOB.sign(pae(PAYLOAD_TYPE, payload))}).to_bytes()
    refused(judged(data, trust(PLAIN)), "bad-signature", "expected")


# The signer.


def test_an_unknown_key_is_named() -> None:
    refused(
        judged(statement_file(SUBJECT, ENDORSED, MALLORY), trust(PLAIN)),
        "unknown-signer",
        f"{MALLORY.id}, which no policy",
    )


def test_an_unknown_key_beside_a_known_one_is_named_and_the_known_one_counts() -> None:
    found = judged(statement_file(SUBJECT, ENDORSED, MALLORY, BOB), trust(PLAIN))
    assert (found.signers, codes(found)) == (("bob",), [("error", "unknown-signer")])


def test_a_key_that_a_later_policy_adds_does_not_count_for_what_came_before() -> None:
    """The number is that of the policy before: of a commit that adds both, the key and the statement, that is 1."""
    later = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"), DORA.listed("dora", "signer"))
    data = statement_file(SUBJECT, ENDORSED, DORA)
    refused(
        judged(data, trust(PLAIN, later), number=1),
        "unknown-signer",
        "policy 2 was the first to list, at the same time or later",
    )
    assert judged(data, trust(PLAIN, later), number=2).signers == ("dora",)


def test_a_key_that_was_dropped_does_not_count_for_what_came_after() -> None:
    later = policy(2, 1, ALICE.listed("alice"))
    data = statement_file(SUBJECT, ENDORSED, BOB)
    assert judged(data, trust(PLAIN, later), number=1).signers == ("bob",)
    refused(judged(data, trust(PLAIN, later), number=2), "unknown-signer", "policy 1 was the last to list")


def test_from_an_old_commit_old_policies_are_not_in_force_for_ever() -> None:
    """The number is that of the policy before by history, which whoever commits may choose."""
    dropped = policy(2, 1, ALICE.listed("alice"))
    ended = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=instant_of(NOON)))
    data = statement_file(SUBJECT, ENDORSED, BOB)
    for later, code, said in (
        (dropped, "unknown-signer", "policy 1 was the last to list; it came"),
        (ended, "signer-not-valid", "valid, until"),
    ):
        believed = trust(PLAIN, later, later=NOON)
        refused(judged(data, believed, time=NOON + 1, number=1), code, said)
        refused(judged(data, believed, time=NOON - 1, number=1, witness=Witness(absent=NOON + 1)), code, said)
        # What came before that policy did is judged by the one before.
        assert judged(data, believed, time=NOON - 1, number=1).signers == ("bob",)


def test_a_policy_that_had_come_lists_nobody_before_it_came_by_history() -> None:
    later = policy(2, 1, ALICE.listed("alice"), DORA.listed("dora", "signer"))
    data = statement_file(SUBJECT, ENDORSED, DORA)
    believed = trust(PLAIN, later, later=NOON - DAY)
    refused(judged(data, believed, number=1), "unknown-signer", "policy 2 was the first to list")
    assert judged(data, believed, number=2).signers == ("dora",)


def test_a_policy_that_is_not_believed_is_as_if_it_were_not_there() -> None:
    assert judged(statement_file(SUBJECT, ENDORSED, BOB), trust(PLAIN), number=7).signers == ("bob",)


def test_before_the_first_policy_nobody_may_sign() -> None:
    refused(judged(statement_file(SUBJECT, ENDORSED, ALICE), trust(PLAIN), number=0), "unknown-signer", "no policy yet")


def test_without_any_policy_nothing_can_be_told() -> None:
    found = judged(statement_file(SUBJECT, ENDORSED, ALICE), Trust(), number=0)
    refused(found, "unknown-signer", "found none that could be believed", "warning")
    assert found.statement is not None


def test_without_a_pin_it_is_judged_by_the_policies_as_they_are() -> None:
    found = judged(statement_file(SUBJECT, ENDORSED, BOB), trust(PLAIN, pinned=False))
    assert (found.signers, found.problems) == (("bob",), ())


# The window.


@pytest.mark.parametrize(
    ("after", "before", "good"),
    [
        (NOON, None, True),
        (NOON + 1, None, False),
        (None, NOON + 1, True),
        (None, NOON, False),
        (NOON, NOON + 1, True),
        (NOON - DAY, NOON - 1, False),
    ],
)
def test_a_key_counts_in_its_window_alone(after: int | None, before: int | None, good: bool) -> None:
    window = {
        **({} if after is None else {"after": instant_of(after)}),
        **({} if before is None else {"before": instant_of(before)}),
    }
    believed = trust(policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", **window)))
    found = judged(statement_file(SUBJECT, ENDORSED, BOB), believed)
    if good:
        assert found.signers == ("bob",)
    else:
        refused(found, "signer-not-valid", instant_of(NOON))


def test_a_window_counts_as_it_was_when_the_statement_came() -> None:
    first = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=instant_of(NOON + DAY)))
    then = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=instant_of(NOON - DAY)))
    data = statement_file(SUBJECT, ENDORSED, BOB)
    assert judged(data, trust(first, then), number=1).signers == ("bob",)
    refused(judged(data, trust(first, then), number=2), "signer-not-valid", "until")


def test_a_checkpoint_without_it_shows_that_a_backdated_statement_came_later() -> None:
    believed = trust(policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=instant_of(NOON + 1))))
    data = statement_file(SUBJECT, ENDORSED, BOB)
    assert judged(data, believed, witness=Witness(absent=NOON)).signers == ("bob",)
    refused(judged(data, believed, witness=Witness(absent=NOON + 1)), "signer-not-valid", instant_of(NOON + 1))


# Revocation.

REVOKED = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", revoked=instant_of(NOON)))


def test_of_a_revoked_key_only_that_counts_that_a_checkpoint_made_before_has() -> None:
    data, believed = statement_file(SUBJECT, ENDORSED, BOB), trust(PLAIN, REVOKED)
    early = NOON - DAY
    refused(judged(data, believed, time=early), "signer-not-valid", "does not count any more", "warning")
    assert judged(data, believed, time=early, witness=Witness(present=NOON)).signers == ("bob",)
    late = judged(data, believed, time=early, witness=Witness(present=NOON + 1))
    refused(late, "signer-not-valid", instant_of(NOON), "warning")


def test_a_date_of_revocation_that_is_yet_to_come_revokes_nothing_yet() -> None:
    later = instant_of(now() + DAY)
    announced = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", revoked=later))
    assert judged(statement_file(SUBJECT, ENDORSED, BOB), trust(PLAIN, announced), number=2).counts


def test_signing_with_a_key_that_is_revoked_already_is_an_error() -> None:
    data, believed = statement_file(SUBJECT, ENDORSED, BOB), trust(PLAIN, REVOKED)
    refused(judged(data, believed, time=NOON, number=2), "signer-not-valid", "after that")
    refused(judged(data, believed, time=NOON - 1, number=2), "signer-not-valid", "any more", "warning")
    backdated = judged(data, believed, time=NOON - 1, number=2, witness=Witness(absent=NOON))
    refused(backdated, "signer-not-valid", "after that")


def test_a_revoked_key_that_is_not_listed_any_more_stays_revoked() -> None:
    """No policy may drop it; but the one that is pinned, and those before, are taken as they are."""
    files = chain(*((each, (ALICE,)) for each in (PLAIN, REVOKED, policy(3, 1, ALICE.listed("alice")))))
    believed = read_trust(Snapshot.of(*files), Digest.of(files[-1]), {1: 0, 2: LATER, 3: LATER})
    data = statement_file(SUBJECT, ENDORSED, BOB)
    refused(judged(data, believed, time=NOON - DAY), "signer-not-valid", "revoked", "warning")


def test_another_key_of_the_same_signer_is_not_revoked_with_it() -> None:
    two = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"), CAROL.listed("bob", "signer"))
    then = policy(
        2,
        1,
        ALICE.listed("alice"),
        BOB.listed("bob", "signer", revoked=instant_of(NOON)),
        CAROL.listed("bob", "signer"),
    )
    found = judged(statement_file(SUBJECT, ENDORSED, BOB, CAROL), trust(two, then))
    assert (found.signers, found.keys, codes(found)) == (("bob",), (CAROL.id,), [("warning", "signer-not-valid")])


# A history that was cut off.


def test_of_what_may_be_older_an_older_policy_may_have_listed_the_key() -> None:
    later = policy(2, 1, ALICE.listed("alice"))
    data = statement_file(SUBJECT, ENDORSED, BOB)
    assert judged(data, trust(PLAIN, later), number=2, cut=True).signers == ("bob",)
    refused(judged(statement_file(SUBJECT, ENDORSED, MALLORY), trust(PLAIN), cut=True), "unknown-signer", "no policy")


def test_of_what_may_be_older_only_the_beginning_of_a_window_tells() -> None:
    data = statement_file(SUBJECT, ENDORSED, BOB)
    ended = trust(policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=instant_of(NOON - DAY))))
    assert judged(data, ended, cut=True).signers == ("bob",)
    begun = trust(policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", after=instant_of(NOON + DAY))))
    refused(judged(data, begun, cut=True), "signer-not-valid", "from")


@given(
    time=st.integers(NOON - 3, NOON + 3),
    absent=st.integers(NOON - 3, NOON + 3),
    present=st.none() | st.integers(NOON - 3, NOON + 3),
    revoked=st.none() | st.integers(NOON - 3, NOON + 3),
    number=st.integers(0, 3),
)
def test_nothing_counts_that_the_rules_do_not_let_count(
    time: int, absent: int, present: int | None, revoked: int | None, number: int
) -> None:
    """Say the rules once more, in other words, of a key that policy 1 lists, with a window until noon + 2."""
    until = instant_of(NOON + 2)
    policies = [policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=until))]
    if revoked is not None:
        policies.append(
            policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", before=until, revoked=instant_of(revoked)))
        )
    came = max(time, absent)
    counts = number > 0 and came < NOON + 2 and (revoked is None or (present is not None and present <= revoked))
    data = statement_file(SUBJECT, ENDORSED, BOB)
    found = judged(data, trust(*policies), time=time, number=number, witness=Witness(absent, present))
    assert found.counts == counts
    assert bool(found.problems) != counts


def test_metadata_that_were_signed_are_told_by_their_hash() -> None:
    said = Endorsement(Sha256.of(Digest.of(b"other metadata")))
    found = judged(statement_file(SUBJECT, said, BOB), trust(PLAIN))
    assert found.statement is not None
    assert found.statement.predicate == said
