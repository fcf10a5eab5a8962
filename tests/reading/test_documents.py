from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from kstore.errors import InvalidDocumentError
from kstore.reading import Document, read_document, read_documents
from kstore.reading.limits import MAX_DOCUMENT_BYTES

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder with shared data is not here")

DOC = '{"apiVersion": "v",\n "kind": "K",\n "spec": {"a": [1, {"b": 2}]}}'
YAML = "apiVersion: v\nkind: K\nspec:\n  a:\n  - 1\n  - b: 2\n"


def refused(text: str, source: str = "f") -> str:
    with pytest.raises(InvalidDocumentError) as caught:
        read_documents(text.encode(), source)
    return str(caught.value)


def test_a_single_document() -> None:
    for text, source in ((DOC, "f.json"), (YAML, "f.yaml")):
        reading = read_documents(text.encode(), source)
        (document,) = reading.documents
        assert reading.notes == ()
        assert (document.source, document.path) == (source, ())
        assert document.value == {"apiVersion": "v", "kind": "K", "spec": {"a": [1, {"b": 2}]}}
        assert read_document(text.encode(), source).value == document.value


def test_standard_input_has_a_name() -> None:
    (document,) = read_documents(DOC.encode(), "-").documents
    assert document.source == "<stdin>"
    assert refused("{", "-") == "<stdin>:1:1: `{` is never closed: the text ends first"


def test_faults_of_a_document_are_located() -> None:
    (document,) = read_documents(DOC.encode(), "f").documents
    assert str(document.fault(("spec", "a", 1, "b"), "wrong")) == "f:3:26: spec.a.1.b: wrong"
    assert str(document.fault(("metadata", "name"), "missing")) == "f:1:1: metadata.name: missing"
    (document,) = read_documents(YAML.encode(), "f").documents
    assert str(document.fault(("spec", "a", 1, "b"), "wrong")) == "f:6:8: spec.a.1.b: wrong"
    assert str(document.fault((), "wrong")) == "f:1:1: wrong"


def test_faults_in_a_bundle_are_located_in_the_file() -> None:
    for bundle in (f'Heading\n\n{{\n"run": [\n{DOC}]}}', "run:\n- " + YAML.replace("\n", "\n  ")):
        (document,) = read_documents(bundle.encode(), "f").documents
        fault = document.fault(("spec", "a", 0), "wrong")
        assert fault.path == ("run", 0, "spec", "a", 0)
        assert fault.line is not None
        assert fault.column is not None
        assert bundle.split("\n")[fault.line - 1][fault.column - 1] == "1"


def test_a_document_without_a_text_has_faults_without_a_place() -> None:
    fault = Document({"kind": "K"}, "f", ("rows", 3)).fault(("kind",), "wrong")
    assert str(fault) == "f: rows.3.kind: wrong"


def test_notes_begin_with_the_file() -> None:
    reading = read_documents(f'A title\n{{"run": {DOC}, "extra": 1}}'.encode(), "some/f.txt")
    assert reading.notes == (
        "some/f.txt: a heading of 1 line above the document was skipped",
        "some/f.txt: extra is no document and was ignored",
    )
    (note,) = read_documents(f"A\n\ntitle\n{DOC}".encode(), "f").notes
    assert note == "f: a heading of 3 lines above the document was skipped"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "an empty array"),
        ("{}", "an empty object"),
        ('{"a": 1, "b": 2}', "an object with the fields a, b"),
        ("[[[1]]]", "an array without documents"),
        ("null", "null"),
        ("true", "true"),
        ("1.5", "a number"),
        ("text", "a string"),
    ],
)
def test_a_file_without_documents_says_what_was_expected(text: str, found: str) -> None:
    message = refused("\n" + text)
    assert message.startswith(
        "f:2:1: expected a document, an object with `apiVersion` and `kind`, or an object or array"
    )
    assert message.endswith(f"; found {found}")


def test_a_single_document_is_no_bundle() -> None:
    with pytest.raises(
        InvalidDocumentError, match=r"f:1:1: expected an object with `apiVersion` and `kind`, found an array"
    ):
        read_document(f"[{DOC}]".encode(), "f")
    assert read_document(b'{"anything": 1}', "f").value == {"anything": 1}


def test_a_document_is_at_most_1_mib() -> None:
    def sized(size: int) -> str:
        return DOC.replace('"v"', f'"{"v" * (size - len(DOC) + 1)}"')

    assert len(read_documents(sized(MAX_DOCUMENT_BYTES).encode(), "f").documents) == 1
    too_large = sized(MAX_DOCUMENT_BYTES + 1)
    assert refused(too_large) == "f:1:1: expected a document of at most 1,048,576 bytes, found 1,048,577"
    with pytest.raises(InvalidDocumentError, match="at most 1,048,576 bytes"):
        read_document(too_large.encode(), "f")
    padded = " " * MAX_DOCUMENT_BYTES + DOC
    assert "at most 1,048,576 bytes" in refused(padded)
    compact = json.loads(sized(MAX_DOCUMENT_BYTES - 100))
    assert len(read_documents(json.dumps([compact] * 3).encode(), "f").documents) == 3
    message = refused(json.dumps([compact, json.loads(sized(MAX_DOCUMENT_BYTES + 100))]))
    assert message.startswith("f:1:")
    assert ": 1: expected a document of at most 1,048,576 bytes" in message


@needs_shared
def test_the_reference_documents_read_the_same_as_json_and_as_copied_text() -> None:
    for text in sorted((SHARED / "data/reference").glob("*.txt")):
        copied = read_documents(text.read_bytes(), text.name)
        exact = read_documents(text.with_suffix(".json").read_bytes(), text.with_suffix(".json").name)
        assert [(document.path, document.value) for document in copied.documents] == [
            (document.path, document.value) for document in exact.documents
        ]
        assert len(copied.documents) == 3
        assert copied.notes == (f"{text.name}: a heading of 2 lines above the document was skipped",)
        assert exact.notes == ()


def cases() -> list[dict[str, Any]]:
    path = SHARED / "conformance/cases.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.is_file() else []


@needs_shared
def test_every_valid_case_is_read_under_its_own_name_and_under_none() -> None:
    for case in cases():
        if case["ok"] and not case.get("artefact") and not case.get("exotic"):
            data = case["text"].encode() if "text" in case else base64.b64decode(case["text_b64"])
            named = read_document(data, f"{case['id']}.{case['format']}")
            assert read_document(data, "-").value == named.value, case["id"]
            assert [document.value for document in read_documents(data, "-").documents] == [named.value], case["id"]


@needs_shared
@pytest.mark.parametrize("name", ["x.json", "x.yaml", "-"])
def test_every_text_is_read_or_refused_with_a_place_that_exists(name: str) -> None:
    for case in cases():
        data = case["text"].encode() if "text" in case else base64.b64decode(case["text_b64"])
        try:
            read_documents(data, name)
        except InvalidDocumentError as error:
            for fault in error.faults:
                assert fault.message
                assert "\n" not in str(fault)
                if fault.line is not None and fault.column is not None:
                    lines = data.decode(errors="replace").replace("\r\n", "\n").replace("\r", "\n").split("\n")
                    assert fault.column <= len(lines[fault.line - 1]) + 1
