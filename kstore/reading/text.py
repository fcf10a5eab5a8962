"""Turns the bytes of a file into text."""

from __future__ import annotations

import codecs

from kstore.errors import Fault, InvalidDocumentError
from kstore.reading.limits import MAX_FILE_BYTES
from kstore.reading.places import Lines

_NO_TEXT = (
    (b"\x28\xb5\x2f\xfd", "Zstandard data; decompress it first (zstd -d)"),
    (b"\x1f\x8b", "gzip data; decompress it first (gzip -d)"),
    (b"BZh", "bzip2 data; decompress it first (bzip2 -d)"),
    (b"\xfd7zXZ\x00", "xz data; decompress it first (xz -d)"),
    (b"PK\x03\x04", "a zip archive; extract it first"),
    (codecs.BOM_UTF32_LE, "UTF-32 text; save it as UTF-8"),
    (codecs.BOM_UTF32_BE, "UTF-32 text; save it as UTF-8"),
    (codecs.BOM_UTF16_LE, "UTF-16 text; save it as UTF-8"),
    (codecs.BOM_UTF16_BE, "UTF-16 text; save it as UTF-8"),
)
_SAMPLE = 64


def decode(data: bytes, source: str) -> str:
    """Decode UTF-8 without its byte-order mark.

    Args:
        data: A file's bytes.
        source: The file's name, for faults.

    Raises:
        InvalidDocumentError: The file is empty or too large, or is no UTF-8 text.
    """
    if len(data) > MAX_FILE_BYTES:
        raise _refused(f"expected at most {MAX_FILE_BYTES:,} bytes, found {len(data):,}", source)
    for magic, what in _NO_TEXT:
        if data.startswith(magic):
            raise _refused(f"expected JSON or YAML text, found {what}", source)
    data = data.removeprefix(codecs.BOM_UTF8)
    if b"\0" in data:
        raise _refused(_binary(data), source, data, data.index(b"\0"))
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        found = f"expected UTF-8 text, found the byte 0x{data[error.start]:02x} ({error.reason})"
        raise _refused(f"{found}; save the file as UTF-8", source, data, error.start) from None
    if not text or text.isspace():
        raise _refused("expected a document, found an empty file", source)
    return text


def _binary(data: bytes) -> str:
    """Say what bytes with NULs among them most likely are."""
    sample = data[:_SAMPLE]
    if sample.count(b"\0") * 3 > len(sample) and any(sample):
        return "expected UTF-8 text, found NUL bytes, as UTF-16 or UTF-32 text has them; save the file as UTF-8"
    return "expected JSON or YAML text, found a NUL byte; this is a binary file or damaged"


def _refused(message: str, source: str, data: bytes = b"", offset: int | None = None) -> InvalidDocumentError:
    """Make the one fault of a file, at an offset in bytes where there is one."""
    if offset is None:
        return InvalidDocumentError((Fault(message, source=source),))
    before = data[:offset].decode(errors="replace")
    line, column = Lines(before).at(len(before))
    return InvalidDocumentError((Fault(message, source=source, line=line, column=column),))
