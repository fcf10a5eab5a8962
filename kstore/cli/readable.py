"""Showing a stored file to a person who compares two of them."""

from __future__ import annotations

import msgspec

from kstore.canonical import canonical
from kstore.cli.output import safe
from kstore.layout import MAX_FILE


def readable(data: bytes) -> bytes:
    """Write canonical JSON as YAML, and leave everything else as it is.

    Two files that differ never come out the same: a spelling that is not canonical is not read, but shown.
    """
    if len(data) > MAX_FILE:
        return data
    try:
        value = msgspec.json.decode(data)
        if not isinstance(value, dict) or canonical(value) != data:
            return data
        from kstore.cli.yaml_text import to_yaml

        return safe(to_yaml(data)).encode()
    except (msgspec.DecodeError, ValueError, TypeError, RecursionError):
        return data
