from __future__ import annotations

import json
from typing import Any

import pytest

from kstore.errors import dotted
from kstore.schema import SchemaError, check, check_json
from tests.schema.strategies import VECTORS


def verdict(make: Any, document: Any) -> dict[str, Any]:
    try:
        return {"digest": make(document).digest}
    except SchemaError as error:
        return {"problems": [dotted(path) for path, _ in error.problems]}


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["why"] for vector in VECTORS])
def test_vector(vector: dict[str, Any]) -> None:
    expected = {key: vector[key] for key in ("digest", "problems") if key in vector}
    assert len(expected) == 1
    assert verdict(check, vector["document"]) == expected
    assert verdict(check_json, json.dumps(vector["document"]).encode()) == expected
