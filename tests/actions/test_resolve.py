"""Resolving gives back what went in, each record under its role, from every shape of registry."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.registries import (
    CLOSURE,
    ENVIRONMENT,
    PROTOCOL,
    RMS_NORM,
    RUN,
    RUN_NAME,
    TVD,
    environments,
    kstore,
    load,
    object_path,
    save,
)

if TYPE_CHECKING:
    from pathlib import Path

API = "kernelindex.dev/v1alpha1"


def numbers_as_doubles(value: Any) -> Any:
    """Make `1` and `1.0` the same, which they are in JSON, and keep them apart from `true`."""
    if isinstance(value, dict):
        return {key: numbers_as_doubles(item) for key, item in value.items()}
    if isinstance(value, list):
        return [numbers_as_doubles(item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("file", [TVD, RMS_NORM], ids=lambda path: path.name)
def test_what_went_in_comes_out(file: Path, shaped: Path) -> None:
    given = load(file)
    found = kstore("--registry", shaped, "resolve", given["run"]["metadata"]["name"]).ok().json()
    for role in ("run", "protocol", "environment"):
        assert numbers_as_doubles(found[role]) == numbers_as_doubles(given[role])
    assert list(found) == ["run", "protocol", "environment", "workload", "implementation", "operation"]
    closure = {(document["kind"], document["metadata"]["name"]): document for document in load(CLOSURE)["documents"]}
    for role in ("workload", "implementation", "operation"):
        document = closure[found[role]["kind"], found[role]["metadata"]["name"]]
        assert numbers_as_doubles(found[role]) == numbers_as_doubles(document)


@pytest.mark.parametrize(
    ("name", "roles"),
    [
        (PROTOCOL, ["protocol"]),
        (ENVIRONMENT, ["environment"]),
        ("liger-tvd-tokens16384-vocab4096-fp32", ["workload", "operation"]),
        ("liger-bench-tvd-liger", ["implementation", "operation"]),
        ("liger-tvd", ["operation"]),
        ("liger-kernel", None),
    ],
)
def test_other_kinds_give_their_own_role_and_their_references(
    name: str, roles: list[str] | None, registry: Path
) -> None:
    found = kstore("resolve", name, cwd=registry).ok().json()
    assert list(found) == (roles or list(found))
    assert len(found) == len(roles or [name])


def test_every_shape_of_registry_gives_the_same_bytes(shaped: Path, registry: Path) -> None:
    for command in (["list"], ["list", "--json"], ["show", RUN], ["show", "--canonical", RUN], ["resolve", RUN]):
        assert kstore("--registry", shaped, *command).ok().out == kstore("--registry", registry, *command).ok().out
    assert kstore("--registry", shaped, "verify", "--json").json() == kstore("verify", "--json", cwd=registry).json()


def test_what_is_not_there_is_left_out_and_named(empty: Path) -> None:
    kstore("add", TVD, cwd=empty).ok()
    ran = kstore("resolve", RUN_NAME, cwd=empty).ok()
    spec = load(TVD)["run"]["spec"]
    assert list(ran.json()) == ["run", "protocol", "environment"]
    assert ran.err.splitlines() == [
        f"note: {RUN}: {field}: {spec[field]} is not in the registry and was left out"
        for field in ("workloadDigest", "implementationDigest")
    ]
    assert kstore("resolve", "--quiet", RUN, cwd=empty).ok().err == ""
    strict = kstore("resolve", "--strict", RUN, cwd=empty)
    assert strict.code == 3
    assert strict.out == ran.out
    assert spec["workloadDigest"] in strict.err


def test_strict_is_content_where_all_is_there(registry: Path) -> None:
    ran = kstore("resolve", "--strict", RUN, cwd=registry).ok()
    assert ran.err == ""


def test_a_serving_run_has_its_own_roles(empty: Path, tmp_path: Path) -> None:
    def add(kind: str, spec: dict[str, Any]) -> str:
        document = {"apiVersion": API, "kind": kind, "metadata": {"name": kind.lower()}, "spec": spec}
        added = kstore("add", "-", "--json", cwd=empty, stdin=json.dumps(document).encode()).ok().json()
        return str(added["records"][0]["digest"])

    model = add("ModelRevision", {"model": "m"})
    stack = add("ServingStackRevision", {"project": {"name": "s"}, "revision": {"version": "1"}})
    configuration = add("ServingConfiguration", {"stackDigest": stack})
    workload = add("ServingWorkload", {"streaming": True, "loadGeneration": "offline"})
    measurement = {"metric": "throughput", "unit": "tokens_per_s", "statistic": "mean", "value": 1}
    run = add(
        "ServingRun",
        {
            "modelDigest": model,
            "configurationDigest": configuration,
            "workloadDigest": workload,
            "topology": {"acceleratorModel": "H100", "acceleratorsPerNode": 8, "nodeCount": 1},
            "harness": {"name": "h", "version": "1"},
            "qualityPolicy": "none",
            "status": "valid",
            "measurements": [measurement],
            "observedAt": "2026-03-03T23:02:50Z",
        },
    )
    found = kstore("resolve", run, cwd=empty).ok()
    assert list(found.json()) == ["run", "model", "configuration", "workload", "stack"]
    assert kstore("add", "-", "--json", cwd=empty, stdin=found.out).ok().json()["commit"] is None
    object_path(empty, stack).unlink()
    assert "stackDigest" in kstore("resolve", run, cwd=empty).err


def test_a_list_of_one_kind(registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environments(3)), cwd=registry).ok()
    rows = kstore("list", "--kind", "ExecutionEnvironment", "--json", cwd=registry).ok().json()
    assert {row["name"] for row in rows} == {
        "machine-0",
        "machine-1",
        "machine-2",
        "liger-bench-nvidia-h100-80gb-hbm3",
    }
    assert [row["digest"] for row in rows] == sorted(row["digest"] for row in rows)
    assert all(row.keys() == {"digest", "kind", "name", "title"} for row in rows)
    text = kstore("list", "--kind", "BenchmarkRun", cwd=registry).ok().text
    assert [line.split()[1] for line in text.splitlines()] == ["BenchmarkRun", "BenchmarkRun"]


def test_a_record_that_refers_to_one_of_its_targets_twice_is_resolved_once(registry: Path) -> None:
    found = kstore("resolve", RUN, cwd=registry).json()
    operation = found["workload"]["spec"]["operationSpecDigest"]
    assert operation == found["implementation"]["spec"]["operation"]["specDigest"]
    assert (
        kstore("digest", "--json", "-", stdin=json.dumps(found["operation"]).encode()).json()[0]["digest"] == operation
    )
