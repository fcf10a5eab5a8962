"""How messages show what was found: short, on one line, with nothing in it that a terminal would obey."""

from __future__ import annotations

_LONGEST = 60
_LARGEST = 2**64


def found(value: object) -> str:
    """Write a JSON value the way a message shows it, at most about 60 characters of it.

    Strings are JSON with every character beyond ASCII escaped: look-alikes (U+03BC for U+00B5) show what they are,
    control and bidirectional characters do nothing, and a lone surrogate can be printed.
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, int):
        # Python refuses to write very long integers in decimal.
        return str(value) if -_LARGEST < value < _LARGEST else "an integer beyond the 64-bit range"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return _counted("an object", len(value), "field")
    if isinstance(value, (list, tuple)):
        return _counted("an array", len(value), "item")
    return f"a Python {type(value).__name__}"


def _quoted(text: str) -> str:
    import json  # only messages need it

    if len(text) <= _LONGEST:
        return json.dumps(text)
    return f'{json.dumps(text[: _LONGEST - 10])[:-1]}..." ({len(text)} characters)'


def _counted(noun: str, count: int, unit: str) -> str:
    return f"{noun} of {count} {unit}" + ("" if count == 1 else "s")
