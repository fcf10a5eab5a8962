"""What reaches the terminal: data on stdout, words on stderr, and nothing that could take the terminal over."""

from __future__ import annotations

import contextlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kstore.digest import Digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

# C0 and C1 controls, DEL, the marks and overrides of bidirectional text, the line ends that only Unicode knows, and
# what is left of bytes that are no UTF-8. A line end and a tab are let through where text is laid out by us.
_CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_IN_LINE = re.compile(f"[{_CONTROLS}\n\t]")
_IN_TEXT = re.compile(f"[{_CONTROLS}]")

_SIGNED = {"attestations": "attestation", "policies": "policy", "checkpoints": "checkpoint"}
_ONE = {"objects": "object", **_SIGNED}


def escape(text: str) -> str:
    r"""Make a text from a registry safe to print within a line: control characters appear as `\u001b`."""
    return _IN_LINE.sub(_escaped, text)


def is_safe(text: str) -> bool:
    """Tell whether a text can be printed within a line as it is."""
    return _IN_LINE.search(text) is None


def safe(document: str) -> str:
    """Make a text that has lines of its own safe to print: JSON, or YAML whose strings are quoted where they need it.

    There an escape means the same character as before.
    """
    return _IN_TEXT.sub(_escaped, document)


def line(text: str = "") -> None:
    """Print one line of data."""
    sys.stdout.write(escape(text) + "\n")


def text(document: str) -> None:
    """Print data that has lines of its own; see `safe`."""
    sys.stdout.write(safe(document) + "\n")


def json(value: object) -> None:
    """Print one JSON document."""
    text(msgspec.json.encode(value, enc_hook=_as_text).decode())


def indented(data: bytes) -> None:
    """Print canonical JSON, indented for people; numbers keep their canonical spelling."""
    text(msgspec.json.format(data, indent=2).decode())


def raw(data: bytes) -> None:
    """Print exact bytes."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def note(message: str, *, quiet: bool = False) -> None:
    """Say something on stderr that is not an error."""
    if not quiet:
        _say("note", message)


def warn(message: str) -> None:
    """Say something on stderr that nobody should miss, although it is no error."""
    _say("warning", message)


def notes(messages: Iterable[str], *, quiet: bool = False) -> None:
    """Say several things on stderr."""
    for message in messages:
        note(message, quiet=quiet)


@contextlib.contextmanager
def progress(label: str, length: int | None) -> Iterator[Callable[[int], None] | None]:
    """Show a bar on stderr while the block runs, where stderr is a terminal.

    Args:
        label: What is being done.
        length: How far it goes, or None where that is not known: then there is no bar.

    Yields:
        What to call with each step's size, or None.
    """
    if length is None or not sys.stderr.isatty():
        yield None
        return
    import typer

    with typer.progressbar(length=length, label=label, file=sys.stderr) as bar:
        yield bar.update


def size_of(path: str) -> int | None:
    """Give a file's size in bytes, where it has one."""
    try:
        return Path(path).stat().st_size or None
    except OSError:
        return None


def counts(checked: Mapping[str, int]) -> str:
    """Say how many files of each part were checked; of signed parts, those alone that a registry has."""
    said = (
        (count, _ONE.get(part, part) if count == 1 else part)
        for part, count in checked.items()
        if count or part not in _SIGNED
    )
    return ", ".join(f"{count:,} {part}" for count, part in said)


def complain(message: str) -> None:
    """Say on stderr what went wrong."""
    _say("error", message)


def _say(kind: str, message: str) -> None:
    sys.stderr.write(f"{kind}: {safe(message)}\n")


def _as_text(value: object) -> str:
    """Write a digest as the string that it is; msgspec encodes no subclasses of `str`."""
    if isinstance(value, Digest):
        return str(value)
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
