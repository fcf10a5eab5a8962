from __future__ import annotations

import base64
import hashlib
import pickle
from typing import Any

import msgspec
import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from kstore.attest.envelope import Envelope
from kstore.attest.instant import instant_of, seconds_of
from kstore.attest.policy import (
    MAX_POLICIES,
    MAX_SIGNERS,
    MAX_THRESHOLD,
    PAYLOAD_TYPE,
    Listed,
    Policy,
    PolicyError,
    Role,
    read_payload,
    read_policy,
)
from kstore.attest.statement import Sha256
from kstore.digest import Digest
from kstore.schema import KINDS
from tests.attest.policies import ALICE, BOB, CAROL, Key, file_of, ordered, policy
from tests.markdown import REPO, blocks, sections

names = st.from_regex(r"[a-z0-9][a-z0-9._@+-]{0,99}", fullmatch=True)
seconds = st.integers(seconds_of("0000-01-01T00:00Z") + 86_400 * 366, seconds_of("9999-12-31T23:59:59Z"))
instants = seconds.map(instant_of) | st.just(UNSET)


@st.composite
def entries(draw: st.DrawFn) -> Listed:
    after, before = draw(instants), draw(instants)
    if after and before and seconds_of(after) >= seconds_of(before):
        after = UNSET
    roles: tuple[Role, ...] = draw(st.sampled_from([("maintainer",), ("signer",), ("maintainer", "signer")]))
    key = str(Key(draw(st.text(max_size=9))).public)
    return Listed(draw(names), key, roles, after, before, draw(instants))


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    lasting = msgspec.structs.replace(draw(entries()), roles=("maintainer",), revoked_from=UNSET)
    others = draw(st.lists(entries(), max_size=5, unique_by=lambda each: each.key))
    signers = ordered([lasting, *(each for each in others if each.key != lasting.key)])
    number = draw(st.integers(1, MAX_POLICIES))
    previous = UNSET if number == 1 else Sha256.of(Digest.of(draw(st.binary(max_size=4))))
    made = Policy(1, number, 1, signers, previous)
    kinds = draw(st.none() | st.just(True) | st.lists(st.sampled_from(list(KINDS)), min_size=1, unique=True))
    required = UNSET if kinds is None else kinds if isinstance(kinds, bool) else tuple(sorted(kinds))
    threshold = draw(st.integers(1, len(made.lasting)))
    return msgspec.structs.replace(made, threshold=threshold, requires_signature=required)


@given(policies())
def test_what_is_written_is_read(made: Policy) -> None:
    data = made.to_bytes()
    assert read_payload(data) == made
    assert data == rfc8785.dumps(msgspec.json.decode(data))
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 # our own bytes


@given(policies())
def test_every_key_is_found_by_its_id(made: Policy) -> None:
    for entry in made.signers:
        assert made.entry(entry.id) is entry
    assert made.entry("SHA256:" + "A" * 43) is None


@given(entries(), st.integers(-(10**11), 10**11))
def test_a_key_is_in_one_state_at_a_time(entry: Listed, time: int) -> None:
    state = entry.state(time)
    assert (state == "revoked") == entry.is_revoked(time)
    assert (state == "valid") == (entry.is_within(time) and not entry.is_revoked(time))


@pytest.mark.parametrize(
    ("time", "state"),
    [
        ("2026-01-01T00:00:00Z", "not yet valid"),
        ("2026-01-31T23:59:59Z", "not yet valid"),
        ("2026-02-01T00:00:00Z", "valid"),
        ("2026-02-28T23:59:59Z", "valid"),
        ("2026-03-01T00:00:00Z", "no longer valid"),
        ("2026-03-31T23:59:59Z", "no longer valid"),
        ("2026-04-01T00:00:00Z", "revoked"),
    ],
)
def test_a_window_has_its_beginning_and_not_its_end(time: str, state: str) -> None:
    entry = ALICE.listed("alice", after="2026-02-01T00:00Z", before="2026-03-01T00:00Z", revoked="2026-04-01T00:00Z")
    assert entry.state(seconds_of(time)) == state


def test_keys_of_one_name_count_once() -> None:
    made = policy(1, 1, ALICE.listed("alice"), BOB.listed("alice"), CAROL.listed("carol", "signer"))
    assert made.counted([ALICE.id, BOB.id, CAROL.id, "SHA256:" + "A" * 43], 0, made) == {"alice"}
    assert made.lasting == ("alice",)


def test_what_must_be_signed() -> None:
    made = policy(1, 1, ALICE.listed("alice"))
    every = msgspec.structs.replace(made, requires_signature=True)
    runs = msgspec.structs.replace(made, requires_signature=("BenchmarkRun",))
    assert [each.requires("BenchmarkRun") for each in (made, every, runs)] == [False, True, True]
    assert [each.requires("ServingRun") for each in (made, every, runs)] == [False, True, False]


SOUND = msgspec.json.decode(
    policy(
        2, 1, ALICE.listed("alice", "maintainer", "signer"), BOB.listed("bob", "signer"), previous=b"before"
    ).to_bytes()
)


NOBODY = "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519\0\0\0\x20\x01" + bytes(31)).decode()


def changed(**fields: Any) -> bytes:
    """Give the payload of a sound policy with some fields changed; None takes a field away."""
    made = {key: value for key, value in {**SOUND, **fields}.items() if value is not None}
    return rfc8785.dumps(made)


def entry(index: int = 0, **fields: Any) -> list[dict[str, Any]]:
    made = [dict(each) for each in SOUND["signers"]]
    made[index] |= fields
    return made


