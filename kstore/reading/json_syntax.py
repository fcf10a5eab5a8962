"""Explains to a person where and why a text is no JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kstore.reading.limits import MAX_NESTING
from kstore.reading.places import shown

if TYPE_CHECKING:
    import json

# Possessive, so that a text without a closing quote is not tried again and again.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
_WORD = re.compile(r'"[^"]{0,80}"?|[^\s,:\[\]{}"]{1,80}|.', re.DOTALL)
_ADVICE = {
    "True": "JSON writes `true`",
    "False": "JSON writes `false`",
    "None": "JSON writes `null`",
    "nan": "JSON has no such number",
    "NaN": "JSON has no such number",
    "Infinity": "JSON has no such number",
}


def too_deep(text: str, start: int) -> int | None:
    """Give the offset of the first bracket that is nested too deeply, if there is one.

    Args:
        text: A file's text, which need not be JSON.
        start: Where in it to begin.
    """
    depth = 0
    for token in _TOKEN.finditer(text, start):
        char = token[0]
        if char in "[{":
            depth += 1
            if depth > MAX_NESTING:
                return token.start()
        elif char in "]}":
            depth -= 1
    return None


def explain(text: str, start: int, error: json.JSONDecodeError) -> tuple[int, str]:
    """Give the offset of a fault of syntax, and the sentence that describes it.

    Args:
        text: A file's text.
        start: Where in it the document begins.
        error: What the standard library found, with an offset in `text`.
    """
    offset, problem = error.pos, error.msg
    if problem.startswith("Unterminated string"):
        return offset, 'the string that begins here has no closing `"`'
    if problem.startswith("Invalid control character"):
        return offset, f"expected no control character inside a string, found U+{ord(text[offset]):04X}; escape it"
    if problem.startswith("Invalid \\"):
        escape = text.rfind("\\", 0, offset + 1)
        return escape, f"expected an escape that JSON knows, found {_found(text, escape)}"
    opening = _opening(text, start, offset)
    if offset >= len(text):
        if opening is None:
            return len(text), "expected a value, found the end of the text"
        return opening, f"{shown(text[opening])} is never closed: the text ends first"
    return _expected(text, offset, opening, problem)


def _expected(text: str, offset: int, opening: int | None, problem: str) -> tuple[int, str]:
    """Describe a fault between two tokens."""
    found = _found(text, offset)
    closing = "" if opening is None else "}" if text[opening] == "{" else "]"
    before = text[:offset].rstrip(" \t\n\r")
    if problem.startswith("Illegal trailing comma") or (text[offset] in "]}" and before.endswith(",")):
        comma = offset if text[offset] == "," else len(before) - 1
        return comma, f"expected no comma before the closing `{closing}`; JSON allows none after the last member"
    if text.startswith(("//", "/*", "#"), offset):
        return offset, f"expected JSON, found {found}; JSON has no comments"
    if problem.startswith("Expecting ','"):
        return offset, f"expected `,` or `{closing}`, found {found}"
    if problem.startswith("Expecting ':'"):
        return offset, f"expected `:` after the key, found {found}"
    if problem.startswith("Expecting property name"):
        return offset, f"expected a key in double quotes, found {found}"
    return offset, f"expected a value, found {found}{_advice(text, offset)}"


def _advice(text: str, offset: int) -> str:
    """Add what JSON writes instead, where that is known."""
    if text[offset] == "'":
        return "; strings take double quotes"
    word = _WORD.match(text, offset)
    advice = _ADVICE.get(word[0].lstrip("+-")) if word else None
    return f"; {advice}" if advice else ""


def _found(text: str, offset: int) -> str:
    """Show the word at an offset."""
    word = _WORD.match(text, offset)
    return shown(word[0]) if word else "the end of the text"


def _opening(text: str, start: int, end: int) -> int | None:
    """Give the offset of the innermost bracket that is open at an offset."""
    opened: list[int] = []
    for token in _TOKEN.finditer(text, start, end):
        if token[0] in "[{":
            opened.append(token.start())
        elif token[0] in "]}" and opened:
            opened.pop()
    return opened[-1] if opened else None
