"""Each line of a bulk file becomes its records, or one reason; the verdicts are those of `kstore validate`."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.actions.prepare import (
    LISTED,
    OTHER_TABLES,
    TABLES,
    PreparedRecord,
    batch,
    decode_batch,
    prepare,
    prepare_batch,
)
from kstore.actions.refer import kind_of, said_by
from kstore.digest import Digest
from kstore.errors import InvalidDocumentError
from kstore.reading import read_document
from kstore.schema import Record, SchemaError, check
from tests.registries import PROTOCOL, RUN, TVD, environment, environments, load

if TYPE_CHECKING:
    from kstore.git.packed import PackedObject


def text(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False).encode()


def row(table: str, manifest: object, **fields: object) -> bytes:
    return text({"table": table, "row": {**fields, "manifest": manifest}})


class Line(NamedTuple):
    """What one line came to."""

    number: int
    records: tuple[PreparedRecord, ...]
    reason: str


def each(format: str, first: int, lines: bytes) -> list[Line]:
    """Prepare lines, and tell line by line what they came to."""
    found = prepare(format, first, lines)
    records: dict[int, list[PreparedRecord]] = {}
    for number, place in found.places:
        records.setdefault(number, []).append(found.records[place])
    good = [Line(number, tuple(theirs), "") for number, theirs in records.items()]
    return sorted([*good, *(Line(number, (), reason) for number, reason in found.rejected)])


def one(line: bytes, format: str = "jsonl") -> Line:
    (found,) = each(format, 1, line)
    assert bool(found.reason) != bool(found.records)
    return found


def content(item: PackedObject) -> bytes:
    start = next(at for at, octet in enumerate(item.entry) if octet < 0x80) + 1
    data = zlib.decompress(item.entry[start:])
    assert item.oid == hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).digest()
    return data


def slowly(line: bytes) -> Record | None:
    """Give the verdict of the careful way, which every other command takes."""
    try:
        return check(read_document(line, "line.json").value)
    except (InvalidDocumentError, SchemaError):
        return None


def test_a_record_is_ready_to_be_stored() -> None:
    for document in (load(TVD)[role] for role in ("run", "protocol", "environment")):
        record = check(document)
        (prepared,) = one(text(document)).records
        assert prepared.digest == record.digest.raw == hashlib.sha256(record.body).digest()
        assert prepared.said == said_by(record)
        assert kind_of(prepared.said) == record.kind
        assert content(prepared.body) == record.body
        assert content(prepared.metadata) == record.metadata_bytes


def test_lines_keep_their_numbers_and_empty_ones_count_for_nothing_else() -> None:
    lines = b"\n".join([text(environments(1)[0]), b"", b" \t\r", b"x", text(environments(2)[1]) + b"\r", b""])
    assert [(line.number, len(line.records), bool(line.reason)) for line in each("jsonl", 7, lines)] == [
        (7, 1, False),
        (10, 0, True),
        (11, 1, False),
    ]
    assert prepare("jsonl", 7, lines).rows == 3


@pytest.mark.parametrize("format", ["jsonl", "catalog"])
def test_what_a_worker_sends_is_what_it_found(format: str) -> None:
    lines = text(environment()) + b"\n" + row("projects", environment()) + b"\n" + row("sources", None) + b"\nx"
    assert decode_batch(prepare_batch(format, batch(2**40, lines))) == prepare(format, 2**40, lines)


def test_a_record_that_stands_in_several_lines_is_there_once() -> None:
    found = prepare("jsonl", 1, b"\n".join([text(environment()), GOOD, text(environment())]))
    assert found.places == [(1, 0), (2, 1), (3, 0)]
    assert len(found.records) == 2


def test_of_many_bad_lines_the_first_are_told_and_the_rest_is_counted() -> None:
    found = prepare("jsonl", 1, b"x\n" * (LISTED + 5) + GOOD)
    assert [number for number, _ in found.rejected] == list(range(1, LISTED + 1))
    assert (found.rows, found.unlisted, found.places) == (LISTED + 6, 5, [(LISTED + 6, 0)])


def test_a_reason_does_not_grow_with_what_it_is_about() -> None:
    reason = one(GOOD.replace(b'"a"', b'"' + b"a" * 500_000 + b'"').replace(b'"1"', b"7")).reason
    assert len(reason) < 30_000
    assert "spec.software.libraries.aaa" in reason


def test_many_tables_are_counted_together() -> None:
    tables = [f"t{number}" + "x" * 900 * (number % 2) for number in range(TABLES + 20)]
    skipped = prepare("catalog", 1, b"\n".join(row(table, None) for table in ["t0", *tables, "t0"])).skipped
    assert skipped["t0"] == 3
    assert skipped[OTHER_TABLES] >= 20
    assert sum(skipped.values()) == len(tables) + 2
    assert max(map(len, skipped)) == 100


def test_a_row_that_states_another_digest_is_rejected_with_both() -> None:
    document = load(TVD)["protocol"]
    for table, field in (("operations", "semanticDigest"), ("workloads", "workloadDigest")):
        assert one(row(table, document, **{field: PROTOCOL}), "catalog").records[0].digest.hex() == PROTOCOL[7:]
        assert one(row(table, document), "catalog").records
        for stated in (RUN, PROTOCOL[7:], PROTOCOL.upper(), ""):
            reason = one(row(table, document, **{field: stated}), "catalog").reason
            assert reason == f"{field} states {stated}, but the digest of its document is {PROTOCOL}"


@pytest.mark.parametrize("field", ["runDigest", "protocolKey", "environmentKey"])
def test_one_wrong_digest_of_a_bundle_rejects_all_of_it(field: str) -> None:
    bundle = {role: load(TVD)[role] for role in ("run", "protocol", "environment")}
    digests = dict(
        zip(
            ("runDigest", "protocolKey", "environmentKey"),
            (str(check(document).digest) for document in bundle.values()),
            strict=True,
        )
    )
    assert len(one(row("benchmark_runs", bundle, **digests), "catalog").records) == 3
    other = str(Digest.of(b""))
    reason = one(row("benchmark_runs", bundle, **{**digests, field: other}), "catalog").reason
    assert f"{field} states {other}, but the digest of its document is {digests[field]}" in reason


def test_a_document_that_was_checked_before_is_compared_with_every_row_that_has_it() -> None:
    document = load(TVD)["protocol"]
    lines = b"\n".join(row("operations", document, semanticDigest=stated) for stated in (PROTOCOL, RUN, PROTOCOL))
    assert [bool(line.reason) for line in each("catalog", 1, lines)] == [False, True, False]


GOOD = text(environment(software={"libraries": {"a": "1"}}))

REPEATED = [
    pytest.param(GOOD.replace(b'"a": "1"', b'"a": "1", "a": "2"'), "spec.software.libraries.a", id="twice"),
    pytest.param(GOOD.replace(b'"a": "1"', b'"a": "1", "\\u0061": "1"'), "spec.software.libraries.a", id="escaped key"),
    pytest.param(GOOD.replace(b'"a": "1"', rb'"a": "1", "a": "\u003a"'), "spec.software.libraries.a", id="003a"),
    pytest.param(GOOD.replace(b'"a": "1"', rb'"a": "1", "a": "\u003A"'), "spec.software.libraries.a", id="003A"),
    pytest.param(GOOD.replace(b'"a": "1"', rb'"a": "\u003a", "b": "\u003a", "b": ""'), "libraries.b", id="elsewhere"),
    pytest.param(GOOD.replace(b'"metadata"', rb'"kind": "ExecutionEnvironment", "metadata"'), "kind", id="kind"),
    pytest.param(GOOD.replace(b'"name"', rb'"title": "\u003a", "name": "x", "name"'), "metadata.name", id="metadata"),
    pytest.param(GOOD[:-1] + b', "spec": {"hardware": {}, "software": {}}}', "spec", id="spec"),
]


@pytest.mark.parametrize(("line", "where"), REPEATED)
def test_a_repeated_key_is_refused_however_it_is_hidden(line: bytes, where: str) -> None:
    for found in (one(line), one(b'{"table": "projects", "row": {"manifest": %b}}' % line, "catalog")):
        assert f"{where}: duplicate key" in found.reason


def test_a_colon_written_as_an_escape_is_no_reason_to_refuse() -> None:
    (record,) = one(GOOD.replace(b'"1"', rb'"\u003a\u003A"')).records
    assert b'{"a":"::"}' in content(record.body)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x", "expected a value, found `x`"),
        (b"null", "expected an object, found null"),
        (b"[" + GOOD + b"]", "expected an object, found an array of 1 item"),
        (GOOD + b" x", "expected nothing after the end of the document, found `x`"),
        (GOOD + GOOD, "expected nothing after the end"),
        (b"a heading\r" + GOOD, "expected a value, found `a`"),
        (b"{apiVersion: kernelindex.dev/v1alpha1, kind: ExecutionEnvironment}", "expected a key in double quotes"),
        (b"--- " + GOOD, "expected a value"),
        (b"{}", 'apiVersion: expected "kernelindex.dev/v1alpha1", found nothing'),
        (GOOD.replace(b"H100", b"H\xff100"), "expected UTF-8 text, found the byte 0xff"),
        (GOOD.replace(b"H100", b"\\ud800"), "spec.hardware.product: a string has half of a surrogate pair"),
        (GOOD.replace(b'"1"', b"NaN"), "expected a finite number"),
        (GOOD.replace(b'"1"', b"1e999"), "expected a finite number"),
        (GOOD.replace(b'"1"', b"null"), "spec.software.libraries.a: expected"),
        (GOOD.replace(b'"1"', b'"\t"'), "found U+0009"),
        (GOOD + b"\0", "found a NUL byte"),
        (b"[" * 50_000, "at most 32 objects and arrays inside each other"),
        (GOOD.replace(b"nvidia", b"NVIDIA").replace(b"sm_90", b"9"), "spec.hardware.vendor: expected a token"),
        (b" " * (1 << 20) + GOOD, "at most 1,048,576 bytes"),
    ],
)
def test_what_is_no_document(line: bytes, reason: str) -> None:
    found = one(line).reason
    assert reason in found
    assert "\n" not in found


def test_all_that_is_wrong_with_a_document_is_said() -> None:
    reason = one(GOOD.replace(b"nvidia", b"NVIDIA").replace(b"sm_90", b"9")).reason
    assert "spec.hardware.vendor: " in reason
    assert "; spec.hardware.architecture: " in reason


DOCUMENTS = [text(load(TVD)[role]) for role in ("run", "protocol", "environment")] + [GOOD]
TOKENS = [
    b'"',
    b":",
    b",",
    b"{",
    b"}",
    b"[",
    b"]",
    b"\\",
    rb"\u003a",
    rb"\ud83d",
    b"1e5",
    b"-0",
    b"2.0",
    b"null",
    b"\xff",
]
MEMBER = re.compile(rb'"[^"]*": (?:"[^"]*"|[0-9.]+|true|false)')


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """Change a document's text in a few places: repeat a member, or put something in or in the place of something."""
    line = draw(st.sampled_from(DOCUMENTS))
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()) and (members := MEMBER.findall(line)):
            member = draw(st.sampled_from(members))
            at = line.index(member)
            again = member[:-1] + rb'\u003a"' if member.endswith(b'"') and draw(st.booleans()) else member
            line = line[:at] + again + b", " + line[at:]
        else:
            at = draw(st.integers(0, len(line)))
            line = line[:at] + draw(st.sampled_from(TOKENS)) + line[at + draw(st.integers(0, 2)) :]
    return line


@given(mutated())
def test_the_fast_way_and_the_careful_one_have_the_same_verdicts(line: bytes) -> None:
    expected = slowly(line)
    found = one(line)
    assert bool(found.records) == (expected is not None), found.reason
    if expected is not None:
        (prepared,) = found.records
        assert (prepared.digest, content(prepared.body)) == (expected.digest.raw, expected.body)
        assert content(prepared.metadata) == expected.metadata_bytes


def test_any_json_that_is_no_document_is_one_reason() -> None:
    values: list[Any] = [0, -1.5, "x", True, [], [{}], {"kind": 7}, {"kind": "BenchmarkRun", "spec": []}]
    for value in values:
        assert one(text(value)).reason
        assert one(row("projects", value), "catalog").reason
