"""Reads the documents of a file."""

from __future__ import annotations

from typing import Any

import msgspec

from kstore.errors import Fault, InvalidDocumentError, Path
from kstore.reading.bundle import find
from kstore.reading.formats import Parsed, parse
from kstore.reading.limits import MAX_BUNDLE_DEPTH, MAX_DOCUMENT_BYTES
from kstore.reading.places import Places, capped

STANDARD_INPUT = "<stdin>"
"""How standard input, `-` on the command line, is called in messages."""


class Document(msgspec.Struct, frozen=True):
    """One document as it was read, before anything is known about its kind.

    Attributes:
        value: A plain JSON value. Its integers are within ±(2^53-1), all other numbers are finite doubles; its strings
            have no half surrogate pairs.
        source: The file's name as the caller gave it, or `<stdin>`.
        path: Where in the file the document stands; empty for a file that is one document.
        places: Where the parts of the file stand, where that can be known.
    """

    value: dict[str, Any]
    source: str
    path: Path = ()
    places: Places | None = None

    def fault(self, path: Path, message: str) -> Fault:
        """Make a fault at a path inside this document, with its line and column.

        The fault's own path begins at the file's root. What the text lacks is located at its nearest parent.
        """
        whole = self.path + path
        if self.places is None:
            return Fault(message, whole, self.source)
        return Fault(message, whole, self.source, *self.places.locate(whole))


class Reading(msgspec.Struct, frozen=True):
    """What a file holds.

    Attributes:
        documents: Its documents, at least one.
        notes: What was skipped or ignored, a sentence each that begins with the file's name.
    """

    documents: tuple[Document, ...]
    notes: tuple[str, ...] = ()


def read_documents(data: bytes, source: str) -> Reading:
    """Read a single document or a bundle, in JSON or YAML.

    Args:
        data: The file's bytes.
        source: Its name, for faults and notes; the ending tells the format, and `-` is standard input.

    Raises:
        InvalidDocumentError: The text cannot be read, has duplicate keys, is over a limit, or holds no document; with
            all faults that can be found.
    """
    source = _named(source)
    parsed = parse(data, source)
    contents = find(parsed.value)
    if not contents.documents:
        raise _no_document(parsed, source)
    documents = tuple(Document(value, source, path, parsed.places) for path, value in contents.documents)
    if len(data) > MAX_DOCUMENT_BYTES:
        _check_sizes(documents, len(data))
    notes = (*_heading(parsed), *contents.others)
    return Reading(documents, tuple(f"{source}: {note}" for note in notes))


def read_document(data: bytes, source: str) -> Document:
    """Read a file that is one single document, of which nothing else is known.

    Args:
        data: The file's bytes.
        source: Its name, as `read_documents` takes it.

    Raises:
        InvalidDocumentError: The text cannot be read, has duplicate keys, is over a limit, or is no object; with all
            faults that can be found.
    """
    source = _named(source)
    parsed = parse(data, source)
    if not isinstance(parsed.value, dict):
        line, column = parsed.places.locate(())
        found = f"expected an object with `apiVersion` and `kind`, found {_kind(parsed.value)}"
        raise InvalidDocumentError((Fault(found, (), source, line, column),))
    document = Document(parsed.value, source, (), parsed.places)
    if len(data) > MAX_DOCUMENT_BYTES:
        _check_sizes((document,), len(data))
    return document


def _check_sizes(documents: tuple[Document, ...], size: int) -> None:
    """Refuse documents of over 1 MiB: by their text in a file of their own, by their compact JSON in a bundle."""
    faults: list[Fault] = []
    for document in documents:
        own = len(msgspec.json.encode(document.value)) if document.path else size
        if own > MAX_DOCUMENT_BYTES:
            message = f"expected a document of at most {MAX_DOCUMENT_BYTES:,} bytes, found {own:,}"
            faults.append(document.fault((), message))
    if faults:
        raise InvalidDocumentError(capped(faults))


def _no_document(parsed: Parsed, source: str) -> InvalidDocumentError:
    expected = (
        "expected a document, an object with `apiVersion` and `kind`, or an object or array that holds documents "
        f"at most {MAX_BUNDLE_DEPTH} levels deep"
    )
    line, column = parsed.places.locate(())
    return InvalidDocumentError((Fault(f"{expected}; found {_kind(parsed.value)}", (), source, line, column),))


def _heading(parsed: Parsed) -> list[str]:
    if not parsed.heading:
        return []
    lines = "line" if parsed.heading == 1 else "lines"
    return [f"a heading of {parsed.heading} {lines} above the document was skipped"]


def _kind(value: Any) -> str:
    """Name what a value is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return f"an object with the fields {', '.join(map(str, list(value)[:5]))}" if value else "an empty object"
    if isinstance(value, list):
        return "an array without documents" if value else "an empty array"
    return "a string" if isinstance(value, str) else "a number"


def _named(source: str) -> str:
    return STANDARD_INPUT if source == "-" else source
