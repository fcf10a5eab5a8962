from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.errors import Fault, InvalidDocumentError
from kstore.reading.json_text import read_json
from kstore.reading.limits import MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_FILE_VALUES, MAX_MEMBERS, MAX_NESTING
from tests.reading.strategies import objects, same, values


def read(text: str, start: int = 0) -> Any:
    return read_json(text, start, "f")[0]


def faults(text: str) -> tuple[Fault, ...]:
    with pytest.raises(InvalidDocumentError) as caught:
        read(text)
    return caught.value.faults


@given(values, st.sampled_from([None, 0, 3, "\t"]), st.booleans())
def test_what_json_writes_is_read_back(value: Any, indent: int | str | None, ascii_only: bool) -> None:
    assert same(read(json.dumps(value, indent=indent, ensure_ascii=ascii_only)), value)


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("-0", 0),
        ("1.0", 1.0),
        ("1e0", 1.0),
        ("9007199254740991", 2**53 - 1),
        ("9007199254740992", 2.0**53),
        ("9007199254740993", 2.0**53),
        ("-9007199254740993", -(2.0**53)),
        ("123456789012345680000", 123456789012345680000.0),
        ("1" + "0" * 308, 1e308),
        ("0." + "0" * 5000 + "1e5001", 1.0),
        ("0e99999999999999999999", 0.0),
        ("1e-99999", 0.0),
        ("5e-324", 5e-324),
        ("1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
@pytest.mark.parametrize("padding", [0, 70_000])
def test_numbers(literal: str, value: float, padding: int) -> None:
    # The colon that is written as an escape leads to the slow way, the padding to the decoder for long texts.
    for escape in ("", "\\u003a"):
        found = read(f'{{"p": "{"x" * padding}", "a{escape}": [{literal}]}}')["a:" if escape else "a"][0]
        assert same(found, value)


@pytest.mark.parametrize(
    "literal", ["1e400", "-1e309", "1.7976931348623159e308", "9" * 400, "-" + "9" * 9000, "1e" + "9" * 99]
)
@pytest.mark.parametrize("padding", [0, 70_000])
def test_a_number_beyond_all_doubles_is_refused(literal: str, padding: int) -> None:
    (fault,) = faults(f'{{"a": [1,\n  {literal}], "p": "{"x" * padding}"}}')
    assert (fault.path, fault.line, fault.column) == (("a", 1), 2, 3)
    assert fault.message.startswith("expected a finite number within the range of a double, found `" + literal[:30])


@pytest.mark.parametrize("literal", ["NaN", "Infinity", "-Infinity"])
def test_what_python_takes_for_numbers_is_refused(literal: str) -> None:
    (fault,) = faults(f'{{"a": {literal}}}')
    assert (fault.path, fault.line, fault.column) == (("a",), 1, 7)
    assert f"`{literal}`" in fault.message
    (fault,) = faults(literal)
    assert (fault.path, fault.line, fault.column) == ((), 1, 1)


@pytest.mark.parametrize("escape", ["\\ud800", "\\udfff", "\\udc00\\ud800", "\\ud83d\\u0041", "x\\uD83D"])
def test_half_a_surrogate_pair_is_refused(escape: str) -> None:
    (fault,) = faults(f'{{"a":\n ["{escape}"]}}')
    assert (fault.path, fault.line, fault.column) == (("a", 0), 2, 3)
    (fault,) = faults(f'{{"a": {{"b": 1, "{escape}": 2}}}}')
    assert (fault.path, fault.line, fault.column) == (("a",), 1, 16)
    (first, second) = faults(f'{{"{escape}": 1, "{escape}": 2}}')
    assert "duplicate key" in first.message
    assert "half of a surrogate pair" in second.message
    assert str(first).encode()


def test_a_whole_surrogate_pair_is_one_character() -> None:
    assert read('["\\ud83d\\ude00"]') == ["😀"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1,\n "a": 1}', [(("a",), 2, 2, 1, 2)]),
        ('{"a": 1, "\\u0061": 2}', [(("a",), 1, 10, 1, 2)]),
        ('{"a:": 1, "a\\u003a": 2}', [(("a:",), 1, 11, 1, 2)]),
        ('{"😀": 1, "\\ud83d\\ude00": 2}', [(("😀",), 1, 10, 1, 2)]),
        ('{"x": [0, {"a": {}, "a": []}]}', [(("x", 1, "a"), 1, 21, 1, 12)]),
        ('{"a": 1, "a": 2, "a": 3}', [(("a",), 1, 10, 1, 2), (("a",), 1, 18, 1, 10)]),
        ('{"a": {"b": 1, "b": 2}, "c": {"d": 1, "d": 2}}', [(("a", "b"), 1, 16, 1, 8), (("c", "d"), 1, 39, 1, 31)]),
        # A colon that got lost in the value, and one that came from an escape, must not balance each other.
        ('{"a": "x\\u003ay", "b": 1, "b": 2}', [(("b",), 1, 27, 1, 19)]),
        ('{"a": "x\\u003Ay", "b": 1, "b": 2}', [(("b",), 1, 27, 1, 19)]),
        ('{"__proto__": 1, "__proto__": 1}', [(("__proto__",), 1, 18, 1, 2)]),
    ],
)
def test_duplicate_keys_are_refused_where_they_stand(
    text: str, found: list[tuple[tuple[str | int, ...], int, int, int, int]]
) -> None:
    assert [(fault.path, fault.line, fault.column, fault.message) for fault in faults(text)] == [
        (path, line, column, f"duplicate key; line {first_line}, column {first_column} has it already")
        for path, line, column, first_line, first_column in found
    ]


