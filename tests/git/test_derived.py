"""Derived files are replaced as a whole, and where nothing can be written nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.git.derived import keep

if TYPE_CHECKING:
    from pathlib import Path


def test_it_makes_folders_and_leaves_nothing_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b"
    for data in (b"one", b"two"):
        keep(file, data)
        assert file.read_bytes() == data
    assert list(file.parent.iterdir()) == [file]


def test_where_nothing_can_be_written_nothing_happens(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("a file")
    keep(tmp_path / "a" / "b", b"data")
    assert (tmp_path / "a").read_text() == "a file"
