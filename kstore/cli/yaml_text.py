"""Writing a record as YAML that reads back as the same record, by the rules of YAML 1.2 and of 1.1 alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import yaml
from yaml import events
from yaml.nodes import ScalarNode
from yaml.resolver import Resolver

from kstore.canonical import number
from kstore.cli.output import is_safe
from kstore.reading.yaml_core import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

_STR = "tag:yaml.org,2002:str"
_WIDTH = 100


def to_yaml(document: bytes) -> str:
    """Write canonical JSON as block-style YAML, in the same order."""
    value = msgspec.json.decode(document)
    stream = [
        events.StreamStartEvent(),
        events.DocumentStartEvent(explicit=False),
        *_events(value, Resolver()),
        events.DocumentEndEvent(explicit=False),
        events.StreamEndEvent(),
    ]
    written: str = yaml.emit(stream, allow_unicode=True, width=_WIDTH)
    return written


def _events(value: Any, old: Resolver) -> Iterator[events.Event]:
    if isinstance(value, dict):
        yield events.MappingStartEvent(None, None, implicit=True, flow_style=not value)
        for key, item in value.items():
            yield _scalar(key, old)
            yield from _events(item, old)
        yield events.MappingEndEvent()
    elif isinstance(value, list):
        flat = all(not isinstance(item, dict | list | str) for item in value)
        yield events.SequenceStartEvent(None, None, implicit=True, flow_style=flat)
        for item in value:
            yield from _events(item, old)
        yield events.SequenceEndEvent()
    else:
        yield _scalar(value, old)


def _scalar(value: str | float | bool, old: Resolver) -> events.ScalarEvent:
    """Write a string plainly only where every reader takes it for one (`4716028826e7` is a number in YAML 1.2)."""
    if isinstance(value, str):
        node = old.resolve(ScalarNode, value, (True, False))  # type: ignore[no-untyped-call]  # types-pyyaml lacks it
        plain = isinstance(resolve(value), str) and node == _STR and is_safe(value)
        return events.ScalarEvent(None, _STR, (plain, True), value, style=None if plain else '"')
    text = str(value).lower() if isinstance(value, bool) else number(value)
    return events.ScalarEvent(None, None, (True, False), text)
