from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from msgspec import inspect

from kstore.digest import Digest
from kstore.schema import KINDS, REFERENCE_FIELDS, REFERENCES, check, role_of
from kstore.schema.kinds import spec_type
from tests.schema.strategies import valid

if TYPE_CHECKING:
    from collections.abc import Iterator


def fields_that_name_records(expected: Any, path: str = "") -> Iterator[str]:
    """Walk a type for digests that are marked as a record's."""
    if isinstance(expected, inspect.Metadata):
        if expected.extra and expected.extra.get("refers to a record"):
            yield path
        expected = expected.type
    if isinstance(expected, inspect.StructType):
        for field in expected.fields:
            yield from fields_that_name_records(field.type, f"{path}.{field.encode_name}".lstrip("."))


@pytest.mark.parametrize("kind", KINDS)
def test_the_table_has_what_the_types_have(kind: str) -> None:
    found = set(fields_that_name_records(inspect.type_info(spec_type(kind))))
    assert found == {field.field for field in REFERENCES.get(kind, ())}


def test_all_kinds_that_a_field_allows_have_one_role() -> None:
    for fields in REFERENCES.values():
        for field in fields:
            assert {role_of(kind) for kind in field.kinds} == {field.role}


def test_the_names_of_the_fields() -> None:
    assert {"protocolDigest", "environmentDigest", "operation.specDigest"} < REFERENCE_FIELDS
    assert len(REFERENCE_FIELDS) == 9


def test_a_benchmark_run_refers_to_four_records() -> None:
    document = valid("BenchmarkRun")
    found = check(document).references()
    assert [(each.field, each.role, each.kinds) for each in found] == [
        ("implementationDigest", "implementation", ("ImplementationRevision",)),
        ("workloadDigest", "workload", ("WorkloadCase", "WorkloadSuite")),
        ("protocolDigest", "protocol", ("BenchmarkProtocol",)),
        ("environmentDigest", "environment", ("ExecutionEnvironment",)),
    ]
    assert [each.digest for each in found] == [document["spec"][each.field] for each in found]
    assert all(type(each.digest) is Digest for each in found)


def test_an_implementation_refers_to_its_operation() -> None:
    document = valid("ImplementationRevision")
    (found,) = check(document).references()
    assert (found.field, found.role) == ("operation.specDigest", "operation")
    assert found.digest == document["spec"]["operation"]["specDigest"]


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(REFERENCES)))
def test_the_others_refer_to_nothing(kind: str) -> None:
    assert check(valid(kind)).references() == ()
