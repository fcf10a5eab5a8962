"""Packs and their tables are compared with the checksums at their ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.git.pack_check import damaged_packs
from tests.histories import audit
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("suffix", ["pack", "idx"])
@pytest.mark.parametrize("at", [5, 30, -1])
def test_a_flipped_byte_is_found_also_where_no_object_depends_on_it(suffix: str, at: int, registry: Path) -> None:
    git(registry, "repack", "-adq")
    audit(registry)
    (path,) = (registry / ".git" / "objects" / "pack").glob(f"*.{suffix}")
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.chmod(0o644)
    path.write_bytes(data)
    found = audit(registry, code=1)["findings"]
    assert f"objects/pack/{path.name}" in [each["path"] for each in found if each["code"] == "damaged-pack"]


def test_a_pack_that_is_cut_or_empty(tmp_path: Path) -> None:
    (tmp_path / "pack").mkdir()
    for data in (b"", b"short", b"x" * 100):
        (tmp_path / "pack" / "pack-1.pack").write_bytes(data)
        assert [path for path, _ in damaged_packs(tmp_path)] == ["objects/pack/pack-1.pack"]


def test_other_files_are_not_looked_at(tmp_path: Path) -> None:
    assert list(damaged_packs(tmp_path)) == []
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "pack-1.keep").write_bytes(b"")
    assert list(damaged_packs(tmp_path)) == []
