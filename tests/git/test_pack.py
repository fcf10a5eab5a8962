"""Packs of ours are what git itself makes of the same objects: it reads them, and indexes them byte for byte alike."""

from __future__ import annotations

import hashlib
import io
import shutil
from typing import TYPE_CHECKING

import pytest
from dulwich.pack import write_pack_index_v2

from kstore.git.pack import PackFile, _index
from kstore.git.packed import BLOB, COMMIT, TREE, PackedObject, packed_object
from tests.registries import git

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PERSON = b"A Person <person@example.org> 1700000000 +0000"


def objects(count: int) -> list[PackedObject]:
    """Make blobs of many sizes, a tree of them, and a commit of that."""
    blobs = [packed_object(BLOB, hashlib.shake_128(b"%d" % n).digest(n * n % 5000) + b"x" * n) for n in range(count)]
    entries = b"".join(b"100644 %04d\0%b" % (number, blob.oid) for number, blob in enumerate(blobs))
    tree = packed_object(TREE, entries)
    commit = packed_object(
        COMMIT, b"tree %b\nauthor %b\ncommitter %b\n\nmade\n" % (tree.oid.hex().encode(), PERSON, PERSON)
    )
    return [*blobs, tree, commit]


def packed(folder: Path, items: Sequence[PackedObject]) -> tuple[Path, Path]:
    """Write a pack, and give it and its index."""
    pack = PackFile(folder)
    for item in items:
        pack.put(item)
    pack.finish()
    found = sorted(folder.iterdir(), key=lambda path: path.suffix)
    assert [path.suffix for path in found] == [".idx", ".pack"]
    assert len({path.stem for path in found}) == 1
    return found[1], found[0]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "repository")
    return tmp_path / "repository"


@pytest.mark.parametrize("count", [0, 1, 2, 300, 3000])
def test_git_reads_a_pack_and_makes_the_same_index_of_it(count: int, repository: Path, tmp_path: Path) -> None:
    items = objects(count)
    pack, index = packed(tmp_path / "pack", [*items, *items[:5]])
    git(repository, "verify-pack", str(pack))
    own = tmp_path / "own.idx"
    checksum = git(repository, "index-pack", "--strict", "-o", str(own), str(pack))
    assert own.read_bytes() == index.read_bytes()
    assert pack.stem == f"pack-{checksum}"
    for path in (pack, index):
        shutil.copy2(path, repository / "objects" / "pack")
    git(repository, "update-ref", "HEAD", items[-1].oid.hex())
    assert "error" not in git(repository, "fsck", "--full", "--strict")
    assert git(repository, "cat-file", "--batch-check", "--batch-all-objects").count("\n") + 1 == len(
        {item.oid for item in items}
    )
    assert {path.stat().st_mode & 0o777 for path in (pack, index)} == {0o444}


def test_what_is_not_finished_is_no_pack(tmp_path: Path) -> None:
    pack = PackFile(tmp_path / "pack")
    pack.put(packed_object(BLOB, b"x"))
    pack.close()
    assert [path.name for path in (tmp_path / "pack").iterdir()] == ["tmp_pack"]


OFFSETS = [12, 13, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**40, 2**62]


@pytest.mark.parametrize("offsets", [OFFSETS, OFFSETS[:3], OFFSETS[3:4], [], OFFSETS * 60])
def test_offsets_beyond_two_gibibytes_stand_in_a_table_of_their_own(offsets: list[int], tmp_path: Path) -> None:
    entries = sorted(
        (hashlib.sha1(b"%d" % number, usedforsecurity=False).digest(), offset, number * 0x0101_0101 % 2**32)
        for number, offset in enumerate(offsets)
    )
    checksum = b"c" * 20
    spelled = _index({oid: crc.to_bytes(4) + at.to_bytes(8) for oid, at, crc in reversed(entries)}, checksum)
    expected = io.BytesIO()
    write_pack_index_v2(expected, entries, checksum)
    assert spelled == expected.getvalue()
    listed = git(tmp_path, "show-index", stdin=spelled).splitlines()
    assert listed == [f"{at} {oid.hex()} ({crc:08x})" for oid, at, crc in entries]


def test_the_table_of_first_bytes_counts_the_ids_up_to_each() -> None:
    oids = [bytes((first,)) + b"\0" * 19 for first in (0, 0, 1, 127, 255, 255)]
    oids = sorted(oid[:1] + bytes((number,)) * 19 for number, oid in enumerate(oids))
    spelled = _index(dict.fromkeys(oids, b"\0" * 12), b"c" * 20)
    table = [int.from_bytes(spelled[8 + 4 * first : 12 + 4 * first]) for first in range(256)]
    assert table == [sum(oid[0] <= first for oid in oids) for first in range(256)]
