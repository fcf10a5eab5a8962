from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from kstore.attest.statement import (
    MAX_WORDS,
    Endorsement,
    Predicate,
    Replication,
    Retraction,
    Sha256,
    StatementError,
    Supersession,
    kind_of,
    read_statement,
    statement_bytes,
)
from kstore.canonical import canonical
from kstore.digest import Digest
from tests.registries import ENVIRONMENT, PROTOCOL, RUN

RECORD = Digest(RUN)
OTHER = Sha256.of(Digest(PROTOCOL))

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=50)
digests = st.binary(min_size=32, max_size=32).map(lambda raw: Sha256.of(Digest.from_raw(raw)))
predicates: st.SearchStrategy[Predicate] = st.one_of(
    st.builds(Endorsement, digests),
    st.builds(
        Replication,
        st.sampled_from(["reproduced", "not-reproduced"]),
        st.just(UNSET) | digests,
        st.just(UNSET) | words,
        st.just(UNSET) | words,
        st.just(UNSET) | words,
    ),
    st.builds(Retraction, words),
    st.builds(Supersession, digests, words),
)


@given(predicates, st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,199}\Z"), st.binary(min_size=32, max_size=32))
def test_every_statement_reads_back_and_is_canonical(predicate: Predicate, name: str, raw: bytes) -> None:
    record = Digest.from_raw(raw)
    data = statement_bytes(name, record, predicate)
    statement = read_statement(data)
    assert (statement.predicate, statement.kind) == (predicate, kind_of(predicate))
    assert [(each.name, each.digest.digest) for each in statement.subject] == [(name, record)]
    assert canonical(json.loads(data)) == data


@pytest.mark.parametrize(
    ("predicate", "kind", "fields"),
    [
        (Endorsement(OTHER), "endorsement", {"metadata": {"sha256": PROTOCOL[7:]}}),
        (
            Replication("not-reproduced", OTHER, "301 us", "H100 PCIe", "twice"),
            "replication",
            {
                "environment": "H100 PCIe",
                "note": "twice",
                "result": "not-reproduced",
                "run": {"sha256": PROTOCOL[7:]},
                "value": "301 us",
            },
        ),
        (Replication("reproduced"), "replication", {"result": "reproduced"}),
        (Retraction("wrong"), "retraction", {"reason": "wrong"}),
        (Supersession(OTHER, "better"), "supersession", {"by": {"sha256": PROTOCOL[7:]}, "reason": "better"}),
    ],
)
def test_a_statement_is_what_the_format_says(predicate: Predicate, kind: str, fields: dict[str, Any]) -> None:
    assert json.loads(statement_bytes("my-run", RECORD, predicate)) == {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": "my-run", "digest": {"sha256": RUN[7:]}}],
        "predicateType": f"https://kernelindex.dev/attestation/{kind}/v1",
        "predicate": fields,
    }


GOOD: dict[str, Any] = json.loads(statement_bytes("my-run", RECORD, Retraction("wrong")))
SUBJECT: dict[str, Any] = GOOD["subject"][0]
TYPES = "https://kernelindex.dev/attestation/"


@pytest.mark.parametrize(
    "changes",
    [
        {"_type": "https://in-toto.io/Statement/v0.1"},
        {"_type": None},
        {"predicateType": f"{TYPES}retraction/v2"},
        {"predicateType": f"{TYPES}checkpoint/v1"},
        {"predicateType": f"{TYPES}endorsement/v1"},
        {"predicateType": "https://slsa.dev/provenance/v1"},
        {"predicateType": None},
        {"predicate": {}},
        {"predicate": {"reason": ""}},
        {"predicate": {"reason": "x" * (MAX_WORDS + 1)}},
        {"predicate": {"reason": 1}},
        {"predicate": {"reason": "wrong", "more": 1}},
        {"predicate": None},
        {"more": 1},
        {"subject": []},
        {"subject": [SUBJECT, SUBJECT]},
        {"subject": [{**SUBJECT, "more": 1}]},
        {"subject": [{**SUBJECT, "name": ""}]},
        {"subject": [{**SUBJECT, "name": "My Run"}]},
        {"subject": [{"name": "my-run"}]},
        {"subject": [{"digest": SUBJECT["digest"]}]},
        {"subject": [{**SUBJECT, "digest": {}}]},
        {"subject": [{**SUBJECT, "digest": {"sha512": "0" * 128}}]},
        {"subject": [{**SUBJECT, "digest": {**SUBJECT["digest"], "sha512": "0" * 128}}]},
        {"subject": [{**SUBJECT, "digest": {"sha256": RUN}}]},
        {"subject": [{**SUBJECT, "digest": {"sha256": RUN[7:].upper()}}]},
        {"subject": [{**SUBJECT, "digest": {"sha256": RUN[7:] + "\n"}}]},
    ],
    ids=str,
)
def test_what_is_no_statement_is_refused(changes: dict[str, Any]) -> None:
    read_statement(canonical(GOOD))
    with pytest.raises(StatementError, match="that this kstore knows"):
        read_statement(canonical({**GOOD, **changes}))


@pytest.mark.parametrize(
    ("kind", "predicate"),
    [
        ("endorsement", {}),
        ("endorsement", {"metadata": RUN}),
        ("replication", {}),
        ("replication", {"result": "perhaps"}),
        ("replication", {"result": True}),
        ("replication", {"result": "reproduced", "run": None}),
        ("replication", {"result": "reproduced", "note": ""}),
        ("supersession", {"reason": "better"}),
        ("supersession", {"by": {"sha256": ENVIRONMENT[7:]}}),
    ],
)
def test_a_predicate_is_strict(kind: str, predicate: dict[str, Any]) -> None:
    with pytest.raises(StatementError):
        read_statement(canonical({**GOOD, "predicateType": f"{TYPES}{kind}/v1", "predicate": predicate}))


DATA = canonical(GOOD)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"predicate":' * 100_000,
        DATA + b"\n",
        b" " + DATA,
        DATA.replace(b'"wrong"', b'"wron\\u0067"'),
        DATA.replace(b'"reason"', b'"reason":"right","reason"'),
        DATA.replace(b'"wrong"', b'"\\ud800"'),
        json.dumps(dict(reversed(GOOD.items())), separators=(",", ":")).encode(),
    ],
)
def test_another_spelling_is_refused(data: bytes) -> None:
    with pytest.raises(StatementError):
        read_statement(data)


@pytest.mark.parametrize("text", ["", "x" * (MAX_WORDS + 1), "\ud800"])
def test_nothing_is_signed_that_could_not_be_read(text: str) -> None:
    for predicate in (Retraction(text), Supersession(OTHER, text), Replication("reproduced", note=text)):
        with pytest.raises(StatementError):
            statement_bytes("my-run", RECORD, predicate)
