"""Finds where the values of a YAML text stand, in a text that was read without a fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kstore.reading.yaml_events import events, place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.errors import Path


class _Place(msgspec.Struct):
    """Where a value begins, and where its members do."""

    line: int
    column: int
    members: dict[str | int, _Place]
    text: str = ""


class YamlPlaces:
    """The places of one YAML text; what an alias stands for is found where its anchor is.

    Args:
        text: The whole file, without a byte-order mark.
        source: The file's name.
    """

    def __init__(self, text: str, source: str) -> None:
        self._text = text
        self._source = source
        self._root: _Place | None = None

    def locate(self, path: Path) -> tuple[int, int]:
        """Give the line and column of the value at a path, or of its nearest parent."""
        if not path:
            return self._begin()
        if self._root is None:
            self._root = _Tree(events(self._text, self._source)).root()
        node = self._root
        for step in path:
            if step not in node.members:
                break
            node = node.members[step]
        return node.line, node.column

    def _begin(self) -> tuple[int, int]:
        """Find the root, which needs no second reading of the whole."""
        stream = events(self._text, self._source)
        return next(place(event) for event in stream if isinstance(event, NodeEvent))


class _Tree:
    """Builds the places out of events."""

    def __init__(self, stream: Iterator[Event]) -> None:
        self._events = stream
        self._anchors: dict[str, _Place] = {}

    def root(self) -> _Place:
        next(self._events)
        next(self._events)
        return self._node(next(self._events))

    def _node(self, event: Event) -> _Place:
        if isinstance(event, AliasEvent):
            return self._anchors[event.anchor or ""]
        node = _Place(*place(event), {})
        if isinstance(event, ScalarEvent):
            node.text = event.value
        elif isinstance(event, MappingStartEvent):
            while type(key := next(self._events)) is not MappingEndEvent:
                text = self._node(key).text
                node.members[text] = self._node(next(self._events))
        elif isinstance(event, SequenceStartEvent):
            while type(item := next(self._events)) is not SequenceEndEvent:
                node.members[len(node.members)] = self._node(item)
        if isinstance(event, NodeEvent) and event.anchor is not None:
            self._anchors[event.anchor] = node
        return node
