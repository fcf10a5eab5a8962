"""Gives the events of a YAML text, from libyaml, which is fast and survives hostile input when it is bounded.

libyaml reads YAML 1.1, which differs from 1.2 in how scalars are resolved (nothing here), in some characters that end
a line, and in what a version directive promises. Texts in which that matters are refused.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from kstore.errors import Fault, InvalidDocumentError, KstoreError
from kstore.reading.limits import MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_NESTING, MAX_TAG_DIRECTIVES
from kstore.reading.places import Lines, capped, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.error import Mark, YAMLError
    from yaml.events import Event

# Not allowed in YAML 1.2 (section 5.1) at all, or a line break in YAML 1.1 and a plain character in 1.2.
_REFUSED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)
_VERSION_DIRECTIVE = re.compile(r"^%YAML[ \t]+(\S+)", re.MULTILINE)
_ADVICE = (
    ("mapping values are not allowed", "put a value that has `: ` in it in quotes, or check the indentation"),
    ("did not find expected key", "check the indentation, and the quotes and commas before this place"),
    ("did not find expected '-' indicator", "check the indentation"),
    ("could not find expected ':'", "a key needs `: ` behind it"),
    ("found invalid Unicode character escape", "write a character beyond U+FFFF as one `\\U` and eight digits"),
    ("maximum nesting depth", f"at most {MAX_NESTING} are allowed"),
)


def check_text(text: str, source: str) -> None:
    """Refuse what must not reach libyaml.

    Raises:
        InvalidDocumentError: The text is over a limit, has characters that YAML 1.1 and 1.2 read differently, or
            declares another version of YAML.
    """
    size = len(text.encode())
    if size > MAX_DOCUMENT_BYTES:
        found = f"expected at most {MAX_DOCUMENT_BYTES:,} bytes of YAML, found {size:,}"
        raise InvalidDocumentError((Fault(found, source=source),))
    faults: list[tuple[int, str]] = []
    refused = islice(_REFUSED.finditer(text), MAX_FAULTS + 1)
    faults.extend((found.start(), _escape(found[0])) for found in refused)
    directives = list(_TAG_DIRECTIVE.finditer(text))
    if len(directives) > MAX_TAG_DIRECTIVES:
        message = f"expected at most {MAX_TAG_DIRECTIVES} %TAG directives, found {len(directives)}"
        faults.append((directives[MAX_TAG_DIRECTIVES].start(), message))
    version = _VERSION_DIRECTIVE.search(text) if text.startswith("%") else None
    if version is not None and version[1] != "1.2":
        message = f"expected YAML 1.2, found a text that declares {shown(version[1])}; remove the %YAML directive"
        faults.append((version.start(), message))
    if faults:
        lines = Lines(text)
        raise InvalidDocumentError(
            capped([Fault(message, (), source, *lines.at(offset)) for offset, message in faults])
        )


def events(text: str, source: str) -> Iterator[Event]:
    """Parse a text that `check_text` let pass.

    Raises:
        InvalidDocumentError: The text is no YAML.
        KstoreError: PyYAML was installed without libyaml.
    """
    import yaml

    if not yaml.__with_libyaml__:
        raise KstoreError(
            "reading YAML needs PyYAML with libyaml, which this installation of PyYAML lacks; "
            "reinstall it from a wheel: pip install --force-reinstall --only-binary :all: pyyaml"
        )
    try:
        parser = yaml.CBaseLoader(text)
        while (event := parser.get_event()) is not None:
            yield event
    except yaml.YAMLError as error:
        raise InvalidDocumentError((_explain(error, text, source),)) from None


def place(event: Event) -> tuple[int, int]:
    """Give the line and column at which an event begins, counted from 1."""
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _escape(char: str) -> str:
    code = ord(char)
    if code == 0xFEFF:
        return "found a byte-order mark (U+FEFF) within the text; remove it, or write it as `\\uFEFF` in double quotes"
    escape = f"\\x{code:02X}" if code < 0x100 else f"\\u{code:04X}"
    return f"found the raw character U+{code:04X}; write it as `{escape}` in double quotes"


def _explain(error: YAMLError, text: str, source: str) -> Fault:
    """Describe what libyaml did not like."""
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    context: str | None = getattr(error, "context", None)
    begun: Mark | None = getattr(error, "context_mark", None)
    mark: Mark | None = getattr(error, "problem_mark", None) or begun
    if context and begun and mark and begun.line != mark.line:
        context += f" that begins at line {begun.line + 1}, column {begun.column + 1}"
    message = f"no YAML: {context}, {problem}" if context else f"no YAML: {problem}"
    for words, advice in _ADVICE:
        if words in problem:
            message = f"{message}; {advice}"
    if mark is None:
        return Fault(message, source=source)
    if "cannot start any token" in problem:
        found = text[mark.index : mark.index + 1]
        message += "; indent with spaces, not with tabs" if found == "\t" else f"; put {shown(found)} in quotes"
    if mark.index >= len(text):  # libyaml adds a line to a text that does not end with one
        return Fault(message, (), source, *Lines(text).at(len(text)))
    return Fault(message, (), source, mark.line + 1, mark.column + 1)
