"""What is printed as YAML is the same record for every reader of YAML, of 1.1 and of 1.2."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kstore.cli import output
from kstore.cli.yaml_text import to_yaml
from kstore.reading import read_document
from tests.registries import ALL, environment, kstore

if TYPE_CHECKING:
    from pathlib import Path

NASTY = [
    "4716028826e7", "1e3", "1_000", "0x1F", "0o17", "012", "1:30", "190:20:30", "+1", "-", "-1", ".5", "1.", ".inf",
    "-.INF", ".nan", "~", "null", "Null", "", " ", "yes", "No", "on", "OFF", "y", "n", "true", "True", "FALSE",
    "2026-03-03", "2026-03-03T23:02:50.000Z", "2026-03-03 23:02:50", "<<", "=", "!tag", "!!str x", "&anchor", "*alias",
    "a: b", "a:", ": a", "a # b", "#a", "- a", "? a", "| a", "> a", "%YAML 1.2", "---", "...", "--- a", "@a", "`a`",
    "[a", "{a", "a]", "a, b", "'a'", '"a"', 'a"b', "a\\b", "\\n", " a", "a ", "\ta", "a\tb", "a\nb", "a\n", "\na",
    "a\r\nb", "\x1b[31m", "\x00", "\x7f", "\x80", "\x85", "\x9b", "\u2028", "\u2029", "\u202e", "\ufeff", "\ufffe",
    "\uffff", "\ufffd", "\ue000", "🙂", "\U0010ffff", "é", "e\u0301", "·", "a" * 300, "a " * 150, "word\n" * 40,
    "x" * 99 + " y", "key: |\n  text\n",
]  # fmt: skip

strings = st.sampled_from(NASTY) | st.text() | st.builds("{}{}".format, st.sampled_from(NASTY), st.sampled_from(NASTY))
numbers = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.booleans() | numbers | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=15,
)


def printed(value: Any) -> str:
    """Give what `show --yaml` prints of a JSON value."""
    text = to_yaml(msgspec.json.encode(value))
    return output.safe(text)


@given(values)
def test_it_reads_back_as_the_same_value(value: Any) -> None:
    document = {"apiVersion": "x", "kind": value}
    assert read_document(printed(document).encode(), "x.yaml").value == document


@given(values)
def test_a_reader_of_yaml_1_1_reads_the_same_strings(value: Any) -> None:
    def shape(value: Any) -> Any:
        """Keep the strings and the structure; numbers such as 1e-7 are strings to YAML 1.1."""
        if isinstance(value, dict):
            return {key: shape(item) for key, item in value.items()}
        if isinstance(value, list):
            return [shape(item) for item in value]
        return value if isinstance(value, str | bool) else "a number"

    document = {"x": value}
    read = yaml.safe_load(printed(document))
    expected = shape(document)

    def same(read: Any, given: Any, expected: Any) -> bool:
        if isinstance(given, dict):
            return list(read) == list(given) and all(same(read[key], given[key], expected[key]) for key in given)
        if isinstance(given, list):
            return len(read) == len(given) and all(map(same, read, given, expected))
        return expected == "a number" or (type(read) is type(given) and read == given)

    assert same(read, document, expected)


@pytest.mark.parametrize("text", NASTY)
def test_nasty_strings_as_keys_and_values(text: str) -> None:
    document = {"apiVersion": "x", "kind": {text: text, "more": [text, {text: [text]}]}}
    assert read_document(printed(document).encode(), "x.yaml").value == document


def test_a_record_is_printed_for_people(registry: Path) -> None:
    text = kstore("show", "--yaml", "liger-bench-do-bench-forward", cwd=registry).ok().text
    assert text.startswith(
        "apiVersion: kernelindex.dev/v1alpha1\nkind: BenchmarkProtocol\nmetadata:\n  name: liger-bench"
    )
    assert "    timer: cuda_events\n" in text


@pytest.mark.parametrize("file", ALL, ids=lambda path: path.name)
def test_reference_records_read_back(file: Path, registry: Path) -> None:
    for row in kstore("digest", "--json", file).json():
        text = kstore("show", "--yaml", row["digest"], cwd=registry).ok().out
        assert kstore("digest", "--json", "-", stdin=text).ok().json() == [row]
        assert kstore("add", "-", "--json", stdin=text, cwd=registry).ok().json()["commit"] is None


@given(st.sampled_from([text for text in NASTY if len(text.encode("utf-16-le")) <= 400 and text]))
def test_a_record_with_nasty_strings_reads_back(text: str) -> None:
    document = environment(settings={"environmentVariables": {text: text}})
    document["metadata"] |= {"title": text, "description": text}
    (row,) = kstore("digest", "--json", "-", stdin=json.dumps(document).encode()).ok().json()
    again = printed(document).encode()
    assert kstore("digest", "--json", "-", stdin=again).ok().json() == [row]
