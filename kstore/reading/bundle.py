"""Finds the documents in what a file holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kstore.errors import Path, dotted
from kstore.reading.limits import MAX_BUNDLE_DEPTH
from kstore.reading.places import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_NAMED = 20
_MAX_NAME = 80
_ENVELOPE = frozenset(("apiVersion", "kind", "metadata", "spec"))


class Contents(msgspec.Struct, frozen=True):
    """The documents of a file, and the places in it that hold none.

    Attributes:
        documents: Each document with the path that leads to it.
        others: Sentences that name what is no document.
    """

    documents: tuple[tuple[Path, dict[str, Any]], ...]
    others: tuple[str, ...]


def is_document(value: Any) -> bool:
    """Tell whether a value is a document: an object with `apiVersion` and `kind`."""
    return isinstance(value, dict) and "apiVersion" in value and "kind" in value


def is_attempt(value: Any) -> bool:
    """Tell whether a value is an object with any field of a document."""
    return isinstance(value, dict) and not _ENVELOPE.isdisjoint(value)


def find(root: Any) -> Contents:
    """Find the documents in an object or array, at most 4 keys and indices deep.

    A root that has fields of a document and holds no documents is taken for one, so that it can be told what it lacks.
    """
    found: list[tuple[Path, dict[str, Any]]] = []
    others: list[tuple[Path, Any]] = []
    _search(root, (), found, others)
    if not found and is_attempt(root):
        return Contents((((), root),), ())
    return Contents(tuple(found), tuple(_notes(others)))


def _search(value: Any, path: Path, found: list[tuple[Path, dict[str, Any]]], others: list[tuple[Path, Any]]) -> None:
    """Collect the documents, and the largest parts that hold none."""
    if is_document(value):
        found.append((path, value))
        return
    if len(path) < MAX_BUNDLE_DEPTH and isinstance(value, dict | list):
        found_before, others_before = len(found), len(others)
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            if isinstance(member, dict | list):
                _search(member, (*path, key), found, others)
            else:
                others.append(((*path, key), member))
        if not path or len(found) > found_before:
            return
        del others[others_before:]
    others.append((path, value))


def _notes(others: list[tuple[Path, Any]]) -> Iterator[str]:
    for path, value in others[:_MAX_NAMED]:
        name = shown(dotted(path), _MAX_NAME)[1:-1]
        lacking = " or ".join(
            f"`{field}`" for field in ("apiVersion", "kind") if is_attempt(value) and field not in value
        )
        if lacking:
            yield f"{name} has no {lacking}: it is no document and was ignored"
        elif len(path) >= MAX_BUNDLE_DEPTH and isinstance(value, dict | list):
            yield f"{name} is no document and was ignored (documents are looked for {MAX_BUNDLE_DEPTH} levels deep)"
        else:
            yield f"{name} is no document and was ignored"
    if len(others) > _MAX_NAMED:
        yield f"{len(others) - _MAX_NAMED} more places hold no document and were ignored"
