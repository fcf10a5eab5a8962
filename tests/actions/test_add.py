"""Adding records, in every shape of registry: what is written, what is said, and what is left alone."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.registries import (
    ALL,
    CLOSURE,
    PROTOCOL,
    RMS_NORM,
    RUN,
    RUN_NAME,
    TVD,
    assert_healthy,
    commits,
    environment,
    environments,
    git,
    kstore,
    left_over,
    load,
    message,
    object_path,
    process,
    published,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path


def trailers(registry: Path) -> list[str]:
    """Give what git reads as trailers of the last commit's message."""
    parsed = git(registry, "interpret-trailers", "--parse", stdin=message(registry).encode() + b"\n")
    return parsed.splitlines()


@pytest.mark.parametrize("fanout", ["1", "2"])
@pytest.mark.parametrize("bare", [[], ["--bare"]], ids=["tree", "bare"])
def test_reference_documents_keep_their_published_digests(bare: list[str], fanout: str, tmp_path: Path) -> None:
    path = tmp_path / "made" / "registry"
    kstore("init", path, "--fanout", fanout, *bare).ok()
    assert_healthy(path)
    for number, file in enumerate(ALL, start=2):
        added = kstore("--registry", path, "add", file, "--json").ok().json()
        assert commits(path) == number
        assert left_over(path) == []
        assert added["commit"] == git(path, "rev-parse", "HEAD")
        assert_healthy(path)
    listed = kstore("--registry", path, "list", "--json").json()
    assert {row["digest"]: (row["kind"], row["name"]) for row in listed} == published()
    assert {entry.split()[0] for entry in git(path, "ls-tree", "-r", "HEAD").splitlines()} == {"100644"}


def test_the_stored_bytes_hash_to_the_files_names_without_kstore(registry: Path) -> None:
    for path in (registry / "store" / "objects").rglob("*.json"):
        assert git(registry, "hash-object", str(path)) == git(
            registry, "rev-parse", f"HEAD:{path.relative_to(registry)}"
        )
        assert json.loads(path.read_bytes()).keys() == {"apiVersion", "kind", "spec"}
    assert {f"sha256:{path.stem}" for path in (registry / "store" / "objects").rglob("*.json")} == published().keys()


def test_both_documents_and_the_closure_in_one_call_are_one_commit(empty: Path) -> None:
    added = kstore("add", *ALL, "--json", cwd=empty).ok().json()
    assert commits(empty) == 2
    assert {record["digest"]: record["status"] for record in added["records"]} == dict.fromkeys(published(), "added")
    assert added["unresolved"] == []
    assert sorted(trailers(empty)) == sorted(f"Kstore-Record: {digest}" for digest in published())
    assert_healthy(empty)


def test_what_is_not_there_and_need_not_be_is_said(empty: Path) -> None:
    ran = kstore("add", TVD, "--json", cwd=empty).ok()
    spec = load(TVD)["run"]["spec"]
    assert ran.json()["unresolved"] == [
        {"by": RUN, "field": field, "digest": spec[field]} for field in ("implementationDigest", "workloadDigest")
    ]
    assert spec["workloadDigest"] in ran.err


def test_adding_again_changes_nothing(shaped: Path) -> None:
    before = snapshot(shaped)
    ran = kstore("--registry", shaped, "add", *ALL, "--json").ok()
    assert ran.json()["commit"] is None
    assert {record["status"] for record in ran.json()["records"]} == {"present"}
    assert snapshot(shaped) == before


@pytest.mark.parametrize("name", [RUN_NAME, PROTOCOL, "liger-bench-tvd-liger"])
def test_what_resolve_prints_can_be_added_and_is_there_already(name: str, shaped: Path) -> None:
    before = snapshot(shaped)
    resolved = kstore("--registry", shaped, "resolve", name).ok()
    added = kstore("--registry", shaped, "add", "-", "--json", stdin=resolved.out).ok().json()
    assert added["commit"] is None
    assert len(added["records"]) == len(resolved.json())
    assert snapshot(shaped) == before


def test_a_heading_copied_from_a_page_is_skipped_with_a_note(empty: Path) -> None:
    kstore("add", TVD, RMS_NORM, cwd=empty).ok()
    for text in (TVD.with_suffix(".txt"), RMS_NORM.with_suffix(".txt")):
        ran = kstore("add", text, "--json", cwd=empty).ok()
        assert {record["status"] for record in ran.json()["records"]} == {"present"}
        assert "note: " in ran.err
        assert "heading" in ran.err


def test_new_metadata_update_the_record_and_the_commit_says_so(shaped: Path, tmp_path: Path) -> None:
    document = load(TVD)["run"]
    document["metadata"]["title"] = "A better title"
    ran = kstore("--registry", shaped, "add", save(tmp_path, document), "--json").ok()
    (record,) = ran.json()["records"]
    assert (record["digest"], record["status"]) == (RUN, "metadata-updated")
    assert message(shaped).startswith(f"Update the metadata of BenchmarkRun {RUN_NAME}\n")
    (changed,) = git(shaped, "diff", "--name-status", "HEAD~", "HEAD").splitlines()
    assert changed.startswith("M\tstore/metadata/")
    assert kstore("--registry", shaped, "show", RUN).json()["metadata"]["title"] == "A better title"
    assert_healthy(shaped)


