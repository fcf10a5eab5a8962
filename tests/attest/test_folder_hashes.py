from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.folder_hashes import FolderHashes

if TYPE_CHECKING:
    from pathlib import Path

FILES = {number.to_bytes(20): number.to_bytes(32) for number in range(256)}
KNOWN = {bytes([number]) * 20: bytes([number]) * 40 for number in range(3)}


@given(known=st.dictionaries(st.binary(min_size=20, max_size=20), st.binary(min_size=40, max_size=40)))
def test_what_is_kept_is_recalled(known: dict[bytes, bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("derived")
    FolderHashes(folder).keep(known)
    assert FolderHashes(folder).recall() == known
    assert FolderHashes(folder).recall_files("store/objects/ab", 256) == {}


def test_the_files_of_a_large_folder_are_recalled_by_its_path(tmp_path: Path) -> None:
    hashes = FolderHashes(tmp_path)
    hashes.keep_files("store/objects/ab", FILES)
    hashes.keep_files("store/objects/cd", dict(list(FILES.items())[1:]))
    assert hashes.recall_files("store/objects/ab", 256) == FILES
    assert len(hashes.recall_files("store/objects/cd", 256)) == 0, "a folder this small is read again"
    assert hashes.recall_files("store/objects/ab", 255) == {}
    assert hashes.recall() == {}


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a" * 5000, "\udc80", "x\n"])
def test_no_path_of_a_folder_leads_out_of_the_place(name: str, tmp_path: Path) -> None:
    place = tmp_path / "derived"
    FolderHashes(place).keep_files(name, FILES)
    assert FolderHashes(place).recall_files(name, 256) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["derived"]


def test_any_damage_forgets_all(tmp_path: Path) -> None:
    hashes = FolderHashes(tmp_path)
    hashes.keep(KNOWN)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert hashes.recall() == {}
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        assert hashes.recall() == {}
    file.write_bytes(whole)
    assert hashes.recall() == KNOWN


def test_any_damage_forgets_a_folder(tmp_path: Path) -> None:
    hashes = FolderHashes(tmp_path)
    hashes.keep_files("store/objects/ab", FILES)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    whole = file.read_bytes()
    for at in range(0, len(whole), 97):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert hashes.recall_files("store/objects/ab", 256) == {}
        file.write_bytes(whole[:at])
        assert hashes.recall_files("store/objects/ab", 256) == {}


def test_nothing_is_remembered_without_a_place_or_where_none_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for hashes in (FolderHashes(None), FolderHashes(tmp_path / "file")):
        hashes.keep(KNOWN)
        assert hashes.recall() == {}
        hashes.keep_files("store/objects/ab", FILES)
        assert hashes.recall_files("store/objects/ab", 256) == {}
