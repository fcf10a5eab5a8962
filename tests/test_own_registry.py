"""This repository is a registry, and the first one that the project's own checks hold to its promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from kstore.actions.audit import audit
from kstore.actions.verify import verify
from kstore.registry import Registry
from tests.registries import REFERENCE

ROOT = Path(__file__).parent.parent


@pytest.fixture
def registry() -> Registry:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository")
    return Registry.open(ROOT)


def test_it_holds_the_reference_records(registry: Registry) -> None:
    rows = (REFERENCE / "digests.tsv").read_text().splitlines()[1:]
    assert {row.split("\t")[0] for row in rows} == set(registry.digests())


def test_it_verifies_strictly(registry: Registry) -> None:
    report = verify(registry, strict=True, cache=False)
    assert report.findings == ()
    assert report.complete


def test_its_history_only_ever_added(registry: Registry) -> None:
    assert audit(registry).findings == ()