@given(objects, st.data())
def test_a_duplicate_key_anywhere_is_found_with_its_path(value: dict[str, Any], data: st.DataObject) -> None:
    places: list[tuple[str | int, ...]] = []

    def collect(part: Any, path: tuple[str | int, ...]) -> None:
        if isinstance(part, dict) and part:
            places.append(path)
        for key, member in part.items() if isinstance(part, dict) else enumerate(part):
            if isinstance(member, dict | list):
                collect(member, (*path, key))

    collect(value, ())
    if not places:
        return
    chosen = data.draw(st.sampled_from(places))

    def write(part: Any, path: tuple[str | int, ...]) -> str:
        if isinstance(part, list):
            return "[" + ", ".join(write(item, (*path, index)) for index, item in enumerate(part)) + "]"
        if not isinstance(part, dict):
            return json.dumps(part)
        members = [f"{json.dumps(key)}:{write(member, (*path, key))}" for key, member in part.items()]
        if path == chosen:
            again = data.draw(st.sampled_from(sorted(part)))
            expected.append((*path, again))
            escaped = "".join(f"\\u{unit:04x}" for unit in units(again))
            members.append(f'\n"{escaped}": {data.draw(st.sampled_from(["0", "[]", json.dumps(":::")]))}')
        return "{" + ",".join(members) + "}"

    expected: list[tuple[str | int, ...]] = []
    text = write(value, ())
    assert [(fault.path, fault.line, fault.column) for fault in faults(text)] == [(expected[0], 2, 1)]


def units(text: str) -> list[int]:
    encoded = text.encode("utf-16-be")
    return [int.from_bytes(encoded[at : at + 2]) for at in range(0, len(encoded), 2)]


@given(objects)
def test_escaped_colons_alone_are_no_fault(value: dict[str, Any]) -> None:
    text = json.dumps({**value, "colon": ":"}).replace('":"', '"\\u003a"')
    assert same(read(text), {**value, "colon": ":"})


def test_nesting_is_bounded() -> None:
    at_limit = '{"a":' + "[" * (MAX_NESTING - 1) + "]" * (MAX_NESTING - 1) + "}"
    assert read(at_limit)
    for beyond in (
        '{"a":' + "[" * MAX_NESTING + "]" * MAX_NESTING + "}",
        '{"a":' + "[" * MAX_NESTING + "NaN" + "]" * MAX_NESTING + "}",
        '{"a":' + "[" * 50_000,
        '{"a":' + "[" * 50_000 + "]" * 50_000 + "}",
    ):
        (fault,) = faults(beyond)
        assert (fault.line, fault.column) == (1, 5 + MAX_NESTING)
        assert fault.message == f"expected at most {MAX_NESTING} objects and arrays inside each other"
    # msgspec stops at the surrogate, the slow way goes on into the depth.
    assert faults('["\\ud800",' + "[" * 50_000)[0].message.startswith(f"expected at most {MAX_NESTING} objects")
    assert faults('{"a":' * 50_000)[0].column == 5 * MAX_NESTING + 1
    assert read('{"a":"' + "[" * 50_000 + '"}')


def test_a_million_keys_are_refused() -> None:
    text = "{" + ",".join(f'"k{number}":1' for number in range(1_000_000)) + "}"
    assert f"expected at most {MAX_FILE_VALUES:,} values in a file" in faults(text)[0].message


def test_members_are_bounded_in_large_files_only() -> None:
    crowd = "[" + ",".join("1" * (MAX_MEMBERS + 1)) + "]"
    assert len(read(crowd)) == MAX_MEMBERS + 1
    padded = f'{{"padding": "{"x" * MAX_DOCUMENT_BYTES}", "a": {crowd}}}'
    assert f"expected at most {MAX_MEMBERS:,} members" in faults(padded)[0].message


def test_faults_are_bounded() -> None:
    for item in ("NaN", '{"a":1,"a":1}', '"\\ud800"'):
        assert len(faults("[" + ",".join([item] * 1000) + "]")) == MAX_FAULTS + 1
    assert len(faults("{" + ",".join(['"a":1'] * 1000) + "}")) == MAX_FAULTS + 1


def test_reading_begins_where_it_is_told_to() -> None:
    text = 'A heading\n\n {"a": 1,\n"a": 2}'
    with pytest.raises(InvalidDocumentError) as caught:
        read_json(text, text.index("{"), "f")
    assert str(caught.value) == "f:4:1: a: duplicate key; line 3, column 3 has it already"
    assert read('heading {"a": 1} ', 8) == {"a": 1}


def test_a_byte_order_mark_within_is_no_white_space() -> None:
    assert faults('\ufeff{"a": 1}')[0].column == 1
