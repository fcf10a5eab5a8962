from __future__ import annotations

import subprocess
import sys

import pytest

from kstore.schema import KINDS, role_of
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
