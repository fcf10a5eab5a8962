from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.errors import Fault, InvalidDocumentError
from kstore.reading.limits import MAX_ALIASES, MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_NESTING, MAX_YAML_NODES
from kstore.reading.yaml_text import read_yaml
from tests.reading.strategies import objects, same


def read(text: str) -> Any:
    return read_yaml(text, "f")[0]


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(InvalidDocumentError) as caught:
        read(text)
    return caught.value.faults


def quoted(text: str) -> str:
    """Write a string in double quotes, with an escape for all that is not plain."""
    return '"' + "".join(char if char.isalnum() and char.isascii() else f"\\U{ord(char):08x}" for char in text) + '"'


def block(value: Any, indent: int = 0) -> str:
    """Write YAML in block style, independently of what reads it."""
    margin = "\n" + " " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{margin}? {quoted(key)}{margin}: {block(member, indent + 2)}" for key, member in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{margin}- {block(item, indent + 2)}" for item in value)
    return quoted(value) if isinstance(value, str) else json.dumps(value)


@given(objects)
def test_a_document_in_block_style_is_read_back(value: dict[str, Any]) -> None:
    assert same(read(block(value)), value)


@given(objects)
def test_a_document_in_flow_style_is_read_back(value: dict[str, Any]) -> None:
    def flow(part: Any) -> str:
        if isinstance(part, dict):
            return "{" + ", ".join(f"? {quoted(key)} : {flow(member)}" for key, member in part.items()) + "}"
        if isinstance(part, list):
            return "[" + ", ".join(map(flow, part)) + "]"
        return quoted(part) if isinstance(part, str) else json.dumps(part)

    assert same(read(flow(value)), value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: no", {"a": "no"}),
        ("a: '8'", {"a": "8"}),
        ("a: ! 8", {"a": "8"}),
        ("a:", {"a": None}),
        ("a: ''", {"a": ""}),
        ("<<: x", {"<<": "x"}),
        ("{!!str 1: 2}", {"1": 2}),
        ("'1': 2", {"1": 2}),
        ("a: |\n  b\n  c\n", {"a": "b\nc\n"}),
        ("a: >-\n  b\n  c\n", {"a": "b c"}),
        ('a: "\\x7f\\u2028\\U0001F600\\/"', {"a": "\x7f\u2028😀/"}),
        ("a: &x {b: 1}\nc: *x", {"a": {"b": 1}, "c": {"b": 1}}),
        ("&k a: *k", {"a": "a"}),
        ("a: &k b\n*k : c", {"a": "b", "b": "c"}),
        ("a: &k 1\nb: &k 2\nc: *k", {"a": 1, "b": 2, "c": 2}),
        ("!!map {a: !!seq [!!int '1', !!float 2, !!null '']}", {"a": [1, 2.0, None]}),
        ("%TAG !y! tag:yaml.org,2002:\n---\na: !y!str 8", {"a": "8"}),
        ("%YAML 1.2\n---\na: b\n...\n# the end\n", {"a": "b"}),
        ("a: b\r\nc: d\re: f", {"a": "b", "c": "d", "e": "f"}),
    ],
)
def test_what_yaml_1_2_says(text: str, value: Any) -> None:
    assert same(read(text), value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1\na: 2", ["f:2:1: a: duplicate key; line 1, column 1 has it already"]),
        ("a: {b: 1, 'b': 2}", ["f:1:11: a.b: duplicate key; line 1, column 5 has it already"]),
        ('a:\n- b: 1\n  "\\x62": 2', ["f:3:3: a.0.b: duplicate key; line 2, column 3 has it already"]),
        ("a: &k b\nc: {b: 1, *k : 2}", ["f:2:11: c.b: duplicate key; line 2, column 5 has it already"]),
        ("<<: 1\n<<: 2", ["f:2:1: <<: duplicate key; line 1, column 1 has it already"]),
        (
            "a: 1\na: .inf\n2: b",
            [
                "f:2:1: a: duplicate key; line 1, column 1 has it already",
                "f:2:4: a: expected a finite number within the range of a double, found `.inf`",
                "f:3:1: expected a string for a key, found `2`; put it in quotes",
            ],
        ),
        ("true: 1", ["f:1:1: expected a string for a key, found `true`; put it in quotes"]),
        ("?\n: 1", ["f:1:2: expected a string for a key, found nothing"]),
        ("a: {[b]: 1, {c: d}: 2}", [
            "f:1:5: a: expected a string for a key, found a list",
            "f:1:13: a: expected a string for a key, found a mapping",
        ]),
        ("a: &k 1\n*k : 2", ["f:2:1: expected a string for a key, found what is no string"]),
        ("a: 1e400", ["f:1:4: a: expected a finite number within the range of a double, found `1e400`"]),
        ("a: !!float .nan", ["f:1:4: a: expected a finite number within the range of a double, found `.nan`"]),
        ("a: !!map []", ["f:1:4: a: expected a mapping for the tag !!map, found a list"]),
        ("!!str {a: b}", ["f:1:1: expected a string for the tag !!str, found a mapping"]),
        ("a: !!bool no", ["f:1:4: a: expected a boolean for the tag !!bool, found `no`"]),
        ("a: *b", ["f:1:4: a: the alias `*b` has no anchor before it"]),
        ("a: &b [*b]", ["f:1:8: a.0: the alias `*b` stands inside what it stands for"]),
        ("a: &b 1\nc: &b {d: *b}", ["f:2:11: c.d: the alias `*b` stands inside what it stands for"]),
        ("a: b\n---\nc: d", [
            "f:2:1: expected one YAML document in a file, found a second one; put each in a file of its own"
        ]),
        ("a: b\n---\n", [
            "f:2:1: expected one YAML document in a file, found a second one; put each in a file of its own"
        ]),
        ("# nothing", ["f: expected a document, found nothing but comments"]),
        # What was found before the syntax goes wrong is reported as well.
        ("a: 1\na: 2\nb: @c", [
            "f:2:1: a: duplicate key; line 1, column 1 has it already",
            ("f:3:4: no YAML: while scanning for the next token, found character that cannot start any token; "
            "put `@` in quotes"),
        ]),
    ],
)  # fmt: skip
def test_faults(text: str, found: list[str]) -> None:
    assert [str(fault) for fault in faults(text)] == found


