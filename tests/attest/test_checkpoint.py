from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from kstore.attest.checkpoint import CheckpointError, checkpoint_bytes, read_checkpoint
from kstore.attest.envelope import pae, sealed
from kstore.attest.root import Root
from kstore.attest.statement import PAYLOAD_TYPE
from kstore.canonical import canonical
from kstore.digest import Digest
from tests.attest.policies import ALICE
from tests.checkpoints import checkpoint_file

ROOT = Root(bytes(range(32)), 7)
COMMIT = "0123456789abcdef0123456789abcdef01234567"
FIRST = checkpoint_file(1, ROOT, COMMIT, 1_760_000_000, None, ALICE)
SECOND = checkpoint_file(2, ROOT, COMMIT, 1_760_000_000, FIRST, ALICE)


def signed(value: Any, payload_type: str = PAYLOAD_TYPE) -> bytes:
    payload = value if isinstance(value, bytes) else canonical(value)
    return sealed(payload_type, payload, {ALICE.id: ALICE.sign(pae(payload_type, payload))}).to_bytes()


def said(data: bytes = SECOND) -> Any:
    return json.loads(base64.b64decode(json.loads(data)["payload"]))


def test_a_checkpoint_says_what_it_was_made_of() -> None:
    envelope, found = read_checkpoint(SECOND, 2)
    assert (found.number, found.root, found.commit, found.records) == (2, ROOT.hash.hex(), COMMIT, 7)
    assert found.previous == Digest.of(FIRST)
    assert found.time == 1_760_000_000
    assert envelope.to_bytes() == SECOND
    assert read_checkpoint(FIRST, 1)[1].previous is None


def test_its_payload_is_an_in_toto_statement_in_canonical_form() -> None:
    assert said() == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "store", "digest": {"blake3": ROOT.hash.hex(), "gitCommit": COMMIT}}],
        "predicateType": "https://kernelindex.dev/attestation/checkpoint/v1",
        "predicate": {
            "number": 2,
            "previous": {"sha256": Digest.of(FIRST).hex},
            "records": 7,
            "createdAt": "2025-10-09T08:53:20Z",
        },
    }
    assert checkpoint_bytes(2, ROOT, COMMIT, 1_760_000_000, Digest.of(FIRST)) == canonical(said())


def changed(path: str, value: Any) -> Any:
    """Give what the second checkpoint says with one thing changed; None removes it."""
    whole = said()
    inner = whole
    *steps, last = path.split(".")
    for step in steps:
        inner = inner[int(step) if step.isdigit() else step]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    return whole


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("_type", "https://in-toto.io/Statement/v0.1"),
        ("predicateType", "https://kernelindex.dev/attestation/checkpoint/v2"),
        ("predicateType", "https://kernelindex.dev/attestation/endorsement/v1"),
        ("subject", []),
        ("subject", said()["subject"] * 2),
        ("subject.0.name", "shop"),
        ("subject.0.digest.blake3", "AB" * 32),
        ("subject.0.digest.blake3", "ab" * 31),
        ("subject.0.digest.gitCommit", None),
        ("subject.0.digest.sha256", "ab" * 32),
        ("predicate.number", 0),
        ("predicate.number", "2"),
        ("predicate.number", 10_000_000_000),
        ("predicate.records", -1),
        ("predicate.records", None),
        ("predicate.createdAt", "2026-02-30T00:00:00Z"),
        ("predicate.previous", {"sha256": "ab" * 31}),
        ("predicate.note", "hello"),
        ("more", 1),
    ],
)
def test_what_is_no_checkpoint_is_refused(path: str, value: Any) -> None:
    with pytest.raises(CheckpointError, match="expected an in-toto Statement v1 that is a checkpoint"):
        read_checkpoint(signed(changed(path, value)), 2)


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (FIRST, 2, "expected number 2, as in store/checkpoints/0000000002.json, found 1"),
        (signed(changed("predicate.previous", None)), 2, "expected `previous` in every checkpoint but the first"),
        (signed(changed("predicate.number", 1)), 1, "expected `previous` in every checkpoint but the first"),
        (signed(json.dumps(said()).encode()), 2, "canonical form"),
        (signed(said(), "application/json"), 2, "expected a payload of type application/vnd.in-toto"),
        (FIRST + b"\n", 1, "expected"),
        (b"", 1, "expected a DSSE envelope"),
        (signed(b"\xff"), 1, "expected an in-toto Statement"),
        (signed(b"[" * 5000), 1, "expected an in-toto Statement"),
    ],
)
def test_another_spelling_or_number_is_refused(data: bytes, number: int, reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        read_checkpoint(data, number)
