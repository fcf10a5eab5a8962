"""Every test that the document on security names is there."""

from __future__ import annotations

import ast
import re

import pytest

from tests.markdown import REPO

DOCUMENT = (REPO / "docs" / "security.md").read_text()
NAMED = re.findall(r"`([\w/]+\.py)::(\w+)`", DOCUMENT)


def test_it_names_tests() -> None:
    assert len(NAMED) > 30
    assert DOCUMENT.count("::") == len(NAMED), "each claim names its test in one way"


@pytest.mark.parametrize(("file", "name"), NAMED, ids=[name for _, name in NAMED])
def test_a_test_that_it_names_is_there(file: str, name: str) -> None:
    tree = ast.parse((REPO / "tests" / file).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
