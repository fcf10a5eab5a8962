from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from kstore.schema import (
    KINDS,
    Record,
    SchemaError,
    check,
    check_body,
    check_json,
    check_metadata,
    identity,
    stored_record,
)
from tests.schema.strategies import PATIENTLY, damaged, documents, refused, valid


def verdict(make: Any, value: Any) -> Record | tuple[Any, ...]:
    try:
        record: Record = make(value)
    except SchemaError as error:
        return error.problems
    return record


# Every document has one verdict, whichever road it takes.


@PATIENTLY
@given(documents())
def test_what_the_types_allow_is_accepted(document: Any) -> None:
    record = check(document)
    assert record.kind == document["kind"]
    assert record.name == document["metadata"]["name"]
    assert record.title == document["metadata"].get("title", "")
    assert record.digest == "sha256:" + hashlib.sha256(record.body).hexdigest()


@PATIENTLY
@given(documents())
def test_the_bytes_are_those_of_the_reference_implementation(document: Any) -> None:
    record = check(document)
    body = json.loads(record.body, parse_int=float)  # the reference implementation refuses large ints, not floats
    assert rfc8785.dumps(body) == record.body
    assert rfc8785.dumps(document["metadata"]) == record.metadata_bytes
    assert rfc8785.dumps({**body, "metadata": document["metadata"]}) == record.document()


@PATIENTLY
@given(documents())
def test_normalization_happens_once(document: Any) -> None:
    record = check(document)
    assert check(json.loads(record.document())) == record
    assert check_json(record.document()) == record


@PATIENTLY
@given(documents())
def test_a_record_can_be_read_back_from_its_two_files(document: Any) -> None:
    record = check(document)
    body = check_body(record.body)
    assert (body.kind, body.spec) == (record.kind, record.spec)
    assert body.references() == record.references()
    assert check_metadata(record.metadata_bytes) == record.metadata
    assert identity(body.kind, body.spec) == record.body
    assert stored_record(record.body, record.metadata_bytes) == record


@PATIENTLY
@given(damaged())
def test_text_and_value_have_one_verdict(document: Any) -> None:
    assert verdict(check_json, json.dumps(document).encode()) == verdict(check, document)


@PATIENTLY
@given(damaged())
def test_a_body_has_the_documents_verdict(document: Any) -> None:
    document["metadata"] = {"name": "fine"}
    text = json.dumps({key: document[key] for key in sorted(document, key=repr) if key != "metadata"})
    whole = verdict(check, document)
    part = verdict(check_body, text.encode())
    if isinstance(whole, Record):
        assert not isinstance(part, tuple)
        assert part.spec == whole.spec
    else:
        assert isinstance(part, tuple)
        assert [path for path, _ in part] == [path for path, _ in whole]


