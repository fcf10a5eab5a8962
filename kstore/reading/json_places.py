"""Finds where the values of a JSON text stand, in a text whose syntax is known to be right.

Only the containers on the way to a value are looked through; what lies beside the way is skipped by the standard
library's scanner, which is written in C. Values are read by it, but never used.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from kstore.reading.places import Lines

if TYPE_CHECKING:
    from kstore.errors import Path

_SPACE = re.compile(r"[ \t\n\r]*")
_COLON = re.compile(r"[ \t\n\r]*:[ \t\n\r]*")
_COMMA = re.compile(r"[ \t\n\r]*,?[ \t\n\r]*")
# Numbers and constants are handed to `len`, because reading them could fail (integers of over 4,300 digits do).
_SCAN = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len).raw_decode


class Member(NamedTuple):
    """Where one member of an object or array begins, as offsets in characters."""

    key: int
    value: int


class Repeat(NamedTuple):
    """A key that its object had already."""

    key: str
    first: int
    again: int


class JsonPlaces:
    """The places of one JSON text.

    Args:
        text: The whole file, without a byte-order mark.
        start: The offset of the document's first character.
    """

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self._start = start
        self._lines: Lines | None = None
        self._members: dict[int, dict[str | int, Member]] = {}
        self._repeats: dict[int, list[Repeat]] = {}

    def locate(self, path: Path) -> tuple[int, int]:
        """Give the line and column of the value at a path, or of its nearest parent."""
        return self.at(self.offset(path))

    def at(self, offset: int) -> tuple[int, int]:
        """Give the line and column of an offset in characters."""
        if self._lines is None:
            self._lines = Lines(self.text)
        return self._lines.at(offset)

    def offset(self, path: Path) -> int:
        """Give the offset at which the value at a path begins, or its nearest parent."""
        offset = self._start
        for step in path:
            member = self.members(offset).get(step)
            if member is None:
                break
            offset = member.value
        return offset

    def members(self, offset: int) -> dict[str | int, Member]:
        """Give the members of the object or array that begins at an offset; a scalar has none.

        Of members with the same key the last one counts, as it does in the value that was read.
        """
        if offset not in self._members:
            opening = self.text[offset]
            if opening == "{":
                self._members[offset] = self._object(offset)
            else:
                self._members[offset] = self._array(offset) if opening == "[" else {}
        return self._members[offset]

    def repeats(self, offset: int) -> list[Repeat]:
        """Give the repeated keys of the object that begins at an offset."""
        self.members(offset)
        return self._repeats.get(offset, [])

    def _object(self, offset: int) -> dict[str | int, Member]:
        text = self.text
        members: dict[str | int, Member] = {}
        begin = _after(_SPACE, text, offset + 1)
        while text[begin] != "}":
            key, end = _SCAN(text, begin)
            value = _after(_COLON, text, end)
            if key in members:
                self._repeats.setdefault(offset, []).append(Repeat(key, members[key].key, begin))
            members[key] = Member(begin, value)
            begin = _after(_COMMA, text, _SCAN(text, value)[1])
        return members

    def _array(self, offset: int) -> dict[str | int, Member]:
        text = self.text
        members: dict[str | int, Member] = {}
        begin = _after(_SPACE, text, offset + 1)
        while text[begin] != "]":
            members[len(members)] = Member(begin, begin)
            begin = _after(_COMMA, text, _SCAN(text, begin)[1])
        return members


def _after(pattern: re.Pattern[str], text: str, offset: int) -> int:
    """Skip a pattern, where it is found."""
    match = pattern.match(text, offset)
    return match.end() if match else offset
