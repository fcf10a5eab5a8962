"""The complete reading of a plain value by a type: every problem in it, where msgspec stops at the first.

It walks the same types that msgspec decodes by and knows no rule of the format itself. What it alone does is what a
fast decoder cannot: count UTF-16 code units, find lone surrogates, suggest the name that was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, inspect

from kstore.errors import Path
from kstore.schema.expected import bare_type, describe, items
from kstore.schema.found import found
from kstore.schema.problems import Problem

_SURROGATE = re.compile("[\ud800-\udfff]").search


def explain(cls: type[msgspec.Struct], value: object) -> Iterator[Problem]:
    """Say everything that is wrong with a value, in the order of the document's types.

    Args:
        cls: What the value should be.
        value: A plain JSON value, whose integral numbers in the safe range are ints.

    Returns:
        The problems one by one; none exactly where the value is accepted.
    """
    return _walk(_type_info(cls), value, ())


@cache
def _type_info(cls: type[msgspec.Struct]) -> inspect.Type:
    return inspect.type_info(cls)


def _walk(expected: Any, value: object, path: Path) -> Iterator[Problem]:
    bare = bare_type(expected)
    kind = type(bare)
    if kind in _INSIDE:
        yield from _INSIDE[kind](bare, value, path)
    elif not _FITS[kind](bare, value):
        yield path, _COMPLAINTS.get(kind, _plainly)(expected, value)


# Objects, maps and arrays.


def _struct(expected: inspect.StructType, value: object, path: Path) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, f"expected an object, found {found(value)}"
        return
    fields = {field.encode_name: field for field in expected.fields}
    for name, field in fields.items():
        if name in value:
            yield from _walk(field.type, value[name], (*path, name))
        elif field.required:
            yield (*path, name), f"expected {describe(field.type)}, found nothing: the field is required"
    for name in value:
        if name not in fields:
            yield (*path, name), _unknown(name, tuple(fields))
    for rule in getattr(expected.cls, "rules", ()):
        message = rule.broken(lambda field: value.get(field, UNSET))
        if message:
            yield path, message


def _unknown(name: object, fields: tuple[str, ...]) -> str:
    advice = _meant(name, fields) or f"; there are {', '.join(fields)}"
    return f"expected no such field, found {found(name)}{advice}"


def _meant(text: object, names: tuple[str, ...]) -> str:
    """Suggest the name that somebody may have meant, or give an empty string."""
    from difflib import get_close_matches

    # Comparing takes time that grows with the square of the length, and no name is longer.
    if not isinstance(text, str) or len(text) > 40:
        return ""
    lower = {name.lower(): name for name in names}
    near = get_close_matches(text.lower(), lower, 1)
    return f"; did you mean {lower[near[0]]}?" if near else ""


def _map(expected: inspect.DictType, value: object, path: Path) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, f"expected an object, found {found(value)}"
        return
    for key, item in value.items():
        for _, message in _walk(expected.key_type, key, ()):
            yield (*path, key), f"as a key, {message}"
        yield from _walk(expected.value_type, item, (*path, key))


def _array(expected: inspect.ListType, value: object, path: Path) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield path, f"expected {items(expected)}, found {found(value)}"
        return
    least, most = expected.min_length or 0, expected.max_length
    if len(value) < least or (most is not None and len(value) > most):
        yield path, f"expected {items(expected)}, found {found(value)}"
    for index, item in enumerate(value):
        yield from _walk(expected.item_type, item, (*path, index))


# What holds nothing else: whether a value fits.


def _union_fits(bare: Any, value: object) -> bool:
    return any(_FITS[type(bare_type(each))](bare_type(each), value) for each in bare.types)


def _text_fits(bare: Any, value: object) -> bool:
    return (
        isinstance(value, str)
        and (bare.max_length is None or _units(value) <= bare.max_length)
        and (bare.pattern is None or re.search(bare.pattern, value) is not None)
        and not _SURROGATE(value)
    )


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _integer_fits(bare: Any, value: object) -> bool:
    return type(value) is int and _within(bare, value)


def _number_fits(bare: Any, value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and _within(bare, value)


def _within(bounds: Any, value: Any) -> bool:
    # NaN is within nothing.
    return (
        (bounds.ge is None or value >= bounds.ge)
        and (bounds.gt is None or value > bounds.gt)
        and (bounds.le is None or value <= bounds.le)
    )


def _custom_problem(bare: Any, value: object) -> str:
    try:
        bare.cls.read(value)
    except ValueError as error:
        return str(error)
    return ""


# And what is said where it does not.


def _plainly(expected: Any, value: object) -> str:
    advice = "; leave out what is not known" if value is None else ""
    return f"expected {describe(expected)}, found {found(value)}{advice}"


def _about_text(expected: Any, value: object) -> str:
    if not isinstance(value, str):
        return _plainly(expected, value)
    surrogate = _SURROGATE(value)
    if surrogate is not None:
        return f"expected Unicode text, found the lone surrogate U+{ord(surrogate[0]):04X} in {found(value)}"
    bare = bare_type(expected)
    if bare.pattern is None:
        return f"expected at most {bare.max_length} characters (UTF-16 code units), found {_units(value)}"
    return _plainly(expected, value)


def _about_choice(expected: Any, value: object) -> str:
    return _plainly(expected, value) + _meant(value, bare_type(expected).values)


_Inside: TypeAlias = Callable[[Any, object, Path], Iterator[Problem]]
_INSIDE: dict[type, _Inside] = {
    inspect.StructType: _struct,
    inspect.DictType: _map,
    inspect.ListType: _array,
    inspect.AnyType: lambda *_: iter(()),
}
_FITS: dict[type, Callable[[Any, object], bool]] = {
    inspect.UnionType: _union_fits,
    inspect.StrType: _text_fits,
    inspect.IntType: _integer_fits,
    inspect.FloatType: _number_fits,
    inspect.BoolType: lambda _, value: isinstance(value, bool),
    inspect.LiteralType: lambda bare, value: isinstance(value, str) and value in bare.values,
    inspect.CustomType: lambda bare, value: not _custom_problem(bare, value),
}
_COMPLAINTS: dict[type, Callable[[Any, object], str]] = {
    inspect.StrType: _about_text,
    inspect.LiteralType: _about_choice,
    inspect.CustomType: lambda expected, value: _custom_problem(bare_type(expected), value),
}