def test_an_unknown_tag_is_refused_with_those_that_are_known() -> None:
    (fault,) = faults("a: !custom b")
    assert str(fault) == (
        "f:1:4: a: expected no tag but !!str, !!int, !!float, !!bool, !!null, !!map, !!seq, found `!custom`"
    )
    assert "`!!python/object/apply:os.system`" in faults("a: !!python/object/apply:os.system [ls]")[0].message
    assert "`!!binary`" in faults("!!binary {}")[0].message


@given(objects, st.data())
def test_a_duplicate_key_anywhere_is_found_with_its_path(value: dict[str, Any], data: st.DataObject) -> None:
    key = data.draw(st.sampled_from(sorted(value))) if value else "k"
    text = block({"outer": [value or {"k": 1}]}) + f"\n    ? {quoted(key)}\n    : again"
    (fault,) = faults(text)
    assert fault.path == ("outer", 0, key)
    assert fault.message.startswith("duplicate key; line ")
    assert (fault.line, fault.column) == (text.count("\n"), 7)


def test_aliases_of_one_anchor_are_bounded() -> None:
    at_limit = "a: &x y\nb: &z w\nc:\n" + "- *x\n- *z\n" * MAX_ALIASES
    assert len(read(at_limit)["c"]) == 2 * MAX_ALIASES
    (fault,) = faults(at_limit + "- *x\n")
    assert fault.path == ("c", 2 * MAX_ALIASES)
    assert fault.message == "expected at most 99 aliases of one anchor, found one more: `*x`"


def test_expansion_is_bounded() -> None:
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]" for level in range(1, 30)]
    assert f"at most {MAX_YAML_NODES:,} keys and values" in faults("\n".join(laughs))[0].message
    long = f"a: &a {'x' * 20_000}\nb: [{', '.join(['*a'] * 60)}]"
    assert f"at most {MAX_DOCUMENT_BYTES:,} characters" in faults(long)[0].message
    key = f"a: &a {'x' * 300_000}\nb: [{', '.join(['{*a : 1}'] * 4)}]"
    assert f"at most {MAX_DOCUMENT_BYTES:,} characters" in faults(key)[0].message
    assert f"at most {MAX_YAML_NODES:,} keys and values" in faults("- a\n" * (MAX_YAML_NODES + 1))[0].message


def test_nesting_is_bounded_with_aliases_written_out() -> None:
    def message(text: str) -> str:
        return faults(text)[0].message

    refused = f"expected at most {MAX_NESTING} mappings and lists inside each other"
    inner = MAX_NESTING - 1
    assert read("a: " + "[" * inner + "]" * inner)
    assert message("a: " + "[" * MAX_NESTING + "]" * MAX_NESTING) == refused
    for hostile in ("a: " + "[" * 200 + "]" * 200, "- " * 50_000, "? " * 50_000, "{a: " * 50_000, "[\n" * 50_000):
        assert message(hostile) == refused
    assert "maximum nesting depth" in message("[" * 50_000)
    chain = ["a0: &a0 []"] + [f"a{level}: &a{level} [*a{level - 1}]" for level in range(1, MAX_NESTING + 1)]
    assert read("\n".join(chain[: MAX_NESTING - 1]))
    assert message("\n".join(chain)) == refused


def test_faults_are_bounded() -> None:
    assert len(faults("a: 1\n" * 1000)) == MAX_FAULTS + 1
    assert len(faults("1: 1\n" * 1000)) == MAX_FAULTS + 1
