"""Say what does not belong into the folders of signed files, by its name, its type and its mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.inspect import Finding, unexpected
from kstore.git.files import REGULAR
from kstore.layout import SIGNED_FOLDERS, is_signed_folder, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.git.files import Entry, Files
    from kstore.layout import SignedPlace

_NAMES = {"attestations": "<subject>/<SHA-256>.json", "trust": "<number>.json", "checkpoints": "<ten digits>.json"}


def strangers(files: Files, fanout: int) -> Iterator[Finding]:
    """Find what does not belong into the folders of signed files, by names and types alone: no file is read."""
    waiting = [*SIGNED_FOLDERS.values()]
    while waiting:
        for entry in files.scan(waiting.pop()):
            if entry.type == "folder" and is_signed_folder(entry.path, fanout):
                waiting.append(entry.path)
            elif (found := misplaced(entry, fanout)) is not None:
                yield found


def misplaced(entry: Entry, fanout: int) -> Finding | None:
    """Say why a thing is none of the signed files, or lies where none of them belongs."""
    place = signed_place_of(entry.path, fanout)
    if entry.type != "file":
        return unexpected(entry, fanout)
    if place is None:
        wanted = _NAMES.get(entry.path.split("/")[1], "as the format says")
        message = f"expected only files named {wanted} here, as kstore writes them; move it elsewhere"
        return Finding("error", "unexpected-file", entry.path, None, message)
    if place.right != entry.path:
        return Finding("error", "wrong-path", entry.path, place.subject, f"expected this file at {place.right}")
    return None


def wrong_mode(place: SignedPlace, mode: int) -> Finding | None:
    """Say that a signed file has another mode than it may have."""
    if mode == REGULAR:
        return None
    message = f"expected the mode {REGULAR:o}, found {mode:o}; run `chmod 644` on it and commit that"
    return Finding("error", "bad-mode", place.right, place.subject, message)
