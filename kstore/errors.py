"""What can go wrong: one tree of exceptions, each with its exit code.

Every message says what was wrong, where, what was expected and found, and what to do about it. The numbers are the
command line's contract and the only place where they are written down in code.
"""

from __future__ import annotations

from typing import ClassVar, TypeAlias

import msgspec

Path: TypeAlias = tuple[str | int, ...]
"""A place inside a document: the keys and indices that lead to it from the root."""


class KstoreError(Exception):
    """Something is wrong, or could not be done; the message is for a person."""

    exit_code: ClassVar[int] = 1


class UsageError(KstoreError):
    """The call itself makes no sense."""

    exit_code = 2


class NoRegistryError(KstoreError):
    """There is no registry at the place that was named."""

    exit_code = 10


class LockedError(KstoreError):
    """Another writer held the registry's lock for longer than the caller wanted to wait."""

    exit_code = 11


class NoTrustError(KstoreError):
    """A signature is wanted, and nothing says whose: no policy is pinned, or there is none."""

    exit_code = 12


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong with one document.

    Attributes:
        message: What was expected and what was found, without the place.
        path: The place inside the document; empty for the document as a whole.
        source: The file's name as the caller gave it, or empty.
        line: The line in that file, counted from 1, where a parser knows it.
        column: The column in that line, counted from 1 in characters.
    """

    message: str
    path: Path = ()
    source: str = ""
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        """Give `FILE:LINE:COLUMN: path: message`, leaving out what is not known."""
        place = ":".join(str(part) for part in (self.source or None, self.line, self.column) if part is not None)
        return ": ".join(part for part in (place, dotted(self.path), self.message) if part)


class InvalidDocumentError(KstoreError):
    """One or more documents cannot be accepted; `faults` has every reason that was found."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = faults


def dotted(path: Path) -> str:
    """Write a path the way messages show it: `spec.inputs.0.name`."""
    return ".".join(str(step) for step in path)
