"""The public names of the package, and what they do together in a notebook."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pytest

import kstore
from tests.markdown import REPO

if TYPE_CHECKING:
    from pathlib import Path

REFERENCE = REPO / "tests" / "data" / "reference"
RUN = "sha256:e8a0f82e8e2dcba804ea830e44d6a7deceba406114a858520811e5310309984e"


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "A. Reader")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "reader@example.org")
    with kstore.Registry.init(tmp_path / "results") as registry:
        yield registry


def _bundle() -> dict[str, Any]:
    bundle: dict[str, Any] = json.loads((REFERENCE / "liger-tvd.json").read_text())
    return bundle


def test_import_loads_nothing_heavy() -> None:
    script = "import sys, kstore; print([name for name in sys.modules if name.partition('.')[0] in sys.argv])"
    arguments = [sys.executable, "-c", script, "msgspec", "typer", "dulwich", "yaml", "importlib.metadata"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_public_name_is_there() -> None:
    for name in kstore.__all__:
        assert getattr(kstore, name) is getattr(kstore, name)
    assert dir(kstore) == sorted(kstore.__all__)
    assert kstore.__version__ == version("kstore")


def test_public_errors_are_one_family() -> None:
    errors = [name for name in kstore.__all__ if name.endswith("Error")]
    assert len(errors) > 4
    for name in errors:
        assert issubclass(getattr(kstore, name), kstore.KstoreError)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'kstore' has no attribute 'sing'"):
        _ = kstore.sing


def test_types_are_visible_to_mypy(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is an extra of its own")
    program = tmp_path / "program.py"
    names = ", ".join(f"kstore.{name}" for name in kstore.__all__)
    program.write_text(
        f"import kstore\n\n_ = ({names})\n\n"
        "def digest(registry: kstore.Registry, ref: str) -> kstore.Digest:\n    return kstore.lookup(registry, ref)\n\n"
        "def wrong(registry: kstore.Registry) -> int:\n    return kstore.verify(registry)\n"
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=REPO, check=False)
    errors = [line for line in done.stdout.splitlines() if line.startswith(str(program))]
    assert len(errors) == 1, done.stdout
    assert 'got "Report", expected "int"' in errors[0]


def test_a_session(registry: kstore.Registry) -> None:
    added = kstore.add(registry, [REFERENCE / "liger-tvd.json", str(REFERENCE / "closure.json")])
    assert {record.status for record in added.records} == {"added"}
    record = registry.get(kstore.lookup(registry, "e8a0f82e"))
    assert record.digest == RUN == kstore.Digest.of(record.body)
    assert kstore.resolve(registry, record.name).records["environment"].spec.hardware.product == "NVIDIA H100"
    assert [row.digest for row in kstore.list_records(registry, "BenchmarkRun")] == [RUN]
    assert kstore.verify(registry).sound
    with kstore.Registry.open(registry.path) as again:
        assert list(again.digests()) == list(registry.digests())


@pytest.mark.parametrize("form", ["bundle", "documents", "one path"])
def test_add_takes_values_and_paths_alike(registry: kstore.Registry, form: str) -> None:
    bundle = _bundle()
    sources: Any = {
        "bundle": bundle,
        "documents": [bundle["run"], bundle["protocol"], bundle["environment"]],
        "one path": str(REFERENCE / "liger-tvd.json"),
    }[form]
    added = kstore.add(registry, sources)
    assert {record.kind for record in added.records} == {"BenchmarkRun", "BenchmarkProtocol", "ExecutionEnvironment"}
    assert RUN in list(registry.digests())


def test_add_checks_the_digests_that_a_bundle_of_values_states(registry: kstore.Registry) -> None:
    bundle = _bundle()
    bundle["environment"]["spec"]["hardware"]["product"] = "NVIDIA H200"
    with pytest.raises(kstore.InvalidDocumentError, match=r"<value 1>: run\.spec\.environmentDigest: states sha256:"):
        kstore.add(registry, bundle)
    assert not list(registry.digests())


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (float("nan"), r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected a finite number, found nan"),
        (float("inf"), r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected a finite number, found inf"),
        (2**53, r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected an integer within"),
        ("\ud800", r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected Unicode text"),
        ({1: 2}, r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected .*string.*, found 1"),
        (object(), r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected a JSON value"),
        ("soon", r"<value 2>: run\.spec\.timing\.latencyNs\.median: expected a duration"),
    ],
)
def test_what_is_wrong_with_a_value_is_said_with_its_place(
    registry: kstore.Registry, value: object, message: str
) -> None:
    bundle = _bundle()
    bundle["run"]["spec"]["timing"]["latencyNs"]["median"] = value
    with pytest.raises(kstore.InvalidDocumentError, match=f"^{message}") as caught:
        kstore.add(registry, [REFERENCE / "closure.json", bundle])
    assert [(fault.line, fault.column) for fault in caught.value.faults] == [(None, None)]


@pytest.mark.parametrize("value", [{"a": 1}, [[1]], {}])
def test_a_value_without_documents_has_no_line_in_its_message(registry: kstore.Registry, value: Any) -> None:
    with pytest.raises(kstore.InvalidDocumentError, match=r"^<value 1>: expected a document"):
        kstore.add(registry, [value])


def test_an_added_value_shares_nothing_with_the_caller(registry: kstore.Registry) -> None:
    bundle = _bundle()
    kstore.add(registry, bundle)
    bundle["environment"]["metadata"]["name"] = "changed"
    digest = kstore.lookup(registry, "liger-bench-nvidia-h100-80gb-hbm3")
    assert registry.get(digest).name == "liger-bench-nvidia-h100-80gb-hbm3"
