"""Importing files in which something is wrong: nothing is added, or what is sound, and the rest is listed."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.bulk import (
    REPORT,
    bundles,
    catalog,
    digest,
    lines,
    listed,
    named,
    reference_documents,
    reference_rows,
    renamed,
    row,
    run,
    write,
)
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RMS_NORM,
    RUN,
    TVD,
    assert_healthy,
    environment,
    environments,
    git,
    kstore,
    load,
    object_path,
    published,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path


def reasons(report: Any) -> dict[int, str]:
    return {each["line"]: each["reason"] for each in report["rejected"]}


def wrong_files() -> dict[str, tuple[list[str], list[Any], dict[int, str]]]:
    """Give files in which something is wrong: arguments, values, and a part of the reason by line."""
    tvd = bundles()[0]
    missing, orphan = copy.deepcopy(tvd["run"]), copy.deepcopy(tvd["run"])
    missing["spec"]["protocolDigest"] = digest(environment())
    del missing["spec"]["protocolDigest"]
    orphan["spec"]["protocolDigest"] = f"sha256:{'0' * 64}"
    wrong = copy.deepcopy(tvd["run"])
    wrong["spec"]["protocolDigest"] = ENVIRONMENT
    good = [environment(), *environments(150)]
    rows = reference_rows()
    rows[0]["row"]["protocolKey"] = RUN
    return {
        "invalid": ([], [*good, missing], {152: "spec.protocolDigest: expected"}),
        "no json": ([], [good[0], 7, good[1]], {2: "expected an object, found 7"}),
        "missing reference": ([], [*good, *tvd.values(), orphan], {155: f"sha256:{'0' * 64} is not in the registry"}),
        "wrong kind": ([], [*tvd.values(), wrong], {4: f"digest of a BenchmarkProtocol, but {ENVIRONMENT} is a Ex"}),
        "other metadata": ([], [good[0], good[1], renamed(good[0])], {3: "stands in line 1 too, with different meta"}),
        "stated digest": (["--from", "catalog"], rows, {1: f"protocolKey states {RUN}, but the digest of its"}),
        "no manifest": (["--from", "catalog"], [row("projects", None)], {1: "expected a manifest in a row of projec"}),
        "no row": (["--from", "catalog"], [environment()], {1: "expected a row of the catalogue"}),
    }


@pytest.mark.parametrize("what", wrong_files())
def test_anything_wrong_means_that_nothing_is_added(what: str, any_empty: Path, tmp_path: Path) -> None:
    args, values, expected = wrong_files()[what]
    run(any_empty, "-", stdin=lines([environment(imageDigest=RUN)])).ok()
    before = snapshot(any_empty)
    ran = run(any_empty, write(tmp_path / "file.jsonl", values), *args)
    assert ran.code == 1
    report = ran.json()
    assert report.keys() == REPORT
    assert (report["added"], report["metadata_updated"], report["commit"]) == (0, 0, None)
    found = reasons(report)
    assert found.keys() == expected.keys()
    for line, reason in expected.items():
        assert reason in found[line]
        assert f"error: {tmp_path / 'file.jsonl'}:{line}: {found[line]}" in ran.err
    assert snapshot(any_empty) == before


def test_going_on_adds_what_is_sound_and_lists_the_rest(any_empty: Path, tmp_path: Path) -> None:
    """A run falls with its protocol; another row's run and the environment of the fallen one stay."""
    values = reference_rows()
    values[0]["row"]["manifest"]["protocol"]["spec"]["measurement"]["timer"] = "No Token"
    values.insert(3, row("projects", {"kind": "x"}))
    ran = catalog(any_empty, write(tmp_path / "file.jsonl", values), "--keep-going")
    report = ran.json()
    assert ran.code == 1
    assert sorted(reasons(report)) == [1, 4]
    assert report["added"] == 11
    assert report["commit"] == git(any_empty, "rev-parse", "HEAD")
    assert listed(any_empty) == published().keys() - {RUN, PROTOCOL}
    assert_healthy(any_empty)


