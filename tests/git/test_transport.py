"""Fetching repositories: what is a place to fetch from, and what is said when it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.errors import KstoreError, UsageError
from kstore.git.transport import check_out, fetch_repository, without_credentials
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://me:secret@example.org/x", "https://example.org/x"),
        ("https://secret@example.org/x", "https://example.org/x"),
        ("ssh://me@example.org/x and http://a:b@c", "ssh://example.org/x and http://c"),
        ("https://me:se@cret@example.org/x", "https://example.org/x"),
        ("https://example.org/x@y", "https://example.org/x@y"),
        ("me@example.org:x", "me@example.org:x"),
        ("nothing", "nothing"),
    ],
)
def test_credentials_are_left_out_of_what_is_said(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


@pytest.mark.parametrize("url", ["-x", "--upload-pack=x", "ssh://-oX=y/z", "ssh://me@-oX=y/z", "https://a:b@-x/"])
def test_options_are_no_urls(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="option"):
        fetch_repository(url, tmp_path / "copy")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("branch", ["main", "other"])
def test_the_branch_of_the_source_is_checked_out(branch: str, registry: Path, tmp_path: Path) -> None:
    git(registry, "checkout", "-q", "-B", branch)
    git(registry, "branch", "side")
    git(registry, "tag", "v1")
    place = fetch_repository(str(registry), tmp_path / "copy")
    assert [path.name for path in (tmp_path / "copy").iterdir()] == [".git"]
    check_out(place)
    assert git(tmp_path / "copy", "status", "--porcelain", "--branch").startswith(f"## {branch}")
    assert git(tmp_path / "copy", "symbolic-ref", "HEAD") == f"refs/heads/{branch}"
    assert git(tmp_path / "copy", "rev-parse", "v1", "origin/side") == git(registry, "rev-parse", "v1", "side")


def test_files_are_checked_out_without_the_git_program(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = fetch_repository(str(registry), tmp_path / "copy")
    (tmp_path / "nothing").mkdir()
    with monkeypatch.context() as patch:
        patch.setenv("PATH", str(tmp_path / "nothing"))
        check_out(place)
    assert git(tmp_path / "copy", "status", "--porcelain") == ""
    assert (tmp_path / "copy" / "store" / "kstore.json").is_file()


@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_damage_at_the_source_is_an_error_and_leaves_nothing(damage: str, registry: Path, tmp_path: Path) -> None:
    oid = git(registry, "rev-parse", "HEAD:store/objects")
    path = registry / ".git" / "objects" / oid[:2] / oid[2:]
    data = path.read_bytes()
    path.chmod(0o644)
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes(data[:20] if damage == "cut" else data[:20] + bytes([data[20] ^ 255]) + data[21:])
    with pytest.raises(KstoreError, match="cannot be cloned"):
        fetch_repository(str(registry), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
