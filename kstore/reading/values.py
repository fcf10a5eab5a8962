"""Reads documents that are Python values already, as a program or a notebook makes them."""

from __future__ import annotations

from typing import Any

import msgspec

from kstore.canonical import CanonicalError, canonical
from kstore.errors import Fault, InvalidDocumentError
from kstore.reading.documents import Reading, read_documents


def read_value(value: dict[str, Any] | list[Any], source: str) -> Reading:
    """Read a document or a bundle under the same rules and limits as a file.

    The value is spelled as JSON and read back, so that the documents share nothing with it: what the caller does to it
    later does not reach them.

    Args:
        value: Dicts with string keys, lists, tuples, strings, numbers and booleans.
        source: What faults and notes call it. There are no lines or columns in it.

    Raises:
        InvalidDocumentError: It holds what is no JSON, is over a limit, or holds no document.
    """
    try:
        reading = read_documents(canonical(value), source)
    except CanonicalError as error:
        raise InvalidDocumentError((Fault(error.message, error.path, source),)) from error
    except InvalidDocumentError as error:
        replace = msgspec.structs.replace
        raise InvalidDocumentError(tuple(replace(fault, line=None, column=None) for fault in error.faults)) from None
    return Reading(
        tuple(msgspec.structs.replace(document, places=None) for document in reading.documents), reading.notes
    )