def test_what_refers_to_a_rejected_record_is_rejected_too(empty: Path, tmp_path: Path) -> None:
    """The protocol's line is bad, so its run is; what the run alone needed stays, for it is sound."""
    tvd = bundles()[0]
    broken = copy.deepcopy(tvd["protocol"])
    broken["spec"]["measurement"]["timer"] = 7
    ran = run(empty, write(tmp_path / "file.jsonl", [tvd["run"], broken, tvd["environment"]]), "--keep-going")
    assert ran.code == 1
    assert {line: reason.partition(":")[0] for line, reason in reasons(ran.json()).items()} == {
        1: "sha256",
        2: "spec.measurement.timer",
    }
    assert f"{PROTOCOL} is not in the registry; this registry requires it" in reasons(ran.json())[1]
    assert listed(empty) == {ENVIRONMENT}
    assert_healthy(empty)


def test_a_chain_of_references_falls_together(empty: Path, tmp_path: Path) -> None:
    """With every reference required, a bad operation takes its workload with it, and that its run."""
    settings = json.loads((empty / "store" / "kstore.json").read_bytes())
    settings["requires"] = [
        "environmentDigest",
        "implementationDigest",
        "operation.specDigest",
        "operationSpecDigest",
        "protocolDigest",
        "workloadDigest",
    ]
    (empty / "store" / "kstore.json").write_text(json.dumps(settings, sort_keys=True, separators=(",", ":")))
    git(empty, "commit", "--quiet", "--all", "--message", "require more")
    documents = reference_documents()
    (at,) = [n for n, each in enumerate(documents) if each["metadata"]["name"] == "liger-tvd"]
    documents[at] = 7
    ran = run(empty, write(tmp_path / "file.jsonl", documents), "--keep-going")
    fallen = {name for name, (kind, called) in published().items() if "tvd" in called and kind != "BenchmarkProtocol"}
    assert listed(empty) == published().keys() - fallen
    assert len(ran.json()["rejected"]) == len(fallen) == 4
    assert [each["line"] for each in ran.json()["rejected"]] == sorted(each["line"] for each in ran.json()["rejected"])
    assert_healthy(empty)


def test_of_two_metadata_the_first_counts_when_going_on(empty: Path) -> None:
    one = environment()
    ran = run(empty, "-", "--keep-going", stdin=lines([one, renamed(one), one]))
    assert (ran.code, ran.json()["added"], list(reasons(ran.json()))) == (1, 1, [2])
    assert named(empty, digest(one)) == "some-machine"


def test_nothing_sound_is_no_commit_even_when_going_on(registry: Path) -> None:
    before = snapshot(registry)
    ran = run(registry, "-", "--keep-going", stdin=b"x\n")
    assert (ran.code, ran.json()["commit"]) == (1, None)
    assert snapshot(registry) == before


def test_an_implementation_of_another_operation_is_taken_and_said(registry: Path, tmp_path: Path) -> None:
    odd = copy.deepcopy(load(TVD)["run"])
    odd["spec"]["implementationDigest"] = load(RMS_NORM)["run"]["spec"]["implementationDigest"]
    ran = run(registry, write(tmp_path / "file.jsonl", [environment(), odd])).ok()
    (warning,) = ran.json()["warnings"]
    assert warning["line"] == 2
    assert "expected an implementation of the workload's operation" in warning["reason"]
    assert f"note: {tmp_path / 'file.jsonl'}:2: {warning['reason']}" in ran.err


def test_a_record_that_is_damaged_in_the_registry_is_not_passed_over(registry: Path, tmp_path: Path) -> None:
    path = object_path(registry, ENVIRONMENT)
    path.write_bytes(path.read_bytes().replace(b"nvidia", b"nvidio"))
    git(registry, "commit", "--quiet", "--all", "--message", "damage")
    before = snapshot(registry)
    ran = kstore("--registry", registry, "import", write(tmp_path / "file.jsonl", reference_documents()))
    assert ran.code == 1
    assert f"{ENVIRONMENT} is damaged in the registry; `kstore verify`" in ran.err
    assert snapshot(registry) == before


def test_a_file_that_ends_in_the_middle_changes_nothing(registry: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "many.jsonl.zst", environments(3000))
    file.write_bytes(file.read_bytes()[:-9])
    before = snapshot(registry)
    for jobs in ("1", "2"):
        ran = kstore("--registry", registry, "import", file, "--jobs", jobs, "--keep-going")
        assert (ran.code, ran.out) == (1, b"")
        assert "the zstd data end in the middle" in ran.err
        assert snapshot(registry) == before
