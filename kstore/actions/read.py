"""Read files into records: every document of every file, checked, with all that is wrong about any of them."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from kstore.errors import Fault, InvalidDocumentError, KstoreError
from kstore.reading import Document, Reading, read_documents, read_file, read_value
from kstore.schema import Record, SchemaError, check

if TYPE_CHECKING:
    from collections.abc import Iterable

Source: TypeAlias = "str | os.PathLike[str] | dict[str, Any] | list[Any]"
"""Where documents come from: a file's path, `-` for standard input, or a document or bundle as a Python value."""


class Read(msgspec.Struct, frozen=True):
    """A document and the record that it is."""

    document: Document
    record: Record


class Outcome(msgspec.Struct, frozen=True):
    """What one document came to: its record, or what is wrong with it.

    Attributes:
        source: The file that it stands in.
        read: The document and its record, when it is valid.
        faults: Every reason why it is not.
        kind: What the document says that it is, and
        name: what it is called, as far as that can be known of an invalid one.
    """

    source: str
    read: Read | None
    faults: tuple[Fault, ...] = ()
    kind: str | None = None
    name: str | None = None


class Examined(msgspec.Struct, frozen=True):
    """What some files came to, document by document, and what was noticed on the way."""

    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]


def examine(sources: Iterable[Source]) -> Examined:
    """Read files and check every document in them, going on after a bad one.

    Args:
        sources: Paths, or Python values; in messages the latter are `<value 1>` and so on, by their place in the call.
    """
    outcomes: list[Outcome] = []
    notes: list[str] = []
    for number, source in enumerate(sources, 1):
        name = os.fspath(source) if isinstance(source, str | os.PathLike) else f"<value {number}>"
        try:
            reading = _reading(source, name)
        except InvalidDocumentError as error:
            outcomes.append(Outcome(name, None, error.faults))
            continue
        except KstoreError as error:
            outcomes.append(Outcome(name, None, (Fault(str(error)),)))
            continue
        notes.extend(reading.notes)
        outcomes.extend(_outcome(document) for document in reading.documents)
    return Examined(tuple(outcomes), tuple(notes))


def judge(sources: Iterable[Source]) -> Examined:
    """Read files as `examine` does, and give the format's own verdict on each.

    An array of one document is a bundle, which can be added; the format's conformance cases say that it is no document.
    """
    examined = examine(sources)
    documents = Counter(outcome.source for outcome in examined.outcomes)
    outcomes = (_no_document(outcome) if documents[outcome.source] == 1 else outcome for outcome in examined.outcomes)
    return Examined(tuple(outcomes), examined.notes)


def _no_document(outcome: Outcome) -> Outcome:
    """Refuse a document that is alone in an array, and let any other outcome be."""
    if outcome.read is None or outcome.read.document.path != (0,):
        return outcome
    document = outcome.read.document
    message = "expected a document, found an array with one in it; give the document itself"
    fault = msgspec.structs.replace(document.fault((), message), path=())
    return Outcome(outcome.source, None, (fault,), outcome.kind, outcome.name)


def read(sources: Iterable[Source]) -> tuple[list[Read], tuple[str, ...]]:
    """Read files that must all be sound: the documents with their records, and notes.

    Raises:
        InvalidDocumentError: Some document is not valid; it has every fault of every file.
    """
    examined = examine(sources)
    faults = tuple(fault for outcome in examined.outcomes for fault in outcome.faults)
    if faults:
        raise InvalidDocumentError(faults)
    return [outcome.read for outcome in examined.outcomes if outcome.read is not None], examined.notes


def _reading(source: Source, name: str) -> Reading:
    if isinstance(source, str | os.PathLike):
        return read_documents(read_file(name), name)
    return read_value(source, name)


def _outcome(document: Document) -> Outcome:
    try:
        record = check(document.value)
    except SchemaError as error:
        faults = tuple(document.fault(path, message) for path, message in error.problems)
        kind, name = _claimed(document.value)
        return Outcome(document.source, None, faults, kind, name)
    return Outcome(document.source, Read(document, record), (), record.kind, record.name)


def _claimed(value: object) -> tuple[str | None, str | None]:
    """Tell the kind and the name that an invalid document gives itself."""
    kind = name = None
    if isinstance(value, dict):
        kind, metadata = value.get("kind"), value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
    return (kind if isinstance(kind, str) else None), (name if isinstance(name, str) else None)
