"""Objects in the form of a pack are what git reads, of every size and kind."""

from __future__ import annotations

import hashlib
import zlib

import pytest
from dulwich.objects import ShaFile
from hypothesis import given
from hypothesis import strategies as st

from kstore.git.packed import BLOB, COMMIT, TREE, loose, packed_object

NAMES = {COMMIT: b"commit", TREE: b"tree", BLOB: b"blob"}
SIZES = [0, 1, 15, 16, 17, 2**11 - 1, 2**11, 2**18 - 1, 2**18, 2**18 + 1]
"""The size's 4 bits in the first octet, and the 7 in each further one, are full just before these."""


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("size", SIZES)
def test_an_entry_says_kind_and_size_and_holds_the_content(kind: int, size: int) -> None:
    data = hashlib.shake_128(b"%d" % size).digest(size)
    item = packed_object(kind, data)
    whole = b"%b %d\0%b" % (NAMES[kind], size, data)
    assert item.oid == hashlib.sha1(whole, usedforsecurity=False).digest()
    assert item.crc == zlib.crc32(item.entry)
    assert zlib.decompress(loose(item)) == whole


@given(st.sampled_from(sorted(NAMES)), st.binary(max_size=3000))
def test_any_content_survives(kind: int, data: bytes) -> None:
    item = packed_object(kind, data)
    assert zlib.decompress(loose(item)) == b"%b %d\0%b" % (NAMES[kind], len(data), data)
    assert item == packed_object(kind, data)
    assert ShaFile.from_raw_string(BLOB, data).sha().digest() == packed_object(BLOB, data).oid
