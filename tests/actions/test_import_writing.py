"""What an import leaves on disk: one pack, a working tree and an index in step, and nobody's work lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kstore.git.objects import LOOSE_MOST
from tests.bulk import (
    bundle,
    bundles,
    catalog,
    digest,
    lines,
    listed,
    renamed,
    run,
    single,
    singles,
    write,
)
from tests.registries import (
    ALL,
    PROTOCOL,
    TVD,
    assert_healthy,
    commits,
    environment,
    environments,
    git,
    kstore,
    left_over,
    load,
    object_path,
    process,
    published,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path


def packs(registry: Path) -> int:
    return len(list(registry.rglob("objects/pack/*.pack")))


@pytest.mark.parametrize("count", [10, 400])
def test_a_small_import_leaves_no_pack_and_a_large_one_leaves_one(count: int, any_empty: Path) -> None:
    run(any_empty, "-", stdin=lines(environments(count))).ok()
    assert packs(any_empty) == (2 * count > LOOSE_MOST)
    run(any_empty, "-", stdin=lines([environment()])).ok()
    assert packs(any_empty) == (2 * count > LOOSE_MOST)
    assert_healthy(any_empty)


@pytest.fixture(params=["git", "no git"])
def path_without_git(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, str]:
    """The environment for a program, with and without git on its PATH."""
    (tmp_path / "bin").mkdir()
    return {} if request.param == "git" else {"PATH": str(tmp_path / "bin")}


def imported(registry: Path, file: Path, env: dict[str, str], *args: str) -> Any:
    return process("--registry", registry, "import", file, "--json", "--jobs", "1", *args, env=env)


@pytest.mark.parametrize("count", [20, 300])
def test_working_tree_and_index_are_in_step(
    count: int, registry: Path, path_without_git: dict[str, str], tmp_path: Path
) -> None:
    (registry / "notes.txt").write_text("mine")
    (registry / "staged.txt").write_text("mine too")
    git(registry, "add", "staged.txt")
    documents = [*environments(count), renamed(load(TVD)["protocol"])]
    file = write(tmp_path / "many.jsonl", documents)
    assert imported(registry, file, path_without_git).ok().json()["added"] == count
    assert git(registry, "status", "--porcelain") == "A  staged.txt\n?? notes.txt"
    assert git(registry, "ls-files", "-s", "store") == git(registry, "ls-tree", "-r", "HEAD", "store").replace(
        " blob ", " "
    ).replace("\t", " 0\t")
    for document in documents:
        assert object_path(registry, digest(document)).is_file()
    assert git(registry, "show", "--format=", "--name-only", "HEAD").count("\n") + 1 == 2 * count + 1
    kstore("--registry", registry, "verify").ok()
    assert left_over(registry) == []


def in_the_way(registry: Path, documents: list[Any], how: str) -> Path:
    """Put something uncommitted where an import would write."""
    if how == "untracked":
        path = object_path(registry, digest(documents[3]))
    else:
        path = object_path(registry, PROTOCOL, "metadata")
    path.parent.mkdir(exist_ok=True)
    path.write_text("something of mine")
    if how == "staged":
        git(registry, "add", str(path))
    return path


@pytest.mark.parametrize("count", [20, 300])
@pytest.mark.parametrize("how", ["untracked", "modified", "staged"])
def test_uncommitted_work_in_the_way_is_named_and_nothing_changes(
    count: int, how: str, registry: Path, path_without_git: dict[str, str], tmp_path: Path
) -> None:
    documents = [*environments(count), renamed(load(TVD)["protocol"])]
    path = in_the_way(registry, documents, how)
    file = write(tmp_path / "many.jsonl", documents)
    git(registry, "status")
    before = snapshot(registry)
    ran = imported(registry, file, path_without_git)
    assert (ran.code, ran.out) == (1, b"")
    assert f"{path.relative_to(registry)}: it has changes that are not committed" in ran.err
    assert snapshot(registry) == before


def test_the_same_file_in_the_way_is_none(registry: Path, path_without_git: dict[str, str], tmp_path: Path) -> None:
    """What a file should become it may be already, as after an import that was undone with `git reset`."""
    file = write(tmp_path / "many.jsonl", environments(300))
    imported(registry, file, path_without_git).ok()
    git(registry, "reset", "--quiet", "--soft", "HEAD~")
    assert imported(registry, file, path_without_git).ok().json()["added"] == 300
    git(registry, "reset", "--quiet", "HEAD~")
    assert imported(registry, file, path_without_git).ok().json()["added"] == 300
    assert_healthy(registry)


def test_a_hook_or_a_lock_of_somebody_else_stops_it(registry: Path, tmp_path: Path) -> None:
    (registry / ".git" / "index.lock").touch()
    file = write(tmp_path / "many.jsonl", environments(300))
    before = snapshot(registry / "store")
    assert run(registry, file, "--wait", "0").code == 11
    assert snapshot(registry / "store") == before
    assert commits(registry) == 2
    (registry / ".git" / "index.lock").unlink()
    run(registry, file).ok()
    assert_healthy(registry)


def test_an_import_into_the_first_commit_of_a_branch(empty: Path, tmp_path: Path) -> None:
    """A repository whose registry is there, and checked out elsewhere, grows there alone."""
    git(empty, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "linked"))
    before = git(empty, "rev-parse", "main")
    run(tmp_path / "linked", write(tmp_path / "many.jsonl", environments(300))).ok()
    assert git(empty, "rev-parse", "main") == before
    assert_healthy(tmp_path / "linked")
    assert_healthy(empty)


def test_single_documents_and_a_catalogue_meet(empty: Path, tmp_path: Path) -> None:
    for document in singles():
        run(empty, "-", stdin=lines([document])).ok()
    report = catalog(empty, write(tmp_path / "rows.jsonl", [*map(single, singles()), bundle(bundles()[0])])).ok().json()
    assert (report["present"], report["added"]) == (8, 3)
    kstore("--registry", empty, "add", *ALL).ok()
    assert listed(empty) == published().keys()
