"""constraints.txt pins everything that pyproject.toml asks for, to versions that it allows."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.markdown import REPO

_PROJECT = tomllib.loads((REPO / "pyproject.toml").read_text())["project"]
_WANTED = [*_PROJECT["dependencies"], *(text for extra in _PROJECT["optional-dependencies"].values() for text in extra)]
_LINES = [line for line in (REPO / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
_PINS = {canonicalize_name(pin.name): pin for pin in map(Requirement, _LINES)}


@pytest.mark.parametrize("wanted", _WANTED)
def test_requirement_is_pinned_to_a_version_that_it_allows(wanted: str) -> None:
    requirement = Requirement(wanted)
    pin = _PINS[canonicalize_name(requirement.name)]
    (version,) = pin.specifier
    assert version.operator == "=="
    assert requirement.specifier.contains(version.version), f"renew constraints.txt: its first lines say how ({pin})"
