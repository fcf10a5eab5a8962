"""What `kstore audit` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.histories import commit
from tests.registries import RUN, git, kstore, object_path

if TYPE_CHECKING:
    from pathlib import Path

UNSIGNED = "note: nothing in this registry is signed: it has no trust policy and no statements"


def test_it_sums_up_who_added_what(registry: Path) -> None:
    ran = kstore("--registry", registry, "audit").ok()
    date = git(registry, "log", "-1", "--format=%aI").replace("Z", "+00:00")
    line = f"Test Person <person@example.org>: 13 records in 1 commit, {date}: 2 BenchmarkProtocol, 2 BenchmarkRun, "
    assert ran.text.startswith(line)
    assert ran.err.splitlines() == ["note: audited 2 commits and 13 records that they added: sound", UNSIGNED]
    assert kstore("--registry", registry, "audit", "--quiet").ok().err == ""


def test_findings_come_first_and_json_is_one_document(registry: Path) -> None:
    object_path(registry, RUN).unlink()
    commit(registry)
    ran = kstore("--registry", registry, "audit")
    assert ran.code == 1
    assert ran.text.startswith("error: object-removed: store/objects/")
    assert ran.err.splitlines() == ["note: audited 3 commits and 13 records that they added: damaged", UNSIGNED]
    report = kstore("--registry", registry, "audit", "--json").json()
    assert list(report)[:6] == ["commits", "records_added", "complete", "head", "findings", "by_author"]


def test_an_incomplete_audit_says_what_completes_it(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{registry}", "clone")
    ran = kstore("--registry", tmp_path / "clone", "audit")
    assert ran.code == 3
    assert ": incomplete\n" in ran.err
    assert "`git fetch --unshallow` completes it" in ran.err