@pytest.mark.parametrize("document", refused())
def test_a_refusal_says_expected_and_found(document: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        check(document)
    for _, message in caught.value.problems:
        assert "expected " in message
        assert "found " in message


# What makes the identity, and what does not.


def test_metadata_is_no_part_of_the_identity() -> None:
    document = valid("BenchmarkRun")
    first = check(document)
    document["metadata"] = {"name": "another", "title": "Another"}
    second = check(document)
    assert (first.digest, first.body) == (second.digest, second.body)
    assert first.metadata_bytes != second.metadata_bytes
    assert second.document() != first.document()


@pytest.mark.parametrize("spelling", ["25 ms", "25000us", "0.025s", "25000000 ns", 25000000, 25000000.0])
def test_a_durations_spelling_is_no_part_of_the_identity(spelling: object) -> None:
    document = valid("BenchmarkProtocol")
    document["spec"]["measurement"]["warmupDuration"] = spelling
    assert check(document) == check(valid("BenchmarkProtocol"))
    assert check(document).spec.measurement.warmup_duration == 25000000


@PATIENTLY
@given(st.lists(st.text(max_size=3) | st.sampled_from(["\ufb33", "\U0001f600"]), max_size=8), st.randoms())
def test_a_set_has_one_spelling(items: list[str], random: Any) -> None:
    document = valid("ImplementationRevision")
    document["spec"]["support"]["productsTested"] = items
    record = check(document)
    assert record.spec.support.products_tested == sorted(set(items), key=lambda text: text.encode("utf-16-be"))
    shuffled = items * 2
    random.shuffle(shuffled)
    document["spec"]["support"]["productsTested"] = shuffled
    assert check(document).digest == record.digest


def test_other_arrays_keep_order_and_duplicates() -> None:
    document = valid("ServingStackRevision")
    assert check(document).spec.backends == ["b", "a", "b"]


@pytest.mark.parametrize(
    ("kind", "field"), [("ServingConfiguration", "parallelism"), ("ExecutionEnvironment", "settings")]
)
def test_an_empty_object_is_not_an_absent_one(kind: str, field: str) -> None:
    document = valid(kind)
    document["spec"][field] = {}
    given_empty = check(document)
    del document["spec"][field]
    absent = check(document)
    assert f'"{field}":{{}}'.encode() in given_empty.body
    assert getattr(absent.spec, field) is msgspec.UNSET
    assert given_empty.digest != absent.digest


@pytest.mark.parametrize("number", [b"2", b"2.0", b"2e0", b"0.2e1", b"20E-1"])
def test_an_integer_takes_any_spelling(number: bytes) -> None:
    text = json.dumps(valid("ExecutionEnvironment")).encode()
    assert text.count(b'"count": 2,') == 1
    assert check_json(text.replace(b'"count": 2,', b'"count": %b,' % number)) == check_json(text)


@pytest.mark.parametrize(
    ("number", "spelled"),
    [
        (b"123456789012345680000", b"123456789012345680000"),
        (b"1e21", b"1e+21"),
        (b"1.0", b"1"),
        (b"-0.0", b"0"),
        (b"0.1000000000000000055511151231257827", b"0.1"),
        (b"9007199254740993", b"9007199254740992"),
        (b"0." + b"0" * 400 + b"1", b"0"),
    ],
)
def test_any_other_number_is_the_nearest_double(number: bytes, spelled: bytes) -> None:
    text = json.dumps(valid("BenchmarkRun")).encode().replace(b'"value": -3.25', b'"value": %b' % number)
    record = check_json(text)
    assert b'"value":%b}' % spelled in record.body
    assert check(json.loads(text)) == record
    assert stored_record(record.body, record.metadata_bytes) == record


@pytest.mark.parametrize("number", [b"1e400", b"-1e400", b"1" + b"0" * 400, b"true", b'"1"', b"null"])
def test_what_is_no_finite_number_is_refused(number: bytes) -> None:
    text = json.dumps(valid("BenchmarkRun")).encode().replace(b'"value": -3.25', b'"value": %b' % number)
    with pytest.raises(SchemaError, match=r"^spec\.measurements\.0\.value: expected a finite number, found "):
        check_json(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf"), 10**400])
def test_a_number_that_json_has_not_is_refused(number: float) -> None:
    document = valid("BenchmarkRun")
    document["spec"]["measurements"][0]["value"] = number
    with pytest.raises(SchemaError, match=r"^spec\.measurements\.0\.value: expected a finite number, found "):
        check(document)


# Characters beyond U+FFFF count twice.


def longest(kind: str, text: str) -> dict[str, Any]:
    document = valid(kind)
    document["spec"]["model"] = text
    document["metadata"]["title"] = text
    return document


def test_length_counts_utf16_code_units() -> None:
    record = check(longest("ModelRevision", "\U0001f600" * 100))
    assert stored_record(record.body, record.metadata_bytes) == record
    document = longest("ModelRevision", "\U0001f600" * 100 + "a")
    expected = (
        (("metadata", "title"), "expected at most 200 characters (UTF-16 code units), found 201"),
        (("spec", "model"), "expected at most 200 characters (UTF-16 code units), found 201"),
    )
    for make, value in (
        (check, document),
        (check_json, json.dumps(document).encode()),
        (check_json, json.dumps(document, ensure_ascii=False).encode()),
    ):
        assert verdict(make, value) == expected


@pytest.mark.parametrize("escaped", [True, False])
def test_length_counts_utf16_code_units_in_stored_files(escaped: bool) -> None:
    document = longest("ModelRevision", "\U0001f600" * 101)
    metadata = json.dumps(document.pop("metadata"), ensure_ascii=escaped).encode()
    body = json.dumps(document, ensure_ascii=escaped, separators=(",", ":")).encode()
    assert [path for path, _ in verdict(check_body, body)] == [("spec", "model")]  # type: ignore[union-attr]  # refused
    assert [path for path, _ in verdict(check_metadata, metadata)] == [("title",)]  # type: ignore[union-attr]  # refused


# A lone surrogate is refused wherever it stands, and never crashes.

SURROGATE = "\ud800"


@pytest.mark.parametrize(
    "path",
    [
        ("apiVersion",),
        ("kind",),
        ("metadata", "name"),
        ("metadata", "title"),
        ("spec", "hardware", "vendor"),
        ("spec", "hardware", "product"),
        ("spec", "software", "libraries", SURROGATE),
        ("spec", "settings", "environmentVariables", SURROGATE),
        ("spec", "settings", SURROGATE),
        (SURROGATE,),
    ],
)
def test_lone_surrogates_are_refused(path: tuple[str, ...]) -> None:
    document = valid("ExecutionEnvironment")
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = SURROGATE
    for make, value in ((check, document), (check_json, json.dumps(document).encode())):
        found = verdict(make, value)
        assert isinstance(found, tuple)
        assert path in [place for place, _ in found]


def test_a_lone_surrogate_in_a_url_is_refused() -> None:
    document = valid("SoftwareProject")
    document["spec"]["homepage"] = "https://example.org/" + SURROGATE
    assert [path for path, _ in verdict(check, document)] == [("spec", "homepage")]  # type: ignore[union-attr]  # refused


# Stored files.


@pytest.mark.parametrize("kind", KINDS)
def test_stored_files_must_be_canonical(kind: str) -> None:
    record = check(valid(kind))
    spaced = json.dumps(json.loads(record.body)).encode()
    with pytest.raises(SchemaError, match="expected the canonical form of the identity body"):
        stored_record(spaced, record.metadata_bytes)
    with pytest.raises(SchemaError, match="expected the canonical form of the identity body"):
        stored_record(record.body[:-1] + b" }", record.metadata_bytes)
    with pytest.raises(SchemaError, match="expected the canonical form of the metadata"):
        stored_record(record.body, record.metadata_bytes + b"\n")


def test_a_stored_set_must_be_sorted() -> None:
    record = check(valid("ImplementationRevision"))
    assert record.body.count(b'["a1","a2"]') == 1
    with pytest.raises(SchemaError, match="expected the canonical form of the identity body"):
        stored_record(record.body.replace(b'["a1","a2"]', b'["a2","a1"]'), record.metadata_bytes)


def test_a_stored_duration_must_be_an_integer() -> None:
    record = check(valid("BenchmarkProtocol"))
    assert record.body.count(b"25000000") == 1
    with pytest.raises(SchemaError, match="expected the canonical form of the identity body"):
        stored_record(record.body.replace(b"25000000", b'"25 ms"'), record.metadata_bytes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda body: body[:-1], "expected JSON"),
        (lambda body: body + b"}", "expected JSON"),
        (lambda body: body + b" ", None),
        (lambda body: body[:-1] + b',"x":{}}', "x: expected no such field"),
        (lambda body: body.replace(b"v1alpha1", b"v1alpha2"), "apiVersion: expected"),
        (lambda body: body.replace(b"ModelRevision", b"ModelRevisions"), "did you mean ModelRevision"),
        (lambda body: body.replace(b"ModelRevision", b"OperationSpec"), "spec.family: expected"),
        (lambda body: body.replace(b'"model"', b'"modell"'), "spec.modell: expected no such field"),
        (lambda body: body.replace(b"tiny", b"\xff"), "expected UTF-8"),
        (lambda _: b"", "expected JSON"),
        (lambda _: b"[" * 10**5, "nested too deeply"),
        (lambda _: b"[]", "expected an object, found an array of 0 items"),
    ],
)
def test_what_is_no_body_is_refused(change: Any, message: str | None) -> None:
    body = change(check(valid("ModelRevision")).body)
    if message is None:
        assert check_body(body).kind == "ModelRevision"
    else:
        with pytest.raises(SchemaError, match=message):
            check_body(body)


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        (b"", "expected JSON"),
        (b"null", "expected an object, found null"),
        (b"{}", "name: expected a name .*, found nothing: the field is required"),
        (b'{"name":"a","title":null}', "title: expected a text of at most 200 characters, found null"),
        (b'{"name":"a","labels":{"A":""}}', "labels.A: as a key, expected a token"),
    ],
)
def test_what_is_no_metadata_is_refused(metadata: bytes, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        check_metadata(metadata)


def test_values_that_are_no_json_are_refused() -> None:
    document = valid("ModelRevision")
    document["spec"]["model"] = b"bytes"
    with pytest.raises(SchemaError, match=r"spec\.model: .*, found a Python bytes"):
        check(document)


def test_deep_nesting_is_refused() -> None:
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    document = valid("ModelRevision")
    document["spec"]["model"] = deep
    with pytest.raises(SchemaError, match="nested too deeply"):
        check(document)
