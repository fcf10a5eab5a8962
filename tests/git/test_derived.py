"""Derived files are replaced as a whole, and where nothing can be written nothing happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.git.derived import keep, keep_sealed, recall_sealed

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


def test_what_is_sealed_comes_back_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "sealed"
    assert recall_sealed(file, b"1") is None
    keep_sealed(file, b"data", b"1")
    assert recall_sealed(file, b"1") == b"data"
    assert recall_sealed(file, b"2") is None
    kept = file.read_bytes()
    for at in range(len(kept)):
        file.write_bytes(kept[:at] + bytes((kept[at] ^ 1,)) + kept[at + 1 :])
        assert recall_sealed(file, b"1") is None
        file.write_bytes(kept[:at])
        assert recall_sealed(file, b"1") is None
