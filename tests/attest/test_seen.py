from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.attest.seen import SeenCheckpoints
from kstore.digest import Digest
from kstore.errors import KstoreError

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = Digest.of(b"one"), Digest.of(b"two")


def test_each_branch_has_its_own_last_checkpoint(tmp_path: Path) -> None:
    seen = SeenCheckpoints(tmp_path / "kstore")
    assert seen.recall("refs/heads/main") is None
    seen.keep("refs/heads/main", 1, ONE)
    seen.keep("refs/heads/side", 3, TWO)
    seen.keep("refs/heads/main", 2, TWO)
    again = SeenCheckpoints(tmp_path / "kstore")
    for branch, number, digest in (("refs/heads/main", 2, TWO), ("refs/heads/side", 3, TWO)):
        found = again.recall(branch)
        assert found is not None
        assert (found.number, found.file.digest) == (number, digest)


@pytest.mark.parametrize("data", [b"", b"[1]", b'{"refs/heads/main":{"number":0}}', b"\xff"])
def test_what_is_damaged_is_said_and_stays(data: bytes, tmp_path: Path) -> None:
    seen = SeenCheckpoints(tmp_path)
    seen.path.write_bytes(data)
    with pytest.raises(KstoreError, match=r"a rollback would not show.* remove the file"):
        seen.recall("refs/heads/main")
    with pytest.raises(KstoreError, match="a rollback would not show"):
        seen.keep("refs/heads/main", 1, ONE)
    assert seen.path.read_bytes() == data
    seen.path.unlink()
    seen.keep("refs/heads/main", 1, ONE)
    assert seen.recall("refs/heads/main") is not None
    assert [path.name for path in tmp_path.iterdir()] == [seen.path.name]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    seen = SeenCheckpoints(tmp_path)
    seen.path.mkdir()
    with pytest.raises(KstoreError, match="what this clone has seen cannot be read"):
        seen.recall("refs/heads/main")


def test_where_nothing_can_be_written_nothing_is_remembered(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    seen = SeenCheckpoints(tmp_path / "file")
    seen.keep("refs/heads/main", 1, ONE)
    assert seen.recall("refs/heads/main") is None
