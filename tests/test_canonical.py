import enum
import json
import math
import random
import shutil
import struct
import subprocess
from collections import OrderedDict
from pathlib import Path
from typing import Any

import msgspec
import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from kstore import canonical as module
from kstore.canonical import MAX_DEPTH, MAX_SAFE_INTEGER, CanonicalError, canonical, canonical_struct, number
from kstore.digest import Digest

VECTORS = Path(__file__).parent / "data" / "jcs"


def double(bits: str) -> float:
    value: float = struct.unpack(">d", bytes.fromhex(bits))[0]
    return value


def vectors(name: str) -> list[tuple[str, str]]:
    return [(bits, spelling) for bits, spelling in map(str.split, (VECTORS / name).read_text().splitlines())]


# Strings that UTF-8 can hold, with a liking for those that are escaped or sorted in special ways.
texts = st.text(
    st.characters(exclude_categories=["Cs"]) | st.sampled_from('\x00\x1f\x7f"\\/\u2028\ue000\uffff\U00010000')
)
bit_patterns = st.integers(0, 2**64 - 1).map(lambda bits: double(f"{bits:016x}")).filter(math.isfinite)
edges = st.sampled_from([0.0, -0.0, 5e-324, 1e-7, 1e-6, 1e-5, 1.5e-5, 1e15, 1e16, 2.0**53, 1e20, 1e21, 1e22, 0.1 + 0.2])
numbers = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER) | bit_patterns | edges | st.floats(-1e6, 1e6)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner), max_leaves=30)


class Level(enum.IntEnum):
    LOW = 1


class Point(msgspec.Struct, rename="camel"):
    first_name: str
    value: float
    more: dict[str, Any] = {}
    left_out: int | msgspec.UnsetType = msgspec.UNSET
    inner: "Point | msgspec.UnsetType | None" = msgspec.UNSET


points = st.recursive(
    st.builds(Point, texts, numbers, st.dictionaries(texts, scalars), st.just(msgspec.UNSET) | st.integers(0, 9)),
    lambda inner: st.builds(Point, texts, numbers, st.dictionaries(texts, inner), inner=inner | st.none()),
    max_leaves=5,
)


# The standard's own examples


@pytest.mark.parametrize(("bits", "spelling"), vectors("appendix-b.txt"))
def test_numbers_are_spelled_as_in_appendix_b(bits: str, spelling: str) -> None:
    if spelling == "error":
        with pytest.raises(CanonicalError, match="expected a finite number"):
            number(double(bits))
    else:
        assert number(double(bits)) == spelling
        assert canonical([double(bits)]) == f"[{spelling}]".encode()


def test_the_sample_of_section_3_2_2_gives_the_bytes_of_section_3_2_4() -> None:
    sample = json.loads((VECTORS / "sample.input.json").read_text("utf-8"))
    assert canonical(sample) == bytes.fromhex((VECTORS / "sample.output.hex").read_text())


def test_keys_are_sorted_as_in_section_3_2_3() -> None:
    data = canonical(json.loads((VECTORS / "sorting.input.json").read_text("utf-8")))
    assert list(json.loads(data).values()) == (VECTORS / "sorting.order.txt").read_text().splitlines()


@pytest.mark.parametrize("code", range(0x20))
def test_control_characters_are_escaped_as_in_section_3_2_2_2(code: int) -> None:
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r"}
    expected = '"' + short.get(code, f"\\u{code:04x}") + '"'
    assert canonical(chr(code)).decode() == expected
    assert canonical({chr(code): 0}).decode() == f"{{{expected}:0}}"


@pytest.mark.parametrize(
    "text", [" ", "/", "'", "\x7f", "\x80", "é", "\u2028", "\u2029", "\ufeff", "\uffff", "\U0010ffff"]
)
def test_everything_else_but_quote_and_backslash_is_written_as_it_is(text: str) -> None:
    assert canonical(text) == b'"' + text.encode() + b'"'


def test_quote_and_backslash_are_escaped() -> None:
    assert canonical('"\\') == rb'"\"\\"'


# Numbers


def test_numbers_are_spelled_as_an_ecmascript_engine_spells_them() -> None:
    for bits, spelling in vectors("ecmascript.txt"):
        assert number(double(bits)) == spelling
        assert canonical(double(bits)) == spelling.encode()


def test_a_present_ecmascript_engine_agrees_on_random_doubles() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("there is no node on the PATH to compare with")
    patterns = [random.getrandbits(64) for _ in range(5000)]
    doubles = [value for value in (double(f"{bits:016x}") for bits in patterns) if math.isfinite(value)]
    doubles += [random.uniform(-1, 1) * 10.0 ** random.randint(-9, 24) for _ in range(5000)]
    script = (
        "const lines = require('fs').readFileSync(0, 'utf8').trim().split('\\n');"
        "const view = new DataView(new ArrayBuffer(8));"
        "for (const line of lines) {"
        " view.setBigUint64(0, BigInt('0x' + line)); console.log(JSON.stringify(view.getFloat64(0))); }"
    )
    lines = "\n".join(struct.pack(">d", value).hex() for value in doubles)
    spelled = subprocess.run([node, "-e", script], input=lines, capture_output=True, text=True, check=True).stdout
    pairs = zip(doubles, spelled.split(), strict=True)
    assert [(value.hex(), spelling) for value, spelling in pairs if number(value) != spelling] == []


