"""The published catalogue, both snapshots of it, from end to end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.bulk import EARLIER, LATER, catalog, exported, run
from tests.registries import git, kstore

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    not (EARLIER.exists() and LATER.exists()), reason="the published catalogue lies in a folder beside the repository"
)

RUNS = 7_857
SINGLES = 11_887
SKIPPED = {"artifacts", "measurements", "operation_aliases", "record_events", "serving_measurements", "sources"}


def told(ran: Any, *names: str) -> list[Any]:
    report = ran.ok().json()
    return [report[name] for name in names]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A registry with the later snapshot, imported by two processes."""
    registry = tmp_path_factory.mktemp("whole") / "registry"
    kstore("init", registry, "--bare").ok()
    report = catalog(registry, LATER, jobs=2).ok().json()
    assert [report[name] for name in ("rows", "added", "present", "rejected")] == [40_795, 19_765, 0, []]
    assert len(report["warnings"]) == 43
    assert all(
        "expected an implementation of the workload's operation" in each["reason"] for each in report["warnings"]
    )
    assert report["skipped"].keys() == SKIPPED
    assert report["rows"] == sum(report["skipped"].values()) + SINGLES + RUNS
    assert report["documents"] == SINGLES + 3 * RUNS
    return registry


def test_git_finds_nothing_wrong_with_it(whole: Path) -> None:
    assert "error" not in git(whole, "fsck", "--full", "--strict")
    assert len(list((whole / "objects" / "pack").iterdir())) == 2


def test_the_later_snapshot_adds_the_difference_to_the_earlier_one(whole: Path, tmp_path: Path) -> None:
    kstore("init", tmp_path / "registry", "--bare").ok()
    assert told(catalog(tmp_path / "registry", EARLIER), "rows", "added") == [39_099, 18_792]
    names = ("added", "present", "metadata_updated")
    assert told(catalog(tmp_path / "registry", LATER), *names) == [973, 18_792, 0]
    assert told(catalog(tmp_path / "registry", LATER), *names, "commit") == [0, 19_765, 0, None]
    assert told(catalog(tmp_path / "registry", EARLIER), *names, "commit") == [0, 18_792, 0, None]
    assert git(tmp_path / "registry", "rev-list", "--count", "HEAD") == "3"
    assert git(tmp_path / "registry", "rev-parse", "HEAD:store") == git(whole, "rev-parse", "HEAD:store")


@pytest.mark.parametrize("format", ["jsonl", "catalog"])
def test_export_and_import_give_the_same_store(format: str, whole: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.jsonl.zst"
    exported(whole, file, "--format", format).ok()
    kstore("init", tmp_path / "registry", "--bare").ok()
    assert told(run(tmp_path / "registry", file, "--from", format), "added", "rejected") == [19_765, []]
    assert git(tmp_path / "registry", "rev-parse", "HEAD:store") == git(whole, "rev-parse", "HEAD:store")
