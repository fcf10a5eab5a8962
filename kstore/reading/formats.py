"""Tells JSON from YAML, and a document from the heading above it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from kstore.errors import InvalidDocumentError
from kstore.reading.json_text import read_json
from kstore.reading.limits import MAX_HEADING
from kstore.reading.text import decode

if TYPE_CHECKING:
    from kstore.reading.places import Places

_JSON_NAMES = (".json",)
_YAML_NAMES = (".yaml", ".yml")
# What JSON begins with, as distinct from a YAML flow collection with plain keys or a heading in brackets.
_JSON = re.compile(r"[ \t\r\n]*(?P<body>\{[ \t\r\n]*(?:[\"}]|\Z)|\[[ \t\r\n]*(?:[\"{}\[\]0-9-]|\Z))")
_BRACE_LINE = re.compile(r"(?:\A|[\r\n])(?P<brace>\{)")
_YAML_START = re.compile(r"^---(?:\s|$)", re.MULTILINE)


class Parsed(msgspec.Struct, frozen=True):
    """What one file holds.

    Attributes:
        value: A plain JSON value of any kind.
        places: Where its parts stand.
        heading: The number of lines above the document that hold something else, and were skipped.
    """

    value: Any
    places: Places
    heading: int = 0


def parse(data: bytes, source: str) -> Parsed:
    """Read one file as JSON or YAML.

    A name that ends in `.json` makes it JSON. Under every other name, what begins like JSON is JSON, below a heading
    or without one, and the rest is YAML; only where the name ends in `.yaml` or `.yml` may a text that begins like
    JSON be YAML after all (a flow mapping with quoted keys).

    Args:
        data: The file's bytes.
        source: The file's name, for faults and for its ending.

    Raises:
        InvalidDocumentError: It is neither, or breaks a rule or a limit of its format.
    """
    text = decode(data, source)
    name = source.lower()
    start = _json_start(text)
    if name.endswith(_JSON_NAMES):
        return _json(text, _brace(text) if start is None else start, source)
    if start is None or _YAML_START.search(text, 0, start):
        return _yaml(text, source)
    if not name.endswith(_YAML_NAMES):
        return _json(text, start, source)
    try:
        return _json(text, start, source)
    except InvalidDocumentError as error:
        return _yaml_instead(text, source, error if text[:start].strip() else None)


def _json(text: str, start: int, source: str) -> Parsed:
    value, places = read_json(text, start, source)
    return Parsed(value, places, len(text[:start].split("\n")) - 1 if text[:start].strip() else 0)


def _yaml(text: str, source: str) -> Parsed:
    from kstore.reading.yaml_text import read_yaml

    return Parsed(*read_yaml(text, source))


def _yaml_instead(text: str, source: str, error: InvalidDocumentError | None) -> Parsed:
    """Read as YAML what began like JSON; under a heading, the faults of the JSON say more than those of the whole."""
    try:
        return _yaml(text, source)
    except InvalidDocumentError as other:
        raise (error or other) from None


def _json_start(text: str) -> int | None:
    """Give the offset at which a text, or what stands under its heading, begins like JSON."""
    start = _JSON.match(text)
    if start is None and (brace := _BRACE_LINE.search(text, 0, MAX_HEADING)):
        start = _JSON.match(text, brace.start("brace"))
    return start.start("body") if start else None


def _brace(text: str) -> int:
    """Give the offset of the first line that starts with a brace, or of the text's start."""
    brace = _BRACE_LINE.search(text, 0, MAX_HEADING)
    return brace.start("brace") if brace else 0