@given(numbers)
def test_a_number_reads_back_as_the_same_double(value: float) -> None:
    assert float(number(value)) == value


@pytest.mark.parametrize("value", [0, 1, -1, 10**15, MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER])
def test_an_integer_is_spelled_as_the_double_of_the_same_value(value: int) -> None:
    assert canonical(value) == canonical(float(value)) == str(value).encode()


# Values as a whole


@given(values)
@example({"\U00010000": 1, "\uffff": [1.0, {"\U0001f600": -0.0, "\ue000": 1e21}]})
def test_the_bytes_are_those_of_another_implementation(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(values)
def test_the_bytes_read_back_as_the_value_and_are_their_own_canonical_form(value: Any) -> None:
    data = canonical(value)
    # Plain digits beyond 2^53 are the shortest spelling of a double, and not exactly its value as an int.
    read = json.loads(
        data, parse_int=lambda digits: int(digits) if abs(int(digits)) <= MAX_SAFE_INTEGER else float(digits)
    )
    assert read == value
    assert canonical(read) == data


@given(st.dictionaries(texts, st.integers(0, 9), max_size=20))
def test_keys_are_in_the_order_of_their_utf16_code_units(value: dict[str, int]) -> None:
    assert list(json.loads(canonical(value))) == sorted(value, key=lambda key: key.encode("utf-16-be"))


@given(points)
def test_a_struct_is_the_object_of_its_fields(point: Point) -> None:
    assert canonical(point) == canonical(msgspec.to_builtins(point)) == rfc8785.dumps(msgspec.to_builtins(point))


class Typed(msgspec.Struct, rename="camel"):
    """What a type leaves open for numbers and keys to be spelled otherwise than by the standard."""

    number: float
    whole: int
    text: str
    numbers: dict[str, float]
    keys: dict[str, str | float]
    steps: list[int]
    inner: "list[Typed]"
    left_out: float | msgspec.UnsetType = msgspec.UNSET


whole = st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
doubles = numbers.map(float)
# Keys and texts that look like what is searched for in the bytes.
tricky = texts | st.sampled_from(['":1.0,', '":1e9', "1.0}", '"', "\\", "\U00010000"])
typed: st.SearchStrategy[list[Typed]] = st.recursive(
    st.just([]),
    lambda inner: st.lists(
        st.builds(
            Typed,
            doubles,
            whole,
            tricky,
            st.dictionaries(tricky, doubles),
            st.dictionaries(tricky, tricky | doubles),
            st.lists(whole),
            inner,
            st.just(msgspec.UNSET) | doubles,
        ),
        max_size=3,
    ),
    max_leaves=3,
).filter(bool)


@given(typed)
@example([Typed(1e16, 0, "", {"\uffff": -0.0, "\U00010000": 1e-7}, {}, [], [])])
def test_a_struct_known_by_its_types_has_the_same_form(items: list[Typed]) -> None:
    for item in items:
        assert canonical_struct(item) == canonical(item) == rfc8785.dumps(msgspec.to_builtins(item))


def test_every_spelling_of_a_double_is_told_apart_from_the_canonical_one() -> None:
    for bits, spelling in vectors("ecmascript.txt"):
        spelled = canonical_struct(Typed(double(bits), 0, "", {"a": double(bits)}, {}, [], []))
        assert (
            spelled
            == (
                f'{{"inner":[],"keys":{{}},"number":{spelling},"numbers":{{"a":{spelling}}},"steps":[],"text":"","whole":0}}'
            ).encode()
        )


def test_a_struct_with_a_lone_surrogate_has_no_form() -> None:
    with pytest.raises(CanonicalError, match="U\\+D800"):
        canonical_struct(Typed(1, 0, "\ud800", {}, {}, [], []))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Point("a", 1.0), b'{"firstName":"a","more":{},"value":1}'),
        ([Point("a", 0.5, left_out=3)], b'[{"firstName":"a","leftOut":3,"more":{},"value":0.5}]'),
        ((1, ("a", 2.0)), b'[1,["a",2]]'),
        ({"digest": Digest("sha256:0")}, b'{"digest":"sha256:0"}'),
        ({Digest("b"): 1, Digest("a"): 1e21}, b'{"a":1e+21,"b":1}'),
        (OrderedDict(b=1, a=2), b'{"a":2,"b":1}'),
        ([Level.LOW, True, False, None], b"[1,true,false,null]"),
        ({}, b"{}"),
        ([], b"[]"),
        ("", b'""'),
    ],
)
def test_each_type_has_its_form(value: object, expected: bytes) -> None:
    assert canonical(value) == expected


