from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from statistics import mean
from typing import TYPE_CHECKING

import msgspec
import pytest

from benchmarks.synthetic import SHARES, SIZES, another, documents, write
from kstore.schema import KINDS, Record, check_json
from tests.registries import assert_healthy, kstore

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.digest import Digest

COUNT = 3000


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return [check_json(msgspec.json.encode(document)) for document in documents(COUNT)]


def test_the_documents_of_a_seed_are_always_the_same() -> None:
    assert list(documents(200)) == list(documents(200))
    assert list(documents(200, seed=1)) != list(documents(200))
    assert list(documents(200)) == list(itertools.islice(documents(1000), 200))


def test_every_kind_occurs_in_its_share(records: list[Record]) -> None:
    counts = Counter(record.kind for record in records)
    assert set(counts) == set(SHARES) == set(KINDS)
    total = sum(SHARES.values())
    for kind, share in SHARES.items():
        assert abs(counts[kind] - COUNT * share / total) <= 3


def test_the_sizes_are_near_those_of_the_catalogue(records: list[Record]) -> None:
    sizes = defaultdict(list)
    for record in records:
        sizes[record.kind].append((len(record.body), len(record.metadata_bytes)))
    for kind, expected in SIZES.items():
        for part, size in enumerate(expected):
            assert mean(each[part] for each in sizes[kind]) == pytest.approx(size, rel=0.3, abs=15)
    assert mean(len(record.body) for record in records) == pytest.approx(747, rel=0.05)


def test_no_two_records_are_the_same(records: list[Record]) -> None:
    assert len({record.digest for record in records}) == COUNT
    assert len({record.name for record in records}) == COUNT


def test_every_reference_leads_to_an_earlier_record_of_the_right_kind_and_operation(records: list[Record]) -> None:
    earlier: dict[Digest, Record] = {}
    for record in records:
        targets = {reference.role: earlier[reference.digest] for reference in record.references()}
        assert all(targets[reference.role].kind in reference.kinds for reference in record.references())
        if record.kind == "BenchmarkRun":
            assert set(targets) == {"implementation", "workload", "protocol", "environment"}
            operations = {targets[role].references()[0].digest for role in ("implementation", "workload")}
            assert len(operations) == 1
        earlier[record.digest] = record


def test_another_run_is_a_new_record_with_the_same_references(records: list[Record]) -> None:
    run = next(msgspec.json.decode(record.document()) for record in records if record.kind == "BenchmarkRun")
    numbers = [*range(1500), 3_600_000, 86_400_000, 2_419_200_000]
    more = [check_json(msgspec.json.encode(another(run, number))) for number in numbers]
    assert len({record.digest for record in more} | {check_json(msgspec.json.encode(run)).digest}) == len(numbers) + 1
    assert {record.references() for record in more} == {check_json(msgspec.json.encode(run)).references()}


@pytest.mark.parametrize("name", ["made-up.jsonl", "made-up.jsonl.zst"])
def test_a_registry_takes_them(tmp_path: Path, empty: Path, name: str) -> None:
    last = write(tmp_path / name, 150)
    assert last["kind"] == "BenchmarkRun"
    kstore("--registry", empty, "import", tmp_path / name).ok()
    assert kstore("--registry", empty, "list").ok().text.count("\n") == 150
    assert_healthy(empty)
    digest = check_json(msgspec.json.encode(last)).digest
    roles = kstore("--registry", empty, "resolve", "--strict", str(digest)).ok().json()
    assert set(roles) == {"run", "protocol", "environment", "workload", "implementation", "operation"}