def test_new_records_and_new_metadata_go_in_one_commit(registry: Path, tmp_path: Path) -> None:
    document = load(TVD)["run"]
    document["metadata"]["title"] = "A better title"
    ran = kstore("add", save(tmp_path, [document, environment()]), cwd=registry).ok()
    assert message(registry).startswith("Add 1 record and update the metadata of 1\n\n1 ExecutionEnvironment added\n")
    assert len(trailers(registry)) == 2
    assert [line.split()[0] for line in ran.text.splitlines()] == ["metadata-updated", "added"]


@pytest.mark.parametrize(("count", "named"), [(1, 1), (100, 100), (101, 100), (120, 100)])
def test_trailers_name_at_most_a_hundred_records(count: int, named: int, empty: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environments(count)), cwd=empty).ok()
    assert len(trailers(empty)) == named
    assert (f"{count} in all" in message(empty)) == (count > named)
    assert len(kstore("list", "--json", cwd=empty).json()) == count


def test_a_message_of_ones_own_keeps_the_trailers(registry: Path, tmp_path: Path) -> None:
    kstore("add", "-m", "Nightly\n\nFrom the new machine.\n", save(tmp_path, environment()), cwd=registry).ok()
    assert message(registry).startswith("Nightly\n\nFrom the new machine.\n\nKstore-Record: sha256:")
    assert len(trailers(registry)) == 1


def test_a_message_that_is_no_text_is_refused(registry: Path, tmp_path: Path) -> None:
    file, before = save(tmp_path, environment()), snapshot(registry)
    ran = process("add", "-m", "caf\udce9", file, cwd=registry)
    assert ran.code == 2
    assert "UTF-8" in ran.err
    assert "Traceback" not in ran.err
    assert snapshot(registry) == before


def test_no_commit_stages_and_a_commit_by_git_completes_it(registry: Path, tmp_path: Path) -> None:
    before = commits(registry)
    ran = kstore("add", "--no-commit", "--json", save(tmp_path, environment()), cwd=registry).ok()
    assert ran.json()["commit"] is None
    assert [record["status"] for record in ran.json()["records"]] == ["added"]
    staged = git(registry, "status", "--porcelain").splitlines()
    assert [line[:9] for line in staged] == ["A  store/", "A  store/"]
    assert commits(registry) == before
    git(registry, "commit", "-q", "-m", "By hand")
    assert_healthy(registry)


