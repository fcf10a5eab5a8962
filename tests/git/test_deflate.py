"""What the standard library compresses is read, in blocks of any size, and damage never gives too much."""

from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.git.deflate import DeflateError, compress, crc32, decompressobj
from kstore.git.pack_entry import inflate

CONTENTS = st.binary(max_size=3000) | st.builds(
    lambda part, times: part * times, st.binary(max_size=9), st.integers(0, 9000)
)


def blocks(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(CONTENTS, st.integers(0, 9), st.integers(0, 4), st.integers(1, 5000), st.integers(1, 5000))
def test_what_the_standard_library_compressed_is_read_in_blocks(
    data: bytes, level: int, strategy: int, size: int, first: int
) -> None:
    packer = zlib.compressobj(level, strategy=strategy)
    packed = packer.compress(data) + packer.flush()
    unpacker = decompressobj()
    given_blocks = iter(blocks(packed, size))
    head = unpacker.decompress(next(given_blocks), first)
    if len(head) <= len(data):
        assert inflate(unpacker, head, len(data), given_blocks) == data


@given(CONTENTS)
def test_the_standard_library_reads_what_is_compressed(data: bytes) -> None:
    assert zlib.decompress(compress(data)) == data
    assert crc32(data) == zlib.crc32(data)


@given(CONTENTS, st.data())
def test_damage_gives_an_error_or_bytes_of_the_right_number(data: bytes, draw: st.DataObject) -> None:
    packed = bytearray(zlib.compress(data))
    for _ in range(draw.draw(st.integers(1, 3))):
        packed[draw.draw(st.integers(0, len(packed) - 1))] = draw.draw(st.integers(0, 255))
    cut = draw.draw(st.integers(0, len(packed)))
    unpacker = decompressobj()
    try:
        found = inflate(unpacker, b"", len(data), iter(blocks(bytes(packed[:cut]), 700)))
    except (DeflateError, EOFError, ValueError):
        return
    assert len(found) == len(data)


@given(CONTENTS, st.integers(1, 12))
def test_bytes_that_end_too_early_are_no_content(data: bytes, missing: int) -> None:
    packed = zlib.compress(data)
    with pytest.raises((DeflateError, EOFError, ValueError)):
        inflate(decompressobj(), b"", len(data), iter(blocks(packed[: max(0, len(packed) - missing)], 500)))


def test_content_that_is_longer_than_it_should_be_is_not_read_to_its_end() -> None:
    bomb = zlib.compress(bytes(50_000_000))
    taken = iter(blocks(bomb, 4096))
    with pytest.raises(ValueError, match="found more"):
        inflate(decompressobj(), b"", 1000, taken)
    assert sum(map(len, taken)) > len(bomb) // 2
