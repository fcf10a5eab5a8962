"""Folders of a working tree are entered step by step, or at once where a scan has met them, and never through links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.git.files import Entry
from kstore.git.folder import FolderFiles

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A working tree with two folders in a folder; and beside it a folder that is none of it."""
    for path in ("tree/store/ab/one/1.json", "tree/store/ab/two/2.json", "outside/secret.json"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    return tmp_path / "tree"


def test_a_folder_that_was_met_has_what_a_scan_of_it_gives(tree: Path) -> None:
    files = FolderFiles(tree)
    met = list(files.scan("store/ab"))
    assert met == [Entry("store/ab/one", "folder"), Entry("store/ab/two", "folder")]
    assert [list(files.enter(each)) for each in met] == [list(files.scan(each.path)) for each in met]
    assert list(files.enter(met[0])) == [Entry("store/ab/one/1.json", "file")]


def test_a_folder_that_a_link_has_replaced_since_is_not_entered(tree: Path) -> None:
    files = FolderFiles(tree)
    met = next(iter(files.scan("store/ab")))
    (tree / "store/ab/one/1.json").unlink()
    (tree / "store/ab/one").rmdir()
    (tree / "store/ab/one").symlink_to(tree.parent / "outside", target_is_directory=True)
    [entry] = files.enter(met)
    assert (entry.path, entry.type) == ("store/ab/one", "unreadable")
    assert "expected a folder at 'one'" in entry.reason


def test_a_folder_that_is_gone_by_then_has_nothing(tree: Path) -> None:
    files = FolderFiles(tree)
    met = next(iter(files.scan("store/ab")))
    (tree / "store/ab/one/1.json").unlink()
    (tree / "store/ab/one").rmdir()
    assert list(files.enter(met)) == []
