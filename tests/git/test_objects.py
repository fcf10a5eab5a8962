"""New objects wait in a folder of their own, loose or as a pack, and are all there or leave no trace."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from dulwich.objects import Blob

from kstore.git.objects import LOOSE_MOST, Quarantine
from kstore.git.packed import BLOB, PackedObject, packed_object
from tests.registries import git, snapshot

if TYPE_CHECKING:
    from pathlib import Path


def blobs(count: int, text: bytes = b"") -> list[PackedObject]:
    return [packed_object(BLOB, b"%b%d" % (text, number)) for number in range(count)]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "repository")
    return tmp_path / "repository"


def counted(repository: Path) -> tuple[int, int]:
    """Count loose objects, and packs."""
    lines = dict(line.split(": ") for line in git(repository, "count-objects", "-v").splitlines())
    assert lines["garbage"] == "0"
    return int(lines["count"]), int(lines["packs"])


def has(repository: Path, items: list[PackedObject]) -> bool:
    names = "".join(f"{item.oid.hex()}\n" for item in items)
    listed = git(repository, "cat-file", "--batch-check", stdin=names.encode())
    return listed.count(" blob ") == len(items)


@pytest.mark.parametrize("count", [0, 1, LOOSE_MOST, LOOSE_MOST + 1, 1000])
def test_few_objects_are_files_and_many_are_one_pack(count: int, repository: Path) -> None:
    items = blobs(count)
    with Quarantine(repository / "objects") as objects:
        for item in (*items, *items):
            objects.put(item)
        objects.seal()
        objects.release()
    assert counted(repository) == ((0, 1) if count > LOOSE_MOST else (count, 0))
    assert has(repository, items)
    assert "error" not in git(repository, "fsck", "--full", "--strict")
    files = [path for path in (repository / "objects").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} <= {0o444}
    assert not list((repository / "objects").glob("tmp_*"))


@pytest.mark.parametrize("count", [1, LOOSE_MOST + 1])
@pytest.mark.parametrize("sealed", [False, True])
@pytest.mark.parametrize("failing", [False, True])
def test_what_is_not_released_leaves_no_trace(count: int, sealed: bool, failing: bool, repository: Path) -> None:
    before = snapshot(repository)
    try:
        with Quarantine(repository / "objects") as objects:
            for item in blobs(count):
                objects.put(item)
            if sealed:
                objects.seal()
            assert snapshot(repository) != before
            if failing:
                raise InterruptedError
    except InterruptedError:
        assert failing
    assert snapshot(repository) == before


@pytest.mark.parametrize("count", [1, LOOSE_MOST + 1])
def test_sealed_objects_can_be_read_before_they_are_released(count: int, repository: Path) -> None:
    items = blobs(count)
    with Quarantine(repository / "objects") as objects:
        for item in items:
            objects.put(item)
        objects.seal()
        command = ["git", "-C", str(repository), "cat-file", "blob", items[-1].oid.hex()]
        assert subprocess.run(command, capture_output=True, check=False).returncode != 0
        borrowing = {**os.environ, "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(objects.folder)}
        done = subprocess.run(command, capture_output=True, check=True, env=borrowing)
        assert done.stdout == b"%d" % (count - 1)


@pytest.mark.parametrize("count", [50, LOOSE_MOST + 1])
def test_what_is_there_already_stays_as_it_is(count: int, repository: Path) -> None:
    for _ in range(2):
        with Quarantine(repository / "objects") as objects:
            for item in blobs(count):
                objects.put(item)
            objects.seal()
            objects.release()
    assert counted(repository) == ((0, 1) if count > LOOSE_MOST else (count, 0))


def test_the_folder_of_packs_is_made_where_it_is_missing(repository: Path) -> None:
    for folder in ("pack", "info"):
        (repository / "objects" / folder).rmdir()
    with Quarantine(repository / "objects") as objects:
        for item in blobs(LOOSE_MOST + 1):
            objects.put(item)
        objects.seal()
        objects.release()
    assert has(repository, blobs(LOOSE_MOST + 1))


@pytest.mark.parametrize("before", [0, LOOSE_MOST + 1])
def test_objects_that_dulwich_made(before: int, repository: Path) -> None:
    made = Blob.from_string(b"made by dulwich")
    with Quarantine(repository / "objects") as objects:
        for item in blobs(before):
            objects.put(item)
        objects.write([made])
        objects.seal()
        objects.release()
    assert git(repository, "cat-file", "blob", made.id.decode()) == "made by dulwich"
