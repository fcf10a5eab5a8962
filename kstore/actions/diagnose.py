"""Recognise what tools and people do to canonical files, so that a message can name it."""

from __future__ import annotations

import msgspec

from kstore.canonical import canonical
from kstore.digest import Digest

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def diagnose(digest: Digest, data: bytes) -> str | None:
    """Say what happened to a file, as a clause about `it`.

    Args:
        digest: What its bytes should hash to.
        data: Its bytes, which hash to something else.

    Returns:
        The clause, or None where the bytes do not even say what they might have been.
    """
    if Digest.of(data.rstrip(b"\r\n")) == digest:
        end = " (CRLF)" if data.endswith(b"\r\n") else ""
        return f"a newline was added at its end{end}, as editors and end-of-file fixers do"
    if Digest.of(data.removeprefix(_BYTE_ORDER_MARK).rstrip(b"\r\n")) == digest:
        return "a byte-order mark was put at its start, as some editors do"
    try:
        value = msgspec.json.decode(data.removeprefix(_BYTE_ORDER_MARK))
        if Digest.of(canonical(value)) == digest:
            lines = " and has CRLF line ends" if b"\r\n" in data else ""
            return f"it was formatted{lines}, and says the same; keep formatters out of store/"
        if isinstance(value, dict) and Digest.of(canonical(_without_metadata(value))) == digest:
            return "it is a whole document, while an object is one without its metadata, in canonical form"
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    return "it says something else now"


def _without_metadata(document: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in document.items() if key != "metadata"}