@given(values)
def test_a_value_stays_as_it_was(value: Any) -> None:
    before = repr(value)
    canonical(value)
    assert repr(value) == before


# What has no canonical form


class Tagged(msgspec.Struct, tag=True):
    a: int = 1


class Listed(msgspec.Struct, array_like=True):
    a: int = 1


class Defaulted(msgspec.Struct, omit_defaults=True):
    a: int = 1


@pytest.mark.parametrize(
    ("value", "path", "message"),
    [
        ("\ud800", (), "expected Unicode text, found the lone surrogate U+D800"),
        ({"a": ["x", "x\udfff"]}, ("a", 1), "expected Unicode text, found the lone surrogate U+DFFF"),
        ({"a": {"\udc00": 1}}, ("a",), "expected Unicode text, found the lone surrogate U+DC00"),
        ({"a": 1.0, "b": "\ud83d"}, ("b",), "expected Unicode text, found the lone surrogate U+D83D"),
        (Point("\ud800", 1), ("firstName",), "expected Unicode text, found the lone surrogate U+D800"),
        ({"a": [{"b": math.nan}]}, ("a", 0, "b"), "expected a finite number, found nan"),
        ([1, math.inf], (1,), "expected a finite number, found inf"),
        (-math.inf, (), "expected a finite number, found -inf"),
        (Point("a", 1, {"x": math.nan}), ("more", "x"), "expected a finite number, found nan"),
        ([2**53], (0,), "expected an integer within ±(2^53-1), found 9007199254740992"),
        ({"a": -(2**53)}, ("a",), "expected an integer within ±(2^53-1), found -9007199254740992"),
        (-(2**53) - 1, (), "expected an integer within ±(2^53-1), found -9007199254740993"),
        ({"a": 10**5000}, ("a",), "expected an integer within ±(2^53-1), found one of 16610 bits"),
        ({"a": b"x"}, ("a",), "expected a JSON value, found a Python bytes"),
        ([{1}], (0,), "expected a JSON value, found a Python set"),
        (object(), (), "expected a JSON value, found a Python object"),
        ([msgspec.Raw(b"1")], (0,), "expected a JSON value, found a Python Raw"),
        ({"a": msgspec.UNSET}, ("a",), "expected a JSON value, found a Python UnsetType"),
        ([1.0, (1, msgspec.UNSET)], (1, 1), "expected a JSON value, found a Python UnsetType"),
        ({"a": {1: 2}}, ("a",), "expected a string as key, found 1"),
        ({"a": 1.0, None: 2}, (), "expected a string as key, found None"),
        ([Tagged()], (0,), "expected a JSON value, found a Python Tagged"),
        ([Listed()], (0,), "expected a JSON value, found a Python Listed"),
        ([Defaulted(2)], (0,), "expected a JSON value, found a Python Defaulted"),
    ],
    ids=lambda part: None if isinstance(part, str | tuple) else type(part).__name__,
)
def test_what_has_no_canonical_form_is_refused_with_its_place(
    value: object, path: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(CanonicalError) as caught:
        canonical(value)
    assert caught.value.path == path
    assert caught.value.message == message
    assert str(caught.value) == (f"{'.'.join(map(str, path))}: {message}" if path else message)


def nested(depth: int, innermost: object) -> object:
    value = innermost
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


@pytest.mark.parametrize("innermost", [1, 1.0, "\U0001f600", ()])
def test_nesting_is_allowed_up_to_the_limit_and_no_further(innermost: object) -> None:
    room = MAX_DEPTH - isinstance(innermost, tuple)
    assert json.loads(canonical(nested(room, innermost))) == json.loads(json.dumps(nested(room, innermost)))
    with pytest.raises(CanonicalError, match="expected at most 200 arrays and objects inside each other"):
        canonical(nested(room + 1, innermost))


def test_a_very_deep_value_is_refused() -> None:
    with pytest.raises(CanonicalError, match="inside each other"):
        canonical(nested(100_000, 1))


def test_a_value_that_holds_itself_is_refused_at_once() -> None:
    cycle: list[object] = []
    cycle += [cycle, cycle]
    with pytest.raises(CanonicalError, match="inside each other"):
        canonical(cycle)


def test_a_stack_with_too_little_room_gives_no_recursion_error() -> None:
    def down(levels: int) -> bytes:
        try:
            return down(levels + 1)
        except RecursionError:
            return canonical(nested(MAX_DEPTH, 1))

    with pytest.raises(CanonicalError, match="nested too deeply for the stack that is left"):
        down(0)


def test_most_values_take_the_fast_way() -> None:
    record: dict[str, Any] = {
        "kind": "BenchmarkRun",
        "spec": {"value": 0.125, "samples": [1, 2], "ok": True, "note": "µs \U0001f600"},
    }
    assert module._by_survey(record) == rfc8785.dumps(record)
    assert module._by_survey({"count": 1.0}) == b'{"count":1}'
    assert module._by_survey({"bytes": b""}) is None
