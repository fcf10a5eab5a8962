"""Objects are read whole and checked, and never unpacked beyond what the caller allows."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kstore.git.files import UnreadableError
from kstore.git.pack_table import PackTable
from kstore.git.raw import BLOB, MAX_TREE, DamagedObjectError, HugeObjectError, MissingObjectError, RawObjects
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path


def blobs(repository: Path, *contents: bytes) -> list[bytes]:
    git(repository, "init", "--quiet")
    found = [git(repository, "hash-object", "-w", "--stdin", stdin=content) for content in contents]
    return [bytes.fromhex(oid) for oid in found]


def similar(count: int) -> list[bytes]:
    """Make texts that git keeps as changes of each other."""
    source = random.Random(0)
    base = source.randbytes(20_000)
    return [base[:at] + source.randbytes(40) + base[at:] for at in range(0, 400 * count, 400)]


def pack(repository: Path, oids: list[bytes], *options: str) -> None:
    """Put objects into a pack and remove their own files."""
    names = "".join(f"{oid.hex()}\n" for oid in oids).encode()
    folder = repository / ".git/objects"
    git(repository, "pack-objects", "--quiet", "--depth=50", *options, ".git/objects/pack/pack", stdin=names)
    for oid in oids:
        (folder / oid.hex()[:2] / oid.hex()[2:]).unlink()


OPTIONS = [[], ["--delta-base-offset"], ["--index-version=1"], ["--delta-base-offset", "--index-version=2,0x40"]]


@pytest.mark.parametrize("options", [None, *OPTIONS], ids=str)
def test_objects_are_read_loose_and_packed(options: list[str] | None, tmp_path: Path) -> None:
    contents = [b"", b"x", *similar(60)]
    oids = blobs(tmp_path, *contents)
    if options is not None:
        pack(tmp_path, oids, *options)
    objects = RawObjects(tmp_path / ".git/objects")
    for _ in range(2):
        assert [objects.read(oid, 100_000) for oid in oids] == [(BLOB, content) for content in contents]
    with pytest.raises(MissingObjectError):
        objects.read(bytes(20), 1)
    for oid, content in zip(oids, contents, strict=True):
        if content:
            with pytest.raises(HugeObjectError, match=f"found {len(content):,}"):
                objects.read(oid, len(content) - 1)
        assert objects.read(oid, len(content))[1] == content
    objects.close()
    assert objects.read(oids[1], 1) == (BLOB, b"x")
    objects.close()


def test_packs_that_come_later_and_alternates_are_found(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (first,) = blobs(tmp_path / "one", b"first")
    objects = RawObjects(tmp_path / "one/.git/objects")
    assert objects.read(first, 9)[1] == b"first"
    (second,) = blobs(tmp_path / "one", b"second")
    pack(tmp_path / "one", [second])
    assert objects.read(second, 9)[1] == b"second"
    git(tmp_path, "clone", "--quiet", "--shared", "one", "two")
    borrowing = RawObjects(tmp_path / "two/.git/objects")
    assert borrowing.read(second, 9)[1] == b"second"
    alternates = tmp_path / "one/.git/objects/info/alternates"
    alternates.write_bytes(b"# a comment\n../../../two/.git/objects\n")
    with pytest.raises(MissingObjectError):
        borrowing.read(bytes(20), 9)
    borrowing.close()
    objects.close()


def test_every_offset_of_a_table_is_found(tmp_path: Path) -> None:
    oids = blobs(tmp_path, b"0")
    more = "".join(f"blob\ndata {len(str(n))}\n{n}\n" for n in range(30_000)).encode()
    git(tmp_path, "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", stdin=more)
    (path,) = (tmp_path / ".git/objects/pack").glob("*.idx")
    table = PackTable(path)
    for number in range(30_000):
        data = str(number).encode()
        oid = hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).digest()
        assert table.find(oid) is not None
        assert table.find(oid[:-1] + bytes([oid[-1] ^ 1])) is None
    assert table.find(bytes(20)) is table.find(b"\xff" * 20) is None
    assert oids
    table.close()


def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    folder = tmp_path / ".git/objects"
    oid = bytes.fromhex("ab" * 20)
    data = b"blob 1000000000000\0" + bytes(10_000_000)
    (folder / "ab").mkdir()
    (folder / "ab" / ("ab" * 19)).write_bytes(zlib.compress(data))
    with pytest.raises(HugeObjectError):
        RawObjects(folder).read(oid, 2**20)
    for size in (b"5", b"1048576"):
        (folder / "ab" / ("ab" * 19)).write_bytes(zlib.compress(b"blob " + size + b"\0" + bytes(50_000_000)))
        with pytest.raises(DamagedObjectError):
            RawObjects(folder).read(oid, 2**20)


def _pack_file(*entries: bytes) -> tuple[bytes, list[int]]:
    data, offsets = b"PACK" + (2).to_bytes(4) + len(entries).to_bytes(4), []
    for entry in entries:
        offsets.append(len(data))
        data += entry
    return data + hashlib.sha1(data, usedforsecurity=False).digest(), offsets


def _head(kind: int, size: int) -> bytes:
    head = [kind << 4 | size & 15]
    size >>= 4
    while size:
        head[-1] |= 0x80
        head.append(size & 0x7F)
        size >>= 7
    return bytes(head)


def _number(value: int) -> bytes:
    out = []
    while True:
        out.append(value & 0x7F | (0x80 if value > 0x7F else 0))
        value >>= 7
        if not value:
            return bytes(out)


def _write_pack(folder: Path, oids: list[bytes], *entries: bytes) -> None:
    data, offsets = _pack_file(*entries)
    rows = sorted(zip(oids, offsets, strict=True))
    ends = [sum(oid[0] <= first for oid, _ in rows) for first in range(256)]
    index = b"\xfftOc" + (2).to_bytes(4) + b"".join(end.to_bytes(4) for end in ends)
    index += b"".join(oid for oid, _ in rows) + bytes(4 * len(rows))
    index += b"".join(offset.to_bytes(4) for _, offset in rows) + data[-20:]
    index += hashlib.sha1(index, usedforsecurity=False).digest()
    (folder / "pack").mkdir(parents=True, exist_ok=True)
    (folder / "pack/pack-1.pack").write_bytes(data)
    (folder / "pack/pack-1.idx").write_bytes(index)


A, B = b"\xaa" * 20, b"\xbb" * 20
_COPY_64K = b"\x80"

PACKS = {
    "a size that lies": [_head(3, 10) + zlib.compress(bytes(50_000_000)), _head(3, 1) + zlib.compress(b"x")],
    "a huge size": [_head(3, 10**12) + zlib.compress(b"x"), _head(3, 1) + zlib.compress(b"x")],
    "a delta of itself": [_head(7, 3) + A + zlib.compress(b"abc"), _head(3, 1) + zlib.compress(b"x")],
    "a delta in a circle": [_head(7, 3) + B + zlib.compress(b"abc"), _head(7, 3) + A + zlib.compress(b"abc")],
    "a delta of nothing": [_head(7, 3) + bytes(20) + zlib.compress(b"abc"), _head(3, 1) + zlib.compress(b"x")],
    "a delta at no distance": [_head(6, 3) + b"\0" + zlib.compress(b"abc"), _head(3, 1) + zlib.compress(b"x")],
    "a delta from before the pack": [_head(6, 3) + b"\x7f" + zlib.compress(b"abc"), _head(3, 1) + zlib.compress(b"x")],
    "a distance without end": [_head(6, 3) + b"\xff" * 50, _head(3, 1) + zlib.compress(b"x")],
    "a size without end": [b"\xbf" + b"\xff" * 50, _head(3, 1) + zlib.compress(b"x")],
    "a type that is none": [_head(5, 1) + zlib.compress(b"x"), _head(0, 1) + zlib.compress(b"x")],
    "no zlib": [_head(3, 1) + b"xxxx", _head(3, 1) + zlib.compress(b"x")],
    "a result that is huge": [
        _head(7, 7) + B + zlib.compress(_number(1) + _number(2**40)),
        _head(3, 1) + zlib.compress(b"x"),
    ],
    "a result that lies": [
        _head(7, 10_003) + B + zlib.compress(_number(65_536) + _number(10) + _COPY_64K * 9_999),
        _head(3, 65_536) + zlib.compress(bytes(65_536)),
    ],
}


@pytest.mark.parametrize("name", PACKS)
def test_packs_that_lie_are_refused(name: str, tmp_path: Path) -> None:
    _write_pack(tmp_path, [A, B], *PACKS[name])
    objects = RawObjects(tmp_path)
    for oid in (A, B):
        with pytest.raises((DamagedObjectError, HugeObjectError)):
            objects.read(oid, 2**20)
    objects.close()


def test_tables_that_lie_are_refused(tmp_path: Path) -> None:
    _write_pack(tmp_path, [A, B], *PACKS["no zlib"])
    index = tmp_path / "pack/pack-1.idx"
    data = index.read_bytes()
    for wrong in (
        b"",
        data[:100],
        data[:-60],
        data[:8] + b"\xff" * 1024 + data[1032:],
        data[:8] + data[12:1032] + bytes(9),
    ):
        index.write_bytes(wrong)
        with pytest.raises(DamagedObjectError, match=r"pack-1\.idx cannot be read"):
            RawObjects(tmp_path).read(A, 9)
    index.write_bytes(data)
    (tmp_path / "pack/pack-1.pack").unlink()
    with pytest.raises(DamagedObjectError, match="cannot be read"):
        RawObjects(tmp_path).read(A, 9)


@pytest.mark.parametrize("packed", [False, True])
def test_no_flipped_byte_passes(packed: bool, tmp_path: Path) -> None:
    contents = [b"some content", *similar(12)]
    oids = blobs(tmp_path, *contents)
    if packed:
        pack(tmp_path, oids, "--delta-base-offset")
    folder = tmp_path / ".git/objects"
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix not in {".rev", ".bitmap"}]
    source = random.Random(1)
    for _ in range(300):
        path = source.choice(files)
        data = path.read_bytes()
        at = source.randrange(len(data))
        path.chmod(0o644)
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :])
        objects = RawObjects(folder)
        for oid, content in zip(oids, contents, strict=True):
            # What is read is what was written, or nothing is.
            with contextlib.suppress(UnreadableError):
                assert objects.read(oid, MAX_TREE) == (BLOB, content)
        objects.close()
        path.write_bytes(data)


@given(data=st.binary(max_size=200), at=st.integers(0, 1200))
@settings(max_examples=60, deadline=None)
def test_no_table_of_contents_makes_it_fail_otherwise(
    data: bytes, at: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("objects")
    _write_pack(folder, [A, B], *PACKS["no zlib"])
    index = folder / "pack/pack-1.idx"
    whole = index.read_bytes()
    index.write_bytes(whole[:at] + data + whole[at + len(data) :])
    objects = RawObjects(folder)
    for oid in (A, B, bytes(20)):
        with pytest.raises(UnreadableError):
            objects.read(oid, 9)
    objects.close()
    shutil.rmtree(folder)


def test_what_is_no_file_is_damage(tmp_path: Path) -> None:
    (tmp_path / "aa" / ("aa" * 19)).mkdir(parents=True)
    with pytest.raises(DamagedObjectError):
        RawObjects(tmp_path).read(A, 9)
    os.mkfifo(tmp_path / "bb-fifo")
    (tmp_path / "bb").mkdir()
    os.mkfifo(tmp_path / "bb" / ("bb" * 19))
    with pytest.raises(DamagedObjectError):
        RawObjects(tmp_path).read(B, 9)
