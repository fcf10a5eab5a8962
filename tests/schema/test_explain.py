from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given

from kstore.schema import KINDS
from kstore.schema.custom import read
from kstore.schema.explain import explain
from kstore.schema.kinds import document_type
from kstore.schema.plain import with_integers
from tests.schema.strategies import PATIENTLY, damaged, documents, valid


def problems(document: Any) -> list[tuple[tuple[str | int, ...], str]]:
    kind = document.get("kind") if isinstance(document, dict) else None
    return list(explain(document_type(kind if kind in KINDS else ""), document))


def accepted_by_msgspec(document: Any) -> bool:
    try:
        msgspec.convert(document, document_type(document["kind"]), dec_hook=read)
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False
    return True


@PATIENTLY
@given(documents())
def test_a_valid_document_has_no_problem(document: Any) -> None:
    document = with_integers(document)
    assert accepted_by_msgspec(document)
    assert problems(document) == []


@PATIENTLY
@given(damaged())
def test_agrees_with_msgspec(document: Any) -> None:
    document = with_integers(document)
    if document.get("kind") not in KINDS:
        assert problems(document)
    elif accepted_by_msgspec(document):
        # What msgspec cannot see is what the fast road looks for afterwards.
        assert all("UTF-16" in text or "surrogate" in text for _, text in problems(document))
    else:
        assert problems(document)


@PATIENTLY
@given(damaged())
def test_every_problem_has_a_place_that_is_there(document: Any) -> None:
    for path, text in problems(with_integers(document)):
        at = document
        for step in path[:-1]:
            at = at[step]
        if path and "found nothing" not in text:
            at[path[-1]]


LOWER = "(a lower-case letter, then lower-case letters, digits and _)"
INTERVAL = ("spec", "timing", "latencyNs", "confidence95")
PLACES: list[tuple[str, tuple[str | int, ...], object, str]] = [
    ("ModelRevision", ("spec", "modell"), "x", 'no such field, found "modell"; did you mean model?'),
    (
        "ModelRevision",
        ("spec", "contextlength"),
        1,
        'no such field, found "contextlength"; did you mean contextLength?',
    ),
    ("ModelRevision", ("spec", "repository", "zz"), 1, 'no such field, found "zz"; there are host, id, revision'),
    ("ModelRevision", ("spec", "model"), 3, "a text of at most 200 characters, found 3"),
    (
        "ModelRevision",
        ("spec", "license"),
        None,
        "a text of at most 200 characters, found null; leave out what is not known",
    ),
    ("ModelRevision", ("spec", "model"), "x" * 201, "at most 200 characters (UTF-16 code units), found 201"),
    ("ModelRevision", ("spec", "contextLength"), 0, "an integer from 1 to 2^53-1, found 0"),
    ("ModelRevision", ("spec", "repository"), [], "an object, found an array of 0 items"),
    ("ModelRevision", ("spec", "modality"), "Text", f'a token {LOWER}, found "Text"'),
    ("ModelRevision", ("apiVersion",), "1", '"kernelindex.dev/v1alpha1", found "1"'),
    ("OperationSpec", ("spec", "axes", "n", "minimum"), 0.5, "an integer from -(2^53-1) to 2^53-1, found 0.5"),
    ("OperationSpec", ("spec", "axes", "n", "type"), "int", '"integer", found "int"; did you mean integer?'),
    (
        "OperationSpec",
        ("spec", "axes", "N"),
        {"role": "variable", "type": "integer"},
        f'an axis {LOWER}, found "N"',
    ),
    ("OperationSpec", ("spec", "axes"), [], "an object, found an array of 0 items"),
    ("OperationSpec", ("spec", "inputs"), [], "an array of at least 1 item, found an array of 0 items"),
    ("OperationSpec", ("spec", "inputs"), {}, "an array of at least 1 item, found an object of 0 fields"),
    (
        "OperationSpec",
        ("spec", "inputs", 0, "tensor", "shape", 0),
        "N",
        f'an integer from 0 to 2^53-1 or an axis {LOWER}, found "N"',
    ),
    (
        "OperationSpec",
        ("spec", "semantics", "mutation"),
        "inplace",
        'one of destination, in_place, none, found "inplace"; did you mean in_place?',
    ),
    ("WorkloadCase", ("spec", "correctness", "maxAbsoluteError"), -1, "a finite number from 0, found -1"),
    ("WorkloadCase", ("spec", "correctness", "requiredMatchedRatio"), 2, "a number from 0 to 1, found 2"),
    ("WorkloadCase", ("spec", "scalars", "alpha", "value"), "1", 'a finite number, found "1"'),
    ("ServingWorkload", ("spec", "requestRatePerSecond"), 0, "a finite number above 0, found 0"),
    ("ServingWorkload", ("spec", "streaming"), 1, "true or false, found 1"),
    ("ServingRun", ("spec", "measurements"), [], "an array of 1 to 64 items, found an array of 0 items"),
    (
        "ServingRun",
        ("spec", "sourceNative", "metrics", "note"),
        True,
        "a finite number or a text of at most 500 characters, found true",
    ),
    ("BenchmarkRun", INTERVAL, [1], "an array of 2 items, found an array of 1 item"),
    ("BenchmarkRun", (*INTERVAL, 1), "0.5ns", 'a whole number of nanoseconds, found "0.5ns"'),
]


@pytest.mark.parametrize(("kind", "path", "value", "message"), PLACES)
def test_says_where_and_what(kind: str, path: tuple[Any, ...], value: object, message: str) -> None:
    document = valid(kind)
    at: Any = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    ((place, said),) = problems(document)
    assert place == path
    assert said.removeprefix("as a key, ") == f"expected {message}"


def test_rules_across_fields_are_told_beside_other_problems() -> None:
    document = valid("BenchmarkRun")
    document["spec"]["timing"]["latencyNs"] = {"p05": "soon"}
    assert [path for path, _ in problems(document)] == [
        ("spec", "timing", "latencyNs", "p05"),
        ("spec", "timing", "latencyNs"),
    ]


def test_a_missing_field_is_named_with_what_it_should_be() -> None:
    document = valid("BenchmarkRun")
    del document["spec"]["observedAt"], document["spec"]["evidence"]["harness"]["commit"]
    first, second = problems(document)
    assert first[0] == ("spec", "observedAt")
    assert first[1].startswith("expected an instant (YYYY-MM-DDTHH:MM[:SS[.d...]]Z, ")
    assert first[1].endswith("), found nothing: the field is required")
    assert second[0] == ("spec", "evidence", "harness", "commit")


def test_an_unknown_kind_does_not_hide_the_rest_of_the_envelope() -> None:
    document = {"kind": "BenchmarkRum", "metadata": {"name": "A"}, "spec": {"anything": 1}, "extra": 1}
    assert [path for path, _ in problems(document)] == [("apiVersion",), ("kind",), ("metadata", "name"), ("extra",)]
    assert problems(document)[1][1].endswith('found "BenchmarkRum"; did you mean BenchmarkRun?')


def test_long_unknown_names_are_not_compared() -> None:
    document = valid("ModelRevision")
    document["spec"]["x" * 10**6] = 1
    ((_, message),) = problems(document)
    assert len(message) < 400
    assert json.dumps(message)
