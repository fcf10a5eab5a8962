"""How messages say what was expected: the types of `msgspec.inspect` in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import inspect

from kstore.schema.found import found
from kstore.schema.primitives import LARGEST, SAFE

if TYPE_CHECKING:
    from collections.abc import Callable


def bare_type(expected: Any) -> Any:
    """Give a type without its title and description."""
    return expected.type if isinstance(expected, inspect.Metadata) else expected


def describe(expected: Any) -> str:
    """Say what a type wants, as the object of "expected"."""
    bare = bare_type(expected)
    named = (expected.extra_json_schema or {}) if bare is not expected else {}
    if "title" in named:
        article = "an" if named["title"][0] in "aeiou" else "a"
        return f"{article} {named['title']} ({named['description']})"
    return _WORDS[type(bare)](bare)


def items(bare: inspect.ListType) -> str:
    """Say how many items an array wants, as the object of "expected"."""
    if bare.max_length is not None:
        if bare.min_length == bare.max_length:
            return f"an array of {bare.max_length} items"
        return f"an array of {bare.min_length or 0} to {bare.max_length} items"
    return f"an array of at least {bare.min_length} item" if bare.min_length else "an array"


def _choices(bare: Any) -> str:
    return f"one of {', '.join(bare.values)}" if len(bare.values) > 1 else found(bare.values[0])


def _integers(bare: Any) -> str:
    names = {SAFE: "2^53-1", -SAFE: "-(2^53-1)"}
    return f"an integer from {names.get(bare.ge, bare.ge)} to {names.get(bare.le, bare.le)}"


def _numbers(bare: Any) -> str:
    if bare.gt is not None:
        return f"a finite number above {bare.gt:g}"
    if bare.ge == -LARGEST:
        return "a finite number"
    return f"a number from {bare.ge:g} to {bare.le:g}" if bare.le != LARGEST else f"a finite number from {bare.ge:g}"


def _alternatives(bare: inspect.UnionType) -> str:
    # A number is an integer or a double; the words for the double say both.
    number = any(isinstance(each, inspect.FloatType) for each in bare.types)
    return " or ".join(describe(each) for each in bare.types if not (number and isinstance(each, inspect.IntType)))


_WORDS: dict[type, Callable[[Any], str]] = {
    inspect.UnionType: _alternatives,
    inspect.StrType: lambda bare: f"a text of at most {bare.max_length} characters",
    inspect.IntType: _integers,
    inspect.FloatType: _numbers,
    inspect.BoolType: lambda _: "true or false",
    inspect.LiteralType: _choices,
    inspect.CustomType: lambda bare: str(bare.cls.expected),
    inspect.StructType: lambda _: "an object",
    inspect.DictType: lambda _: "an object",
    inspect.ListType: items,
}
