from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.folder_hashes import FolderHashes

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

KNOWN = {bytes([number]) * 20: bytes([number]) * 40 for number in range(3)}


@given(known=st.dictionaries(st.binary(min_size=20, max_size=20), st.binary(min_size=40, max_size=40)))
def test_what_is_kept_is_recalled(known: dict[bytes, bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("derived")
    FolderHashes(folder).keep(known)
    assert FolderHashes(folder).recall() == known


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


def test_nothing_is_remembered_without_a_place_or_where_none_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for hashes in (FolderHashes(None), FolderHashes(tmp_path / "file")):
        hashes.keep(KNOWN)
        assert hashes.recall() == {}
