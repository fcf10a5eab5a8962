"""Files that a killed writer left in a working tree are seen by nobody, and taken back by the next writer."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from kstore.git.finished import beside, is_ours, target_of
from tests.histories import head
from tests.registries import (
    RUN,
    TVD,
    assert_healthy,
    environment,
    environments,
    git,
    kstore,
    left_over,
    load,
    object_path,
    save,
)


@pytest.fixture
def halfway(registry: Path, tmp_path: Path) -> Path:
    """A registry in the state that a writer leaves who is killed when it has moved some of its files.

    It is made from a finished write: HEAD, index and some files go back to what they were.
    """
    old, index = head(registry), (registry / ".git/index").read_bytes()
    title = object_path(registry, RUN, "metadata").read_bytes()
    run = load(TVD)["run"]
    run["metadata"]["title"] = "A better title"
    kstore("add", save(tmp_path, [run, environment()]), cwd=registry).ok()
    tree = git(registry, "rev-parse", "HEAD^{tree}")
    git(registry, "update-ref", "HEAD", old)
    (registry / ".git/index").write_bytes(index)
    (registry / ".git/kstore/unfinished").write_text(f"{tree}\n")
    for path in new_files(registry):
        if "objects" in path.parts:
            path.unlink()
    assert object_path(registry, RUN, "metadata").read_bytes() != title
    return registry


def new_files(registry: Path) -> list[Path]:
    """Give the files that git does not know."""
    return [registry / name for name in git(registry, "ls-files", "--others").splitlines()]


def warned(registry: Path) -> list[tuple[str, str]]:
    ran = kstore("verify", "--json", cwd=registry).ok()
    return [(finding["severity"], finding["code"]) for finding in ran.json()["findings"]]


def test_readers_do_not_see_it_and_verify_says_so(halfway: Path) -> None:
    assert len(new_files(halfway)) == 1
    assert warned(halfway) == [("warning", "unfinished-write")] * 2
    assert kstore("verify", "--jobs", "2", cwd=halfway).ok().text.count("unfinished-write") == 2
    assert len(kstore("list", "--json", cwd=halfway).ok().json()) == 13


def test_it_can_be_read_where_nothing_can_be_written(halfway: Path) -> None:
    (halfway / ".git" / "kstore" / "lock").unlink()
    note = halfway / ".git" / "kstore" / "unfinished"
    before = note.read_bytes()
    warned(halfway)
    assert note.read_bytes() == before
    assert not (halfway / ".git" / "kstore" / "lock").exists()


def test_the_same_command_finishes_it(halfway: Path, tmp_path: Path) -> None:
    ran = kstore("add", tmp_path / "document.json", cwd=halfway).ok()
    assert "left unfinished" in ran.err
    assert_healthy(halfway)
    assert left_over(halfway) == []
    assert warned(halfway) == []


def test_another_command_takes_it_back(halfway: Path, tmp_path: Path) -> None:
    other = save(tmp_path, environments(1), "other.json")
    ran = kstore("add", other, cwd=halfway).ok()
    assert "left unfinished" in ran.err
    assert_healthy(halfway)
    assert len(kstore("list", "--json", cwd=halfway).ok().json()) == 14
    assert "left unfinished" not in kstore("add", other, cwd=halfway).ok().err


def test_what_was_staged_is_taken_back_too(halfway: Path, tmp_path: Path) -> None:
    git(halfway, "add", "--all", ".")
    assert warned(halfway) == [("warning", "unfinished-write")]
    kstore("add", save(tmp_path, environments(1), "other.json"), cwd=halfway).ok()
    assert_healthy(halfway)


def test_what_head_has_is_never_hidden(halfway: Path) -> None:
    (new,) = new_files(halfway)
    git(halfway, "add", "--all", ".")
    git(halfway, "commit", "-q", "-m", "By hand")
    ran = kstore("verify", "--json", cwd=halfway)
    assert [(f["code"], f["path"]) for f in ran.json()["findings"]] == [
        ("orphan-metadata", new.relative_to(halfway).as_posix())
    ]


def test_what_somebody_else_wrote_there_is_neither_hidden_nor_taken_back(halfway: Path, tmp_path: Path) -> None:
    (new,) = new_files(halfway)
    new.write_text('{"name":"mine"}')
    assert kstore("verify", cwd=halfway).code == 1
    kstore("add", save(tmp_path, environments(1), "other.json"), cwd=halfway).ok()
    assert new.read_text() == '{"name":"mine"}'


def test_a_file_that_a_power_cut_left_empty_is_no_ones_work(halfway: Path, tmp_path: Path) -> None:
    (new,) = new_files(halfway)
    new.write_bytes(b"")
    assert warned(halfway) == [("warning", "unfinished-write")] * 2
    kstore("add", tmp_path / "document.json", cwd=halfway).ok()
    assert_healthy(halfway)


def test_a_copy_on_its_way_from_another_file_system_is_part_of_it(halfway: Path, tmp_path: Path) -> None:
    (new,) = new_files(halfway)
    new.rename(beside(new))
    assert warned(halfway) == [("warning", "unfinished-write")] * 2
    kstore("add", tmp_path / "document.json", cwd=halfway).ok()
    assert_healthy(halfway)


def test_names_of_such_copies() -> None:
    path = "store/objects/ab/ab.json"
    assert target_of(str(beside(Path(path)))) == path
    assert target_of(path) == path
    assert is_ours(b"", bytes(20))
    assert not is_ours(b"x", bytes(20))


@pytest.mark.parametrize("note", [b"", b"x\n", b"0" * 40 + b"\n", b"\xff" * 41, b"zz" * 20])
def test_a_note_that_says_nothing_is_forgotten(note: bytes, registry: Path, tmp_path: Path) -> None:
    path = registry / ".git/kstore/unfinished"
    path.write_bytes(note)
    assert warned(registry) == []
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    assert_healthy(registry)
    assert left_over(registry) == []


def test_the_lock_of_the_index_that_a_killed_kstore_left_is_known_for_what_it_is(
    registry: Path, tmp_path: Path
) -> None:
    mark = registry / ".git/kstore/index-lock"
    mark.touch()
    os.link(mark, registry / ".git/index.lock")
    shutil.copy(registry / ".git/index", registry / ".git/kstore/index")
    (registry / ".git/kstore/index.lock").write_bytes(b"half of an ind")
    kstore("add", "--wait", "0", save(tmp_path, environment()), cwd=registry).ok()
    assert left_over(registry) == []
    assert_healthy(registry)


def test_the_lock_of_the_index_that_somebody_else_left_is_explained(registry: Path, tmp_path: Path) -> None:
    (registry / ".git/kstore/index-lock").touch()
    lock = registry / ".git/index.lock"
    lock.touch()
    ran = kstore("add", "--wait", "0", save(tmp_path, environment()), cwd=registry)
    assert ran.code == 11
    assert f"{lock}: another program is changing git's index" in ran.err
    assert "remove that file" in ran.err
    assert lock.exists()
