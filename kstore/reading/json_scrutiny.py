"""Reads JSON text slowly, and finds everything that is wrong with it."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from kstore.errors import Fault, InvalidDocumentError, Path
from kstore.reading import numbers
from kstore.reading.json_syntax import explain
from kstore.reading.limits import MAX_FAULTS, MAX_NESTING
from kstore.reading.places import capped, duplicate_key, shown

if TYPE_CHECKING:
    from kstore.reading.json_places import JsonPlaces

_SPACE = " \t\n\r"
_LITERAL = re.compile(r"[-+.\w]{1,80}")
_HARMLESS = frozenset((int, bool, type(None)))


class TooDeepError(Exception):
    """Objects and arrays are nested too deeply."""


class _Repeating(dict[str, Any]):
    """An object that had a key twice; the last value counts."""


class Scrutiny:
    """One slow reading of one text, in two steps: its syntax, then what the syntax allows and a document does not.

    Args:
        places: The text, and where its values stand.
        source: The file's name, for faults.
    """

    def __init__(self, places: JsonPlaces, source: str) -> None:
        self._places = places
        self._source = source
        self._faults: list[Fault] = []

    def read(self, start: int) -> Any:
        """Give the value that begins at an offset and must be followed by nothing but white space.

        Raises:
            InvalidDocumentError: Something is wrong.
            TooDeepError: Objects and arrays are nested too deeply.
        """
        value = self._parse(self._places.text, start)
        if not self._faults:
            self._examine(value, ())
        if self._faults:
            raise InvalidDocumentError(capped(self._faults))
        return value

    def _parse(self, text: str, start: int) -> Any:
        decoder = json.JSONDecoder(
            object_pairs_hook=_object, parse_int=numbers.integer, parse_float=float, parse_constant=_constant
        )
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            offset, message = explain(text, start, error)
            self._fault(offset, message, ())
            return None
        except RecursionError:
            raise TooDeepError from None
        rest = text[end:].lstrip(_SPACE)
        if rest:
            self._fault(len(text) - len(rest), _extra(rest), ())
        return value

    def _examine(self, value: Any, path: Path) -> None:
        if isinstance(value, dict | list):
            self._examine_members(value, path)
        elif isinstance(value, float) and not math.isfinite(value):
            offset = self._places.offset(path)
            self._fault(offset, _infinite(self._places.text, offset), path)
        elif isinstance(value, str) and _is_halved(value):
            self._fault(self._places.offset(path), _halved("a string"), path)

    def _examine_members(self, value: dict[str, Any] | list[Any], path: Path) -> None:
        if len(path) >= MAX_NESTING:
            raise TooDeepError
        if isinstance(value, _Repeating):
            for key, first, again in self._places.repeats(self._places.offset(path))[: MAX_FAULTS + 1]:
                message = duplicate_key(*self._places.at(first))
                self._fault(again, message, (*path, _printable(key)))
        members: Any = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            if len(self._faults) > MAX_FAULTS:
                return
            if type(key) is str and _is_halved(key):
                offset = self._places.members(self._places.offset(path))[key].key
                self._fault(offset, _halved("a key"), path)
            elif member and type(member) not in _HARMLESS:
                self._examine(member, (*path, key))

    def _fault(self, offset: int, message: str, path: Path) -> None:
        line, column = self._places.at(offset)
        self._faults.append(Fault(message, path, self._source, line, column))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    return value if len(value) == len(pairs) else _Repeating(value)


def _constant(_: str) -> float:
    """Take `NaN` and `Infinity`, which the standard library reads, for what they are: no finite numbers."""
    return math.inf


def _is_halved(text: str) -> bool:
    """Tell whether a string has half of a surrogate pair in it."""
    if text.isascii():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def _printable(key: str) -> str:
    """Write halves of surrogate pairs as escapes, so that a message with this key can be printed."""
    return key.encode(errors="backslashreplace").decode()


def _halved(what: str) -> str:
    return f"{what} has half of a surrogate pair (a `\\ud800` to `\\udfff` escape without its other half)"


def _infinite(text: str, offset: int) -> str:
    literal = _LITERAL.match(text, offset)
    found = shown(literal[0]) if literal else "none"
    return f"expected a finite number within the range of a double, found {found}"


def _extra(rest: str) -> str:
    message = f"expected nothing after the end of the document, found {shown(rest[:12])}"
    if rest.startswith("{"):
        return f"{message}; put several documents into one array (one document a line is for `kstore import`)"
    return message
