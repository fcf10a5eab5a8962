"""What is written durably is there, read-only, and never takes another file's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.git.durable import sync_folder, write_synced

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_is_written_whole_and_read_only(tmp_path: Path) -> None:
    path = tmp_path / "file"
    data = bytes(range(256)) * 1000
    write_synced(path, data)
    assert path.read_bytes() == data
    assert path.stat().st_mode & 0o777 & 0o222 == 0
    sync_folder(tmp_path)


def test_a_file_that_is_there_stays(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(FileExistsError):
        write_synced(path, b"after")
    assert path.read_bytes() == b"before"


def test_only_folders_are_synced(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError):
        sync_folder(tmp_path / "file")
    with pytest.raises(FileNotFoundError):
        sync_folder(tmp_path / "nothing")
