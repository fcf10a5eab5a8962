from __future__ import annotations

import subprocess
import sys
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from kstore.schema import KINDS, role_of
from kstore.schema.custom import Custom
from kstore.schema.kinds import body_type, document_type, spec_type


def test_there_are_thirteen() -> None:
    assert len(set(KINDS)) == 13


@pytest.mark.parametrize("kind", KINDS)
def test_each_has_its_types(kind: str) -> None:
    assert spec_type(kind).__name__ == kind
    assert body_type(kind).__struct_encode_fields__ == ("apiVersion", "kind", "spec")
    assert document_type(kind).__struct_encode_fields__ == ("apiVersion", "kind", "metadata", "spec")


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        ("BenchmarkRun", "run"),
        ("ServingRun", "run"),
        ("WorkloadCase", "workload"),
        ("WorkloadSuite", "workload"),
        ("ServingWorkload", "workload"),
        ("BenchmarkProtocol", "protocol"),
        ("ExecutionEnvironment", "environment"),
        ("ImplementationRevision", "implementation"),
        ("OperationSpec", "operation"),
        ("SoftwareProject", "project"),
        ("ModelRevision", "model"),
        ("ServingStackRevision", "stack"),
        ("ServingConfiguration", "configuration"),
    ],
)
def test_each_has_its_role(kind: str, role: str) -> None:
    assert role_of(kind) == role


def test_an_unknown_kind_has_nothing() -> None:
    for ask in (role_of, spec_type, body_type, document_type):
        with pytest.raises(KeyError):
            ask("Record")


def test_importing_makes_no_kinds_types() -> None:
    program = "import sys, kstore.schema; print(*sorted(m for m in sys.modules if m.startswith('kstore.schema.')))"
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.split()
    assert "kstore.schema.record" in loaded
    rooms = {"operation", "implementation", "benchmark", "serving", "explain", "printer"}
    assert not {f"kstore.schema.{room}" for room in rooms} & set(loaded)


def elements(found: Any, inside: bool) -> list[Any]:
    """Give the types of everything that an array may hold, looking through unions; `inside` is whether this is one."""
    bare = found.type if isinstance(found, inspect.Metadata) else found
    if isinstance(bare, inspect.UnionType):
        return [each for part in bare.types for each in elements(part, inside)]
    inner: list[Any] = []
    if isinstance(bare, inspect.StructType):
        inner = [each for field in bare.fields for each in elements(field.type, False)]
    elif isinstance(bare, inspect.DictType):
        inner = elements(bare.value_type, False)
    elif isinstance(bare, inspect.ListType | inspect.SetType | inspect.FrozenSetType | inspect.VarTupleType):
        inner = elements(bare.item_type, True)
    elif isinstance(bare, inspect.TupleType):
        inner = [each for part in bare.item_types for each in elements(part, True)]
    return [*inner, bare] if inside else inner


class Probe(msgspec.Struct):
    """A type that breaks the rule below in three places."""

    numbers: list[float | str]
    pair: tuple[int, float]
    deep: dict[str, list[list[float]]]


def test_no_array_of_any_kind_holds_doubles_or_what_nobody_knows() -> None:
    """`canonical_struct` finds the doubles that are to be respelled by the keys before them, and arrays have none."""
    doubles = (inspect.FloatType, inspect.AnyType, inspect.RawType, inspect.DecimalType)
    for kind in KINDS:
        held = elements(inspect.type_info(document_type(kind)), False)
        assert [each for each in held if isinstance(each, doubles)] == [], kind
        # Types with a reader of their own give what they say they do.
        readers = [each.cls for each in held if isinstance(each, inspect.CustomType)]
        assert all(issubclass(cls, Custom) and cls.plain in (str, int) for cls in readers), kind
    probed = elements(inspect.type_info(Probe), False)
    assert sum(isinstance(each, doubles) for each in probed) == 3
    assert any(elements(inspect.type_info(document_type(kind)), False) for kind in KINDS)
