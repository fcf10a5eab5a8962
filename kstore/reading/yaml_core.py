"""Resolves YAML scalars by the core schema (YAML 1.2.2, section 10.3)."""

from __future__ import annotations

import math
import re
from typing import Any

from kstore.reading import numbers
from kstore.reading.places import shown

PREFIX = "tag:yaml.org,2002:"

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# What a number or a constant begins with; anything else is a string, which is most of what there is.
_STARTS = frozenset("0123456789+-.~nNtTfF")
_NUMBER = re.compile(
    r"""
      (?P<decimal> [-+]?[0-9]+ )
    | 0o (?P<octal> [0-7]+ )
    | 0x (?P<hexadecimal> [0-9a-fA-F]+ )
    | (?P<float> [-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)? )
    | (?P<infinite> [-+]?\.(?:inf|Inf|INF) )
    | (?P<nan> \.(?:nan|NaN|NAN) )
    """,
    re.VERBOSE,
)

_SCALARS = ("str", "int", "float", "bool", "null")
_COLLECTIONS = ("map", "seq")


def resolve(text: str) -> Any:
    """Give the value of a plain scalar without a tag; `.inf`, `.nan` and what overflows come out as such."""
    if text and text[0] not in _STARTS:
        return text
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    number = _number(text)
    return text if number is None else number


def resolve_tagged(text: str, tag: str) -> Any:
    """Give the value of a scalar, quoted or not, with an explicit tag.

    Raises:
        ValueError: The tag is unknown, or belongs to collections, or the text is nothing of that kind.
    """
    if tag == "!":
        return text
    name = known(tag)
    if name == "str":
        return text
    if name in _COLLECTIONS:
        raise ValueError(f"expected a {_spelled(name)} for the tag !!{name}, found the scalar {shown(text)}")
    value = resolve(text)
    if name == "float" and _kind(value) == "int":
        value = float(value)
    if _kind(value) != name:
        raise ValueError(f"expected a {_spelled(name)} for the tag !!{name}, found {shown(text)}")
    return value


def check_collection(tag: str, own: str) -> None:
    """Check the explicit tag of a collection.

    Args:
        tag: The tag, in full.
        own: The tag that the collection has by itself, `map` or `seq`.

    Raises:
        ValueError: It is unknown, or is the tag of something else.
    """
    if tag != "!" and (name := known(tag)) != own:
        raise ValueError(f"expected a {_spelled(name)} for the tag !!{name}, found a {_spelled(own)}")


def known(tag: str) -> str:
    """Give the short name of a tag of the core schema.

    Raises:
        ValueError: It is none.
    """
    name = tag.removeprefix(PREFIX)
    if name != tag and name in _SCALARS + _COLLECTIONS:
        return name
    written = f"!!{name}" if name != tag else tag
    tags = ", ".join(f"!!{name}" for name in _SCALARS + _COLLECTIONS)
    raise ValueError(f"expected no tag but {tags}, found {shown(written)}")


def _number(text: str) -> int | float | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    if match.lastgroup == "decimal":
        return numbers.integer(text)
    if match.lastgroup == "float":
        return float(text)
    if match.lastgroup == "octal":
        return numbers.integer_of_base(match["octal"], 8)
    if match.lastgroup == "hexadecimal":
        return numbers.integer_of_base(match["hexadecimal"], 16)
    if match.lastgroup == "nan":
        return math.nan
    return -math.inf if text[0] == "-" else math.inf


def _kind(value: Any) -> str:
    """Name the tag that a resolved value has by itself."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    return {int: "int", float: "float"}.get(type(value), "str")


def _spelled(name: str) -> str:
    spelled = {"str": "string", "int": "whole number", "float": "number", "bool": "boolean", "null": "null"}
    return {**spelled, "map": "mapping", "seq": "list"}[name]
