from __future__ import annotations

import gzip

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kstore.errors import InvalidDocumentError
from kstore.reading.limits import MAX_FILE_BYTES
from kstore.reading.text import decode

DOCUMENT = '{"kind": "é"}'


def refused(data: bytes) -> str:
    with pytest.raises(InvalidDocumentError) as caught:
        decode(data, "f")
    assert len(caught.value.faults) == 1
    return str(caught.value)


def test_a_byte_order_mark_is_skipped_once() -> None:
    assert decode(b"\xef\xbb\xbf" + DOCUMENT.encode(), "f") == DOCUMENT
    assert decode(b"\xef\xbb\xbf" * 2 + DOCUMENT.encode(), "f") == "\ufeff" + DOCUMENT


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff"), min_size=1))
def test_utf_8_is_text_as_it_is(text: str) -> None:
    if text.isspace() or text.startswith(("BZh", "PK\x03\x04")):
        return
    assert decode(text.encode(), "f") == text


@pytest.mark.parametrize("data", [b"", b" ", b"\n\t\r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf \n"])
def test_an_empty_file_is_named_so(data: bytes) -> None:
    assert refused(data) == "f: expected a document, found an empty file"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (zstandard.compress(DOCUMENT.encode()), "Zstandard data"),
        (gzip.compress(DOCUMENT.encode(), mtime=0), "gzip data"),
        (b"PK\x03\x04rest", "a zip archive"),
        (DOCUMENT.encode("utf-16"), "UTF-16 text"),
        (DOCUMENT.encode("utf-32"), "UTF-32 text"),
        (DOCUMENT.encode("utf-16-le"), "NUL bytes, as UTF-16"),
        (DOCUMENT.encode("utf-32-be"), "NUL bytes, as UTF-16 or UTF-32"),
        (b"\x7fELF\x02\x01\x01\x03 some program \0", "a NUL byte"),
        (b"\0" * 1000, "a NUL byte"),
    ],
)
def test_what_is_no_text_is_called_by_its_name(data: bytes, words: str) -> None:
    assert words in refused(data)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b'{"a":\n "\xff"}', "f:2:3: expected UTF-8 text, found the byte 0xff"),
        ('{"é":\n "é'.encode() + b'\xed\xa0\x80"}', "f:2:4: expected UTF-8 text, found the byte 0xed"),
        (b"a: \xc0\xaf", "f:1:4: expected UTF-8 text, found the byte 0xc0"),
        (b"\xef\xbb\xbfa: \xe9", "f:1:4: expected UTF-8 text, found the byte 0xe9"),
    ],
)
def test_what_is_no_utf_8_is_located(data: bytes, place: str) -> None:
    assert refused(data).startswith(place)


def test_a_file_over_the_limit_is_refused_and_one_at_the_limit_is_not() -> None:
    assert f"found {MAX_FILE_BYTES + 1:,}" in refused(b"a" * (MAX_FILE_BYTES + 1))
    assert len(decode(b"a" * MAX_FILE_BYTES, "f")) == MAX_FILE_BYTES