def test_what_was_staged_by_no_commit_is_committed_by_the_same_call_without_it(registry: Path, tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    kstore("add", "--no-commit", file, cwd=registry).ok()
    assert kstore("add", file, "--json", cwd=registry).ok().json()["commit"] is not None
    assert_healthy(registry)


def test_a_bare_registry_has_nowhere_to_stage(tmp_path: Path) -> None:
    kstore("init", "--bare", tmp_path / "bare").ok()
    before = snapshot(tmp_path / "bare")
    ran = kstore("--registry", tmp_path / "bare", "add", "--no-commit", save(tmp_path, environment()))
    assert ran.code == 1
    assert "bare" in ran.err
    assert snapshot(tmp_path / "bare") == before


def test_a_dry_run_writes_nothing_and_says_what_would_be(shaped: Path, tmp_path: Path) -> None:
    file, before = save(tmp_path, environment()), snapshot(shaped)
    dry = kstore("--registry", shaped, "add", "--dry-run", "--json", file).ok().json()
    assert snapshot(shaped) == before
    real = kstore("--registry", shaped, "add", "--json", file).ok().json()
    assert dry == real | {"commit": None}
    assert real["commit"] is not None


def test_work_of_the_user_elsewhere_is_left_alone(registry: Path, tmp_path: Path) -> None:
    (registry / "staged.txt").write_text("staged")
    (registry / "tracked.txt").write_text("first")
    git(registry, "add", "tracked.txt")
    git(registry, "commit", "-q", "-m", "A file")
    git(registry, "add", "staged.txt")
    (registry / "tracked.txt").write_text("second")
    (registry / "untracked.txt").write_text("untracked")
    status = git(registry, "status", "--porcelain")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    assert git(registry, "status", "--porcelain") == status
    assert {line.split("/")[0] for line in git(registry, "diff", "--name-only", "HEAD~").splitlines()} >= {"store"}
    assert all(line.startswith("store/") for line in git(registry, "show", "--format=", "--name-only").splitlines())


def test_changes_that_no_commit_has_are_not_written_over(registry: Path, tmp_path: Path) -> None:
    document = load(TVD)["run"]
    document["metadata"]["title"] = "A better title"
    mine = object_path(registry, RUN, "metadata")
    mine.write_bytes(mine.read_bytes().replace(b"Total", b"My own"))
    file, before = save(tmp_path, document), snapshot(registry)
    ran = kstore("add", file, cwd=registry)
    assert ran.code == 1
    assert "not committed" in ran.err
    assert "git restore" in ran.err
    assert snapshot(registry) == before


def test_a_file_of_the_user_where_a_record_belongs_is_not_written_over(registry: Path, tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    digest = kstore("digest", file).text.split()[0]
    path = object_path(registry, digest)
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    before = snapshot(registry)
    ran = kstore("add", file, cwd=registry)
    assert ran.code == 1
    assert path.name in ran.err
    assert snapshot(registry) == before


@pytest.mark.parametrize("state", ["merge", "cherry-pick", "revert", "rebase"])
def test_an_unfinished_operation_of_git_is_not_disturbed(state: str, registry: Path, tmp_path: Path) -> None:
    (registry / "file").write_text("base")
    git(registry, "add", "file")
    git(registry, "commit", "-q", "-m", "base")
    git(registry, "switch", "-q", "-c", "other")
    (registry / "file").write_text("theirs")
    git(registry, "commit", "-q", "-a", "-m", "theirs")
    git(registry, "switch", "-q", "main")
    (registry / "file").write_text("ours")
    git(registry, "commit", "-q", "-a", "-m", "ours")
    git(registry, state, "HEAD~" if state == "revert" else "other", check=False)
    file, before = save(tmp_path, environment()), snapshot(registry)
    ran = kstore("add", file, cwd=registry)
    assert ran.code == 1
    assert f"a {state} is under way" in ran.err
    assert snapshot(registry) == before


def test_a_detached_head_moves_and_no_branch_does(registry: Path, tmp_path: Path) -> None:
    git(registry, "switch", "-q", "--detach")
    branch = git(registry, "rev-parse", "main")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    assert git(registry, "rev-parse", "main") == branch == git(registry, "rev-parse", "HEAD~")
    assert_healthy(registry)


def test_a_linked_working_tree_is_a_registry_too(registry: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(registry, "worktree", "add", "-q", "-b", "side", str(linked))
    kstore("add", save(tmp_path, environment()), cwd=linked).ok()
    assert git(registry, "rev-parse", "side~") == git(registry, "rev-parse", "main")
    assert_healthy(linked)
    assert_healthy(registry)
    assert len(kstore("list", "--json", cwd=linked).json()) == len(kstore("list", "--json", cwd=registry).json()) + 1


def test_packed_and_collected_repositories_take_more_records(registry: Path, tmp_path: Path) -> None:
    git(registry, "gc", "-q", "--prune=now")
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    assert_healthy(registry)


def test_a_registry_below_a_link_and_with_odd_characters_in_its_path(registry: Path, tmp_path: Path) -> None:
    odd = tmp_path / "söme where\n#1"
    shutil.move(registry, odd)
    (tmp_path / "link").symlink_to(odd)
    kstore("--registry", tmp_path / "link", "add", save(tmp_path, environment())).ok()
    assert_healthy(odd)


def test_history_says_what_happened(registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    head = git(registry, "rev-parse", "HEAD")
    assert message(registry).startswith("Add ExecutionEnvironment some-machine\n\nKstore-Record: sha256:")
    for log in ("HEAD", "main"):
        assert git(registry, "reflog", "-1", "--format=%H %gs", log) == (
            f"{head} kstore: Add ExecutionEnvironment some-machine"
        )


@pytest.mark.parametrize("separate", [True, False], ids=["two files", "one bundle"])
def test_one_record_under_two_names_in_one_call_is_an_error(separate: bool, registry: Path, tmp_path: Path) -> None:
    one, other = environment(), environment()
    other["metadata"]["name"] = "another-name"
    files = [save(tmp_path, one, "one.json"), save(tmp_path, other, "other.json")]
    before = snapshot(registry)
    ran = kstore("add", *(files if separate else [save(tmp_path, [one, other])]), cwd=registry)
    assert ran.code == 1
    assert "the same record" in ran.err
    assert snapshot(registry) == before


def test_the_same_document_twice_in_one_call_is_one_record(registry: Path, tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    added = kstore("add", file, file, CLOSURE, "--json", cwd=registry).ok().json()
    assert [record["status"] for record in added["records"]].count("added") == 1


def test_what_is_no_document_in_a_bundle_is_named_in_a_note(registry: Path, tmp_path: Path) -> None:
    file = save(tmp_path, {"machine": environment(), "comment": {"by": "me"}})
    ran = kstore("add", file, "--json", cwd=registry).ok()
    assert len(ran.json()["records"]) == 1
    assert "comment" in ran.err
    assert kstore("add", file, "--json", "--quiet", cwd=registry).ok().err == ""
