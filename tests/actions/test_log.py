"""The log tells what commits did to the registry, and the life of one record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.histories import add_machine, commit, graft, head, raw_commit, relative
from tests.registries import RUN, RUN_NAME, environments, git, kstore, object_path, save

if TYPE_CHECKING:
    from pathlib import Path


def log(registry: Path, *args: str) -> Any:
    return kstore("--registry", registry, "log", "--json", *args).ok().json()


def rename(registry: Path, digest: str, metadata: dict[str, Any]) -> str:
    """Change a record's metadata with plain git."""
    object_path(registry, digest, "metadata").write_text(json.dumps(metadata, sort_keys=True, separators=(",", ":")))
    return commit(registry)


def test_commits_are_listed_with_what_they_added(shaped: Path) -> None:
    (row,) = log(shaped)
    assert row["commit"] == head(shaped)
    assert row["author"] == "Test Person <person@example.org>"
    assert row["date"] == git(shaped, "log", "-1", "--format=%aI")
    assert row["subject"] == "Add 13 records"
    assert row["added"]["BenchmarkRun"] == 2
    assert sum(row["added"].values()) == 13
    assert row["records"] == []
    assert (row["updated"], row["changed"], row["removed"]) == (0, 0, 0)


def test_the_newest_comes_first_and_few_records_are_named(registry: Path) -> None:
    digest = add_machine(registry, "new")
    updated = rename(registry, digest, {"name": "other"})
    object_path(registry, digest).unlink()
    removed = commit(registry)
    rows = log(registry)
    assert [row["commit"] for row in rows][:2] == [removed, updated]
    assert [(row["updated"], row["removed"], sum(row["added"].values())) for row in rows] == [
        (0, 1, 0),
        (1, 0, 0),
        (0, 0, 1),
        (0, 0, 13),
    ]
    assert rows[2]["records"] == [{"digest": digest, "kind": "ExecutionEnvironment", "name": "new"}]
    assert [row["commit"] for row in log(registry, "-n", "2")] == [removed, updated]
    assert log(registry, "--limit", "0") == []


def test_up_to_ten_records_are_named(empty: Path) -> None:
    for count in (11, 10):
        documents = environments(21)[:11] if count == 11 else environments(21)[11:]
        kstore("--registry", empty, "add", save(empty.parent, documents)).ok()
    assert [len(row["records"]) for row in log(empty)] == [10, 0]


def test_a_merge_tells_only_what_it_did_itself(empty: Path) -> None:
    git(empty, "checkout", "--quiet", "-b", "side")
    add_machine(empty, "one")
    git(empty, "checkout", "--quiet", "main")
    add_machine(empty, "two")
    git(empty, "merge", "--quiet", "--no-edit", "side")
    assert len(log(empty)) == 2


def test_lines_of_json_and_text_say_the_same(registry: Path) -> None:
    digest = add_machine(registry, "new")
    lines = kstore("--registry", registry, "log", "--jsonl").ok().text.splitlines()
    assert [json.loads(line) for line in lines] == log(registry)
    text = kstore("--registry", registry, "log").ok().text
    assert head(registry)[:12] in text
    assert f"{digest} ExecutionEnvironment" in text
    assert "2 BenchmarkRun" in text


def test_the_life_of_a_record(registry: Path) -> None:
    before = json.loads(object_path(registry, RUN, "metadata").read_bytes())
    added = head(registry)
    after = {**before, "title": "Another", "labels": {"platform": "x"}, "authors": [{"name": "A"}]}
    changed = rename(registry, RUN, after)
    add_machine(registry, "unrelated")
    told = log(registry, RUN_NAME)
    assert told["digest"] == RUN
    first, second = told["events"]
    assert (first["event"], first["commit"], first["subject"]) == ("added", added, "Add 13 records")
    assert {change["field"] for change in first["changes"]} >= {"name", "title"}
    assert all(change["before"] is None for change in first["changes"])
    assert (second["event"], second["commit"]) == ("metadata-changed", changed)
    assert second["changes"] == [
        {"field": "authors.0.name", "before": None, "after": '"A"'},
        {"field": "labels.liger_version", "before": '"0.7.0"', "after": None},
        {"field": "labels.platform", "before": None, "after": '"x"'},
        {"field": "title", "before": json.dumps(before["title"], ensure_ascii=False), "after": '"Another"'},
    ]
    text = kstore("--registry", registry, "log", RUN_NAME).ok().text
    assert '    + title: "Another"\n' in text
    assert "metadata changed" in text


