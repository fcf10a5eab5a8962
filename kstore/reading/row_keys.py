"""Looks with care for keys that stand twice in a row of the catalogue's export, where a fast look was not enough."""

from __future__ import annotations

from collections import Counter
from typing import Any


class RowError(ValueError):
    """A line is no row, or lacks what a row of its table has."""


class _Members(list[tuple[str, Any]]):
    """An object with every one of its members, however often a key stands in it."""

    def last(self, key: str) -> Any:
        """Give the last value of a key, which is the one that counts, or None."""
        return next((value for name, value in reversed(self) if name == key), None)


def refuse_repeats(line: bytes, *, bundle: bool) -> None:
    """Refuse a row in which some key stands twice, outside of its documents.

    Args:
        line: `{"table": …, "row": {…, "manifest": …}}`, which msgspec could read.
        bundle: Whether the manifest is an object of documents, and no document itself.

    Raises:
        RowError: A key stands twice in one object, or the line is no JSON after all.
        RecursionError: The row is nested too deeply.
    """
    import json

    try:
        top = json.loads(line.decode(), object_pairs_hook=_Members, parse_int=str, parse_float=str, parse_constant=str)
    except json.JSONDecodeError as error:
        raise RowError(f"expected a row of the catalogue: {error}") from None
    _refuse(top, "the line")
    row = top.last("row")
    _refuse(row, "its row")
    manifest = row.last("manifest")
    if bundle and isinstance(manifest, _Members):
        _refuse(manifest, "its manifest")


def _refuse(members: _Members, where: str) -> None:
    for key, times in Counter(key for key, _ in members).items():
        if times > 1:
            raise RowError(f"duplicate key: expected {key!r} once in {where}, found it {times} times")
