"""Reads YAML text (version 1.2, core schema) to a plain value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import msgspec
from yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from kstore.errors import Fault, InvalidDocumentError
from kstore.reading.limits import MAX_ALIASES, MAX_DOCUMENT_BYTES, MAX_FAULTS, MAX_NESTING, MAX_YAML_NODES
from kstore.reading.places import capped, duplicate_key, shown
from kstore.reading.yaml_core import check_collection, resolve, resolve_tagged
from kstore.reading.yaml_events import check_text, events, place
from kstore.reading.yaml_places import YamlPlaces

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_yaml(text: str, source: str) -> tuple[Any, YamlPlaces]:
    """Read the one YAML document of a text.

    Args:
        text: A file's text, without a byte-order mark.
        source: The file's name, for faults.

    Returns:
        The value, with integers beyond ±(2^53-1) as the nearest double, and where its parts stand. What aliases
        stand for is shared, not copied.

    Raises:
        InvalidDocumentError: The text is no YAML or holds none or several documents, has a duplicate key, a key that
            is no string, an unknown tag or a number that is not finite, or is over a limit.
    """
    check_text(text, source)
    return _Composer(text, source).document(), YamlPlaces(text, source)


class _StopError(Exception):
    """What follows is not worth looking at: a limit is passed, or the faults are too many."""


class _Anchor(msgspec.Struct):
    """What aliases stand for, and what each of them costs: nodes, characters and levels of nesting."""

    value: Any = None
    nodes: int = 0
    size: int = 0
    levels: int = 0
    aliases: int = 0
    complete: bool = False


class _Composer:
    """Builds one value out of events, and collects what is wrong on the way."""

    def __init__(self, text: str, source: str) -> None:
        self._events = events(text, source)
        self._source = source
        self._faults: list[Fault] = []
        self._anchors: dict[str, _Anchor] = {}
        self._path: list[str | int] = []
        self._nodes = 0
        self._size = 0
        self._deepest = 0

    def document(self) -> Any:
        value = None
        try:
            value = self._stream()
        except _StopError:
            pass
        except InvalidDocumentError as error:
            self._faults.extend(error.faults)
        if self._faults:
            raise InvalidDocumentError(capped(self._faults))
        return value

    def _stream(self) -> Any:
        next(self._events)
        if type(next(self._events)) is StreamEndEvent:
            self._faults.append(Fault("expected a document, found nothing but comments", source=self._source))
            return None
        value = self._node(next(self._events))
        next(self._events)
        end = next(self._events)
        if type(end) is not StreamEndEvent:
            self._fault(end, "expected one YAML document in a file, found a second one; put each in a file of its own")
        return value

    def _node(self, event: Event) -> Any:
        """Build the node that an event begins, to its end."""
        if isinstance(event, AliasEvent):
            return self._alias(event)
        anchor = getattr(event, "anchor", None)
        return self._content(event) if anchor is None else self._anchored(event, anchor)

    def _content(self, event: Event) -> Any:
        if isinstance(event, ScalarEvent):
            self._count(event, 1, len(event.value) + 1, 0)
            return self._scalar(event)
        self._count(event, 1, 2, 1)
        if isinstance(event, MappingStartEvent):
            return self._mapping(event)
        return self._sequence(event) if isinstance(event, CollectionStartEvent) else None

    def _anchored(self, event: Event, name: str) -> Any:
        anchor = self._anchors[name] = _Anchor()
        nodes, size, deepest = self._nodes, self._size, self._deepest
        self._deepest = len(self._path)
        anchor.value = self._content(event)
        anchor.nodes = self._nodes - nodes
        anchor.size = self._size - size
        anchor.levels = self._deepest - len(self._path)
        anchor.complete = True
        self._deepest = max(deepest, self._deepest)
        return anchor.value

    def _scalar(self, event: ScalarEvent) -> Any:
        if event.tag is None:
            value = resolve(event.value) if event.implicit[0] else event.value
        else:
            try:
                value = resolve_tagged(event.value, event.tag)
            except ValueError as error:
                self._fault(event, str(error))
                return None
        if type(value) is float and not math.isfinite(value):
            found = shown(event.value)
            self._fault(event, f"expected a finite number within the range of a double, found {found}")
        return value

    def _mapping(self, event: MappingStartEvent) -> dict[str, Any]:
        self._check_tag(event, "map")
        value: dict[str, Any] = {}
        places: dict[str, tuple[int, int]] = {}
        for key_event in self._until(MappingEndEvent):
            key = self._key(key_event)
            self._path.append("?" if key is None else key)
            if key in places:
                self._fault(key_event, duplicate_key(*places[key]))
            member = self._node(next(self._events))
            if key is not None:
                places.setdefault(key, place(key_event))
                value[key] = member
            self._path.pop()
        return value

    def _key(self, event: Event) -> str | None:
        """Build a key; one that is no string is a fault, and comes out as None."""
        faults = len(self._faults)
        self._path.append("?")
        key = self._node(event)
        self._path.pop()
        if isinstance(key, str):
            return key
        if len(self._faults) == faults:
            self._fault(event, f"expected a string for a key, found {_named(event, key)}")
        return None

    def _sequence(self, event: CollectionStartEvent) -> list[Any]:
        self._check_tag(event, "seq")
        value: list[Any] = []
        for item in self._until(SequenceEndEvent):
            self._path.append(len(value))
            value.append(self._node(item))
            self._path.pop()
        return value

    def _alias(self, event: AliasEvent) -> Any:
        anchor = self._anchors.get(event.anchor or "")
        name = shown(f"*{event.anchor}")
        if anchor is None:
            self._fault(event, f"the alias {name} has no anchor before it")
            return None
        if not anchor.complete:
            self._fault(event, f"the alias {name} stands inside what it stands for")
            raise _StopError
        anchor.aliases += 1
        if anchor.aliases > MAX_ALIASES:
            self._fault(event, f"expected at most {MAX_ALIASES} aliases of one anchor, found one more: {name}")
            raise _StopError
        self._count(event, anchor.nodes, anchor.size, anchor.levels)
        return anchor.value

    def _until(self, end: type[Event]) -> Iterator[Event]:
        while type(event := next(self._events)) is not end:
            yield event

    def _check_tag(self, event: CollectionStartEvent, own: str) -> None:
        if event.tag is not None:
            try:
                check_collection(event.tag, own)
            except ValueError as error:
                self._fault(event, str(error))

    def _count(self, event: Event, nodes: int, size: int, levels: int) -> None:
        """Count nodes, characters and levels, as they are with all aliases written out."""
        self._nodes += nodes
        self._size += size
        levels += len(self._path)
        if levels > self._deepest:
            self._deepest = levels
        if levels > MAX_NESTING:
            self._path.clear()  # a path of that length tells nobody anything
            self._fault(event, f"expected at most {MAX_NESTING} mappings and lists inside each other")
        elif self._nodes > MAX_YAML_NODES:
            self._fault(event, f"expected at most {MAX_YAML_NODES:,} keys and values, with aliases written out")
        elif self._size > MAX_DOCUMENT_BYTES:
            self._fault(event, f"expected at most {MAX_DOCUMENT_BYTES:,} characters, with aliases written out")
        else:
            return
        raise _StopError

    def _fault(self, event: Event, message: str) -> None:
        self._faults.append(Fault(message, tuple(self._path), self._source, *place(event)))
        if len(self._faults) > MAX_FAULTS:
            raise _StopError


def _named(event: Event, key: Any) -> str:
    """Name a key that is no string."""
    if isinstance(event, ScalarEvent):
        return f"{shown(event.value)}; put it in quotes" if event.value else "nothing"
    return "a mapping" if isinstance(key, dict) else "a list" if isinstance(key, list) else "what is no string"
