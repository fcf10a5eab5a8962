"""What was exported comes back as the same store, and the same records always give the same bytes."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from kstore.actions.export import _TABLES, export
from kstore.canonical import canonical
from kstore.errors import UsageError
from kstore.reading.rows import BUNDLE_TABLES, SINGLE_TABLES
from kstore.registry import Registry
from kstore.registry.errors import DamageError
from kstore.schema import KINDS, check
from tests.bulk import catalog, digest, exported, lines, run
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    assert_healthy,
    environment,
    git,
    kstore,
    object_path,
    published,
)

if TYPE_CHECKING:
    from pathlib import Path


def made(registry: Path, format: str) -> list[Any]:
    with Registry.open(registry) as opened:
        written = list(export(opened, format))
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in written)
    return [json.loads(line) for line in written]


@pytest.mark.parametrize("format", ["jsonl", "catalog"])
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.zst"])
def test_export_and_import_give_the_same_store(shaped: Path, format: str, name: str, tmp_path: Path) -> None:
    run(shaped, "-", stdin=lines([environment()])).ok()
    fanout = str(json.loads(git(shaped, "show", "HEAD:store/kstore.json"))["fanout"])
    file = tmp_path / name
    exported(shaped, file, "--format", format).ok()
    kstore("init", tmp_path / "other", "--fanout", fanout).ok()
    assert run(tmp_path / "other", file, "--from", format).ok().json()["added"] == 14
    assert git(tmp_path / "other", "rev-parse", "HEAD:store") == git(shaped, "rev-parse", "HEAD:store")
    assert_healthy(tmp_path / "other")
    again = run(shaped, file, "--from", format).ok().json()
    assert (again["present"], again["commit"]) == (14, None)


@pytest.mark.parametrize("format", ["jsonl", "catalog"])
@pytest.mark.parametrize("name", ["out.jsonl", "out.jsonl.zst"])
def test_the_bytes_do_not_depend_on_how_the_registry_came_to_be(format: str, name: str, tmp_path: Path) -> None:
    documents = [environment(imageDigest=f"sha256:{number:064}") for number in range(20)]
    written = []
    for number, order in enumerate((documents, documents[::-1])):
        registry = tmp_path / f"registry-{number}"
        kstore("init", registry, "--fanout", str(number + 1), *["--bare"] * number).ok()
        for part in (order[:3], order[3:]):
            run(registry, "-", stdin=lines(part)).ok()
        exported(registry, tmp_path / name, "--format", format).ok()
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert written[0]


def test_a_line_is_a_whole_document_in_canonical_form(registry: Path) -> None:
    documents = made(registry, "jsonl")
    assert [digest(document) for document in documents] == sorted(published())
    with Registry.open(registry) as opened:
        assert list(export(opened)) == [canonical(document) + b"\n" for document in documents]


def test_rows_are_those_of_the_catalogue(registry: Path) -> None:
    run(registry, "-", stdin=lines([environment()])).ok()
    rows = made(registry, "catalog")
    tables = [row["table"] for row in rows]
    assert tables == sorted(tables, key=list(dict.fromkeys(_TABLES.values())).index)
    assert {table: tables.count(table) for table in tables} == {
        "projects": 2,
        "operations": 2,
        "workloads": 2,
        "implementations": 2,
        "benchmark_runs": 2,
        "execution_environments": 1,
    }
    for row in rows:
        if row["table"] in BUNDLE_TABLES:
            fields = BUNDLE_TABLES[row["table"]]
            assert row["row"]["manifest"].keys() == fields.keys()
            assert all(row["row"][fields[role]] == digest(each) for role, each in row["row"]["manifest"].items())
        else:
            field = SINGLE_TABLES.get(row["table"], "")
            assert not field or row["row"][field] == digest(row["row"]["manifest"])
    assert rows[-1]["row"]["manifest"] == environment()


def test_every_kind_has_its_table() -> None:
    assert _TABLES.keys() == set(KINDS)
    assert {*SINGLE_TABLES, *BUNDLE_TABLES} <= set(_TABLES.values())


def test_a_run_whose_protocol_is_not_here_goes_without_it(registry: Path, tmp_path: Path) -> None:
    settings = json.loads((registry / "store" / "kstore.json").read_bytes())
    settings["requires"] = []
    for part in ("objects", "metadata"):
        object_path(registry, PROTOCOL, part).unlink()
    (registry / "store" / "kstore.json").write_text(json.dumps(settings, sort_keys=True, separators=(",", ":")))
    git(registry, "commit", "--quiet", "--all", "--message", "without the protocol")
    (bare,) = (row["row"] for row in made(registry, "catalog") if row["row"].get("runDigest") == RUN)
    assert bare["manifest"].keys() == {"run", "environment"}
    assert "protocolKey" not in bare
    exported(registry, tmp_path / "out", "--format", "catalog").ok()
    shutil.copytree(registry, tmp_path / "other")
    assert catalog(tmp_path / "other", tmp_path / "out").ok().json()["present"] == 12


def test_damage_is_not_exported(registry: Path, tmp_path: Path) -> None:
    path = object_path(registry, ENVIRONMENT)
    path.write_bytes(path.read_bytes().replace(b"nvidia", b"nvidio"))
    for format in ("jsonl", "catalog"):
        with Registry.open(registry) as opened, pytest.raises(DamageError, match=ENVIRONMENT):
            list(export(opened, format))
        assert exported(registry, tmp_path / "out", "--format", format).code == 1
        assert list(tmp_path.glob("*out*")) == []


def test_there_are_two_formats(registry: Path, empty: Path) -> None:
    with Registry.open(registry) as opened, pytest.raises(UsageError, match="'csv' to export to; there are jsonl, cat"):
        export(opened, "csv")
    assert made(empty, "jsonl") == made(empty, "catalog") == []
    assert check(environment()).document() == canonical(environment())
