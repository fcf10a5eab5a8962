"""Importing files of many documents: everything in one commit, and what is said about it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

from kstore.actions.import_ import import_file
from kstore.errors import UsageError
from kstore.registry import Registry
from tests.bulk import (
    REPORT,
    catalog,
    digest,
    lines,
    listed,
    named,
    reference_documents,
    reference_rows,
    renamed,
    run,
    write,
)
from tests.registries import (
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
    message,
    published,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(("name", "jobs"), [("rows.jsonl", 1), ("rows.jsonl.zst", 2)])
def test_a_catalogue_becomes_records_in_one_commit(any_empty: Path, name: str, jobs: int, tmp_path: Path) -> None:
    before = commits(any_empty)
    file = write(tmp_path / name, reference_rows())
    report = catalog(any_empty, file, jobs=jobs).ok().json()
    assert report == {
        "rows": 12,
        "documents": 14,
        "added": 13,
        "present": 0,
        "metadata_updated": 0,
        "rejected": [],
        "rejected_total": 0,
        "skipped": {"artifacts": 1, "sources": 1},
        "commit": git(any_empty, "rev-parse", "HEAD"),
        "warnings": [],
    }
    assert listed(any_empty) == published().keys()
    assert commits(any_empty) == before + 1
    assert_healthy(any_empty)
    assert left_over(any_empty) == []

    again = catalog(any_empty, file, jobs=jobs).ok().json()
    assert (again["added"], again["present"], again["commit"]) == (0, 13, None)
    assert commits(any_empty) == before + 1


def test_what_was_added_one_by_one_is_the_same_store(empty: Path, registry: Path, tmp_path: Path) -> None:
    run(empty, write(tmp_path / "documents.jsonl", reference_documents())).ok()
    assert git(empty, "rev-parse", "HEAD:store") == git(registry, "rev-parse", "HEAD:store")
    assert_healthy(empty)


def test_standard_input(empty: Path) -> None:
    report = run(empty, "-", stdin=lines(environments(3))).ok().json()
    assert (report["rows"], report["added"]) == (3, 3)


@pytest.mark.parametrize("data", [b"", b"\n \n"])
def test_a_file_without_rows_adds_nothing(data: bytes, empty: Path) -> None:
    report = run(empty, "-", stdin=data).ok().json()
    assert report.keys() == REPORT
    assert (report["rows"], report["commit"], commits(empty)) == (0, None, 1)


def test_records_that_are_there_and_new_metadata(registry: Path, tmp_path: Path) -> None:
    documents = [renamed(load(TVD)["protocol"]), load(TVD)["environment"], environment()]
    report = run(registry, write(tmp_path / "documents.jsonl", documents)).ok().json()
    assert [report[name] for name in ("documents", "added", "present", "metadata_updated")] == [3, 1, 1, 1]
    assert named(registry, PROTOCOL) == "another-name"
    assert message(registry).startswith(
        "Add 1 record and update the metadata of 1\n\n1 ExecutionEnvironment added\n1 Ben"
    )
    changed = git(registry, "diff", "--name-status", "HEAD~", "HEAD").splitlines()
    assert sorted(line[0] for line in changed) == ["A", "A", "M"]
    assert_healthy(registry)


def test_a_record_that_comes_twice_counts_as_documents_and_is_added_once(empty: Path) -> None:
    one = environment()
    report = run(empty, "-", stdin=lines([one, one])).ok().json()
    assert (report["documents"], report["added"], report["present"]) == (2, 1, 0)


def test_references_are_looked_up_in_the_registry_too(registry: Path, tmp_path: Path) -> None:
    later = copy.deepcopy(load(TVD)["run"])
    later["spec"]["observedAt"] = "2030-01-01T00:00:00Z"
    assert run(registry, write(tmp_path / "run.jsonl", [later])).ok().json()["added"] == 1
    assert_healthy(registry)


def test_references_may_point_to_later_lines(empty: Path, tmp_path: Path) -> None:
    documents = [load(TVD)["run"], load(TVD)["protocol"], load(TVD)["environment"]]
    assert run(empty, write(tmp_path / "documents.jsonl", documents)).ok().json()["added"] == 3


def test_a_message_and_its_trailers(empty: Path) -> None:
    run(empty, "-", "--message", "Nightly", stdin=lines([environment()])).ok()
    assert message(empty) == f"Nightly\n\nKstore-Record: {digest(environment())}"


def test_the_tree_depends_neither_on_the_number_of_processes_nor_on_the_order_of_lines(tmp_path: Path) -> None:
    documents = environments(3000)
    file, turned = write(tmp_path / "many.jsonl.zst", documents), write(tmp_path / "turned.jsonl", documents[::-1])
    trees = set()
    for number, (each, jobs) in enumerate([(file, 1), (file, 2), (turned, 5)]):
        registry = tmp_path / str(number)
        kstore("init", registry, "--bare").ok()
        assert run(registry, each, jobs=jobs).ok().json()["added"] == 3000
        trees.add(git(registry, "rev-parse", "HEAD:store"))
    assert len(trees) == 1


def test_a_dry_run_says_the_same_and_writes_nothing(registry: Path, tmp_path: Path) -> None:
    documents = [renamed(load(TVD)["protocol"]), load(TVD)["environment"], *environments(200)]
    file = write(tmp_path / "documents.jsonl", documents)
    before = snapshot(registry)
    dry = run(registry, file, "--dry-run").ok().json()
    assert snapshot(registry) == before
    wet = run(registry, file).ok().json()
    assert dry == {**wet, "commit": None}
    assert [dry[name] for name in ("added", "present", "metadata_updated")] == [200, 1, 1]


def test_there_are_two_formats(registry: Path, tmp_path: Path) -> None:
    assert run(registry, write(tmp_path / "x", []), "--from", "csv").code == 2
    with Registry.open(registry) as opened, pytest.raises(UsageError, match=r"'csv'.*there are catalog, jsonl"):
        import_file(opened, "-", format="csv")
