"""What differs from HEAD is what git says that differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.git.files import UnreadableError
from kstore.git.folder import FolderFiles
from kstore.git.place import place_at
from kstore.git.snapshot import head_files
from kstore.git.uncommitted import Differing, blob_id, differing
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.git.tree import TreeFiles


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    path = tmp_path / "a" / "b"
    path.mkdir(parents=True)
    for name in ("one", "two", "thr\xe9e"):
        (path / name).write_text(name)
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "-q", "-m", "First")
    return path


def committed(folder: Path) -> TreeFiles:
    place = place_at(folder.parents[1])
    assert place is not None
    return head_files(place)


def found(folder: Path) -> list[Differing]:
    files = FolderFiles(folder.parents[1])
    return list(differing(committed(folder), files, "a/b", files.scan("a/b"), {}))


def test_a_blob_has_the_id_that_git_gives_it(folder: Path) -> None:
    for data in (b"", b"x", b"\0" * 5000):
        assert blob_id(data).hex() == git(folder, "hash-object", "--stdin", stdin=data)


def test_nothing_differs(folder: Path) -> None:
    assert found(folder) == []
    (folder / "one").chmod(0o755)
    assert found(folder) == []


def test_what_differs_is_named(folder: Path) -> None:
    old = {name: blob_id(name.encode()) for name in ("one", "two")}
    (folder / "one").write_text("other")
    (folder / "two").unlink()
    (folder / "new").write_text("new")
    assert sorted(found(folder), key=lambda each: each.path) == [
        Differing("a/b/new", blob_id(b"new"), None),
        Differing("a/b/one", blob_id(b"other"), old["one"]),
        Differing("a/b/two", None, old["two"]),
    ]


def test_what_is_no_file_is_not_read(folder: Path) -> None:
    (folder / "one").unlink()
    (folder / "one").symlink_to("two")
    assert found(folder) == []


def test_a_file_whose_blob_is_known_is_not_read_again(folder: Path) -> None:
    files = FolderFiles(folder.parents[1])
    entries = list(files.scan("a/b"))
    (folder / "one").unlink()
    blobs = {"a/b/one": blob_id(b"one"), "a/b/two": blob_id(b"other")}
    assert list(differing(committed(folder), files, "a/b", entries, blobs)) == [
        Differing("a/b/two", blob_id(b"other"), blob_id(b"two"))
    ]


def test_a_folder_that_is_gone(folder: Path) -> None:
    folder.rename(folder.with_name("c"))
    assert {each.here for each in found(folder)} == {None}
    assert len(found(folder)) == 3


def test_a_tree_that_git_lost_is_an_error(folder: Path) -> None:
    oid = git(folder, "rev-parse", "HEAD:a/b")
    (folder.parents[1] / ".git/objects" / oid[:2] / oid[2:]).unlink()
    with pytest.raises(UnreadableError, match="missing"):
        found(folder)