def test_a_life_in_every_shape_of_registry(shaped: Path) -> None:
    (event,) = log(shaped, RUN[7:19])["events"]
    assert (event["event"], event["commit"]) == ("added", head(shaped))
    lines = kstore("--registry", shaped, "log", "--jsonl", RUN).ok().text.splitlines()
    assert [json.loads(line) for line in lines] == [event]


def test_a_record_that_went_is_found_by_its_digest(registry: Path) -> None:
    files = [relative(registry, RUN, part) for part in ("objects", "metadata")]
    git(registry, "rm", "--quiet", *files)
    commit(registry)
    git(registry, "checkout", "--quiet", "HEAD~", "--", files[0])
    commit(registry)
    git(registry, "checkout", "--quiet", "HEAD~2", "--", files[1])
    commit(registry)
    object_path(registry, RUN).write_bytes(b"x")
    commit(registry)
    git(registry, "rm", "--quiet", *files)
    commit(registry)
    events = [event["event"] for event in log(registry, RUN)["events"]]
    expected = ["added", "removed", "metadata-removed", "added", "metadata-added", "changed", "removed"]
    assert events == [*expected, "metadata-removed"]
    assert kstore("--registry", registry, "log", RUN_NAME).code == 1


def test_a_life_tells_what_a_merge_dropped(empty: Path) -> None:
    git(empty, "checkout", "--quiet", "-b", "side")
    digest = add_machine(empty, "one")
    git(empty, "checkout", "--quiet", "main")
    git(empty, "commit", "--quiet", "--allow-empty", "--message", "apart")
    git(empty, "merge", "--quiet", "--no-edit", "--no-ff", "--strategy=ours", "side")
    events = log(empty, digest)["events"]
    assert [event["event"] for event in events] == ["added", "removed", "metadata-removed"]
    assert events[-1]["commit"] == head(empty)


def test_metadata_that_are_none_have_no_fields(registry: Path) -> None:
    for data in (b"{", b"\xff", b"[" * 100_000):
        object_path(registry, RUN, "metadata").write_bytes(data)
        commit(registry)
    events = log(registry, RUN)["events"]
    assert [event["event"] for event in events] == ["added", *["metadata-changed"] * 3]


def test_what_cannot_be_told(registry: Path) -> None:
    assert kstore("--registry", registry, "log", "nobody").code == 1
    assert kstore("--registry", registry, "log", "sha256:" + "0" * 64).code == 1
    assert kstore("--registry", registry, "log", RUN, "-n", "1").code == 2
    git(registry, "update-ref", "-d", "HEAD")
    assert log(registry) == []


def test_a_shallow_clone_tells_what_it_can(registry: Path, tmp_path: Path) -> None:
    add_machine(registry, "new")
    add_machine(registry, "newer")
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{registry}", "clone")
    ran = kstore("--registry", tmp_path / "clone", "log", "--json").ok()
    assert [row["commit"] for row in ran.json()] == [head(registry)]
    assert "git fetch --unshallow" in ran.err


def test_nothing_of_a_registry_takes_the_terminal_over(registry: Path) -> None:
    rename(registry, RUN, {"name": "a", "title": "\x1b[31m\u202e"})
    blob = git(registry, "rev-parse", f"HEAD:{relative(registry, RUN)}")
    graft(registry, "store/objects/e8", ("100644", b"e8\x1b.json", blob))
    raw_commit(registry, git(registry, "rev-parse", "HEAD~1^{tree}"), head(registry), author=b"\x1b[31m <> 0 +0000")
    for args in (["log"], ["log", RUN], ["log", "--jsonl"]):
        ran = kstore("--registry", registry, *args).ok()
        assert b"\x1b" not in ran.out
        assert "\u202e" not in ran.text
