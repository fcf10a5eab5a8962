"""New trees are those that git makes of the same files."""

from __future__ import annotations

import hashlib
import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kstore.git.files import UnreadableError
from kstore.git.new_tree import ByFolder, by_folder, new_trees
from kstore.git.raw import RawObjects
from kstore.git.tree import TreeFiles
from tests.registries import git

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NAMES = ["a", "a.b", "a-b", "a0", "ab", "A", "b", "a b", "ä", "z" * 60]
"""Some sort before `a/` and some behind it."""

MODES = ["100644", "100755", "120000", "160000"]


def oid(number: int) -> str:
    return hashlib.sha1(b"%d" % number, usedforsecurity=False).hexdigest()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--bare", "repository")
    return tmp_path / "repository"


def written(repository: Path, files: Mapping[str, tuple[str, str]]) -> bytes:
    """Have git write the trees of some files, mode and id by path, and give the root's id."""
    index = repository / "other-index"
    index.unlink(missing_ok=True)
    environment = {**os.environ, "GIT_INDEX_FILE": str(index)}
    lines = "".join(f"{mode} {blob}\t{path}\0" for path, (mode, blob) in files.items())
    command = ["git", "-C", str(repository)]
    subprocess.run([*command, "update-index", "-z", "--index-info"], input=lines.encode(), env=environment, check=True)
    done = subprocess.run([*command, "write-tree", "--missing-ok"], env=environment, check=True, capture_output=True)
    return done.stdout.strip()


def trees_below(repository: Path, root: bytes) -> set[str]:
    lines = git(repository, "ls-tree", "-r", "-t", "-z", root.decode()).split("\0")
    return {root.decode(), *(line.split()[2] for line in lines if line.split()[1:2] == ["tree"])}


paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map("/".join)


def without_conflicts(found: list[str]) -> list[str]:
    """Leave out the paths that go through another one."""
    return [path for path in found if not any(path.startswith(f"{other}/") for other in found)]


path_sets = st.lists(paths, max_size=12, unique=True).map(without_conflicts)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path_sets, path_sets, st.sampled_from(MODES))
def test_they_are_what_git_writes(repository: Path, before: list[str], changed: list[str], mode: str) -> None:
    base = {path: (mode, oid(number)) for number, path in enumerate(before)}
    blobs = {path: oid(len(before) + number // 2) for number, path in enumerate(sorted(changed))}
    root = written(repository, base)
    files = TreeFiles(RawObjects(repository / "objects"), root)
    changes = {path: bytes.fromhex(blob) for path, blob in blobs.items()}
    if any(path.startswith(f"{old}/") for path in changed for old in before):
        with pytest.raises(UnreadableError, match="expected a folder"):
            list(new_trees(files, by_folder(changes)))
        return
    made = list(new_trees(files, by_folder(changes)))
    kept = {old: entry for old, entry in base.items() if not any(old.startswith(f"{path}/") for path in changed)}
    expected = written(repository, {**kept, **{path: ("100644", blob) for path, blob in blobs.items()}})
    assert made[-1].oid.hex().encode() == expected
    fresh = trees_below(repository, expected) - trees_below(repository, root)
    assert fresh <= {tree.oid.hex() for tree in made} <= trees_below(repository, expected)


def test_trees_come_from_the_inside_out_and_only_where_something_changes(repository: Path) -> None:
    base = {f"{top}/{inner}/file": ("100644", oid(1)) for top in "ab" for inner in "xy"}
    files = TreeFiles(RawObjects(repository / "objects"), written(repository, base))
    changed = bytes.fromhex(oid(2))
    made = list(new_trees(files, by_folder(dict.fromkeys(("a/x/file", "a/x/more", "c"), changed))))
    expected = written(
        repository, {**base, **{path: ("100644", oid(2)) for path in ("a/x/file", "a/x/more", "c")}}
    ).decode()
    assert [tree.oid.hex() for tree in made] == [
        git(repository, "rev-parse", f"{expected}:{folder}") for folder in ("a/x", "a", "")
    ]


def test_a_repository_without_commits_and_a_change_of_nothing(repository: Path) -> None:
    nothing = TreeFiles(RawObjects(repository / "objects"), None)
    (empty,) = new_trees(nothing, [])
    assert empty.oid.hex() == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    made = list(new_trees(nothing, by_folder({"store/objects/ab/x.json": bytes.fromhex(oid(1))})))
    expected = written(repository, {"store/objects/ab/x.json": ("100644", oid(1))})
    assert len(made) == 4
    assert made[-1].oid.hex().encode() == expected
    (same,) = new_trees(TreeFiles(RawObjects(repository / "objects"), expected), [])
    assert same.oid.hex().encode() == expected


class Two(ByFolder):
    """Files that are sorted already."""

    def folders(self) -> Iterator[tuple[str, dict[bytes, bytes]]]:
        yield "a", {b"x": b"1" * 20, b"y": b"2" * 20}
        yield "b/c", {b"z": b"3" * 20}

    def __len__(self) -> int:
        return 3

    def __getitem__(self, path: str) -> bytes:
        return dict(self.items())[path]


def test_files_that_are_sorted_already_are_a_mapping_like_any_other() -> None:
    files = {"a/x": b"1" * 20, "a/y": b"2" * 20, "b/c/z": b"3" * 20}
    assert dict(Two()) == files
    assert list(Two()) == list(files)
    assert list(Two().items()) == list(files.items())
    assert list(by_folder(Two())) == list(by_folder(files)) == list(Two().folders())
