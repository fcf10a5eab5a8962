"""Where things stand in a text: lines and columns, counted from 1."""

from __future__ import annotations

from typing import Protocol

from kstore.errors import Fault, Path
from kstore.reading.limits import MAX_FAULTS


class Places(Protocol):
    """Knows where the values of one text stand; looks only when it is asked for the first time."""

    def locate(self, path: Path) -> tuple[int, int]:
        """Give the line and column of the value at a path from the file's root, or of its nearest parent."""
        ...


class Lines:
    """The lines of one text, whatever ends them: a line feed, a carriage return, or both.

    It counts on from the place that was asked for last, because faults mostly come in the text's order.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._offset = 0
        self._line = 1
        self._start = 0

    def at(self, offset: int) -> tuple[int, int]:
        """Give the line and column of an offset in characters."""
        if offset < self._offset:
            self._offset, self._line, self._start = 0, 1, 0
        text, since = self._text, self._offset
        ends = text.count("\n", since, offset) + text.count("\r", since, offset) - text.count("\r\n", since, offset)
        if ends:
            self._line += ends
            self._start = max(text.rfind("\n", since, offset), text.rfind("\r", since, offset)) + 1
        self._offset = offset
        return self._line, offset - self._start + 1


def capped(faults: list[Fault]) -> tuple[Fault, ...]:
    """Keep the first faults of a file, and mention that there are more."""
    if len(faults) <= MAX_FAULTS:
        return tuple(faults)
    rest = Fault(f"there are more faults than these {MAX_FAULTS}", source=faults[0].source)
    return (*faults[:MAX_FAULTS], rest)


def shown(text: str, limit: int = 40) -> str:
    """Quote a piece of a text for a message: in backquotes, on one line, cut when it is long."""
    cut = text if len(text) <= limit else text[: limit - 1] + "…"
    quote = "'" if "`" in cut else "`"
    return quote + "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in cut) + quote


def duplicate_key(line: int, column: int) -> str:
    """Describe a key that its object had already at a place before."""
    return f"duplicate key; line {line}, column {column} has it already"