def test_the_policy_that_is_changed_is_sound() -> None:
    assert read_payload(changed()).number == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "a trust policy of format 1"),
        (b"[" * 100_000, "a trust policy of format 1"),
        (b"\xff", "a trust policy of format 1"),
        (changed() + b"\n", "canonical form"),
        (changed().replace(b'"format":1', b'"format": 1'), "canonical form"),
        (changed().replace(b'"format":1', b'"format":1,"format":1'), "canonical form"),
        (changed(format=2), "format 1"),
        (changed(format=None), "format"),
        (changed(unknown=1), "unknown"),
        (changed(number=0), "number"),
        (changed(number=1), "`previous` in every policy but the first"),
        (changed(previous=None), "`previous` in every policy but the first"),
        (changed(number=MAX_POLICIES + 1), "number"),
        (changed(number=True), "number"),
        (changed(threshold=0), "threshold"),
        (changed(threshold=2), "a threshold of at most 1"),
        (changed(threshold=MAX_THRESHOLD + 1), "threshold"),
        (changed(previous={"sha256": "A" * 64}), "previous"),
        (changed(signers=[]), "signers"),
        (changed(signers=SOUND["signers"] * (MAX_SIGNERS // 2 + 1)), "signers"),
        (changed(signers=SOUND["signers"][::-1]), "sorted by name"),
        (changed(signers=SOUND["signers"][:1] * 2), "listed twice"),
        (changed(signers=entry(1, key=SOUND["signers"][0]["key"])), "listed twice"),
        (changed(signers=entry(name="Alice")), "name"),
        (changed(signers=entry(name="alice\n")), "name"),
        (changed(signers=entry(name="")), "name"),
        (changed(signers=entry(name="a" * 101)), "name"),
        (changed(signers=entry(name="*")), "name"),
        (changed(signers=entry(roles=[])), "roles"),
        (changed(signers=entry(roles=["king"])), "roles"),
        (changed(signers=entry(roles=["signer", "maintainer"])), "roles of alice: expected them sorted"),
        (changed(signers=entry(roles=["signer", "signer"])), "roles of alice: expected them sorted"),
        (changed(signers=entry(roles=["signer"])), "a threshold of at most 0"),
        (changed(signers=entry(key="ssh-rsa AAAA")), "key"),
        (changed(signers=entry(key="ssh-ed25519 " + "A" * 68)), "the key of alice"),
        (changed(signers=entry(key=NOBODY)), "small order"),
        (changed(signers=entry(key=SOUND["signers"][0]["key"] + " comment")), "key"),
        (changed(signers=entry(revokedFrom="2026-01-01T00:00:00Z")), "a threshold of at most 0"),
        (changed(signers=entry(revokedFrom="2026-02-30T00:00:00Z")), "revokedFrom"),
        (changed(signers=entry(validAfter="2026-01-01")), "validAfter"),
        (changed(signers=entry(validAfter=None)), "validAfter"),
        (
            changed(signers=entry(validAfter="2026-01-01T00:00Z", validBefore="2026-01-01T00:00:00Z")),
            "validAfter before validBefore",
        ),
        (changed(requiresSignature=False), "leave the field out"),
        (changed(requiresSignature=[]), "requiresSignature"),
        (changed(requiresSignature=["Nothing"]), "there is no kind 'Nothing'"),
        (changed(requiresSignature=["ServingRun", "BenchmarkRun"]), "kinds sorted"),
        (changed(requiresSignature=["BenchmarkRun", "BenchmarkRun"]), "kinds sorted"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(data: bytes, said: str) -> None:
    with pytest.raises(PolicyError) as raised:
        read_payload(data)
    assert said in str(raised.value)


def test_a_file_is_an_envelope_of_the_right_type() -> None:
    made = policy(1, 1, ALICE.listed("alice"))
    data = file_of(made, ALICE)
    envelope, found = read_policy(data)
    assert (envelope, found) == (Envelope.from_bytes(data), made)
    with pytest.raises(PolicyError, match="expected a payload of type"):
        read_policy(file_of(made, ALICE, payload_type="application/vnd.in-toto+json"))
    with pytest.raises(PolicyError, match="DSSE"):
        read_policy(made.to_bytes())


def test_the_example_of_the_format_is_one() -> None:
    """The key of RFC 8032, section 7.1, test 1."""
    part = sections((REPO / "docs" / "format.md").read_text(), 2)["Trust policies"]
    key = Ed25519PrivateKey.from_private_bytes(
        bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    )
    payload = blocks(part, "json")[0].strip().encode()
    assert read_payload(payload).signers[0].public_key.raw == key.public_key().public_bytes_raw()
    signed = b"DSSEv1 %d %b %d %b" % (len(PAYLOAD_TYPE), PAYLOAD_TYPE.encode(), len(payload), payload)
    signature = {"keyid": read_payload(payload).signers[0].id, "sig": base64.b64encode(key.sign(signed)).decode()}
    data = rfc8785.dumps(
        {
            "payload": base64.b64encode(payload).decode(),
            "payloadType": PAYLOAD_TYPE,
            "signatures": [signature],
        }
    )
    assert read_policy(data)[1] == read_payload(payload)
    assert f"{len(data)} bytes" in part
    assert f"`{hashlib.sha256(data).hexdigest()}`" in part


@given(policies(), st.binary(max_size=200), st.integers(0, 200))
def test_other_bytes_are_refused_and_never_read_as_something_else(made: Policy, noise: bytes, at: int) -> None:
    data = made.to_bytes()
    mixed = data[:at] + noise + data[at + len(noise) :]
    try:
        found = read_payload(mixed)
    except PolicyError:
        assert mixed != data
    else:
        assert found.to_bytes() == mixed
