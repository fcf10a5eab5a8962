from __future__ import annotations

from itertools import count

from kstore.errors import KstoreError
from kstore.schema.problems import MOST, SchemaError


def test_tells_place_and_problem() -> None:
    error = SchemaError([((), "no object"), (("spec", "inputs", 0), "no tensor")])
    assert isinstance(error, KstoreError)
    assert str(error) == "no object\nspec.inputs.0: no tensor"
    assert error.problems == (((), "no object"), (("spec", "inputs", 0), "no tensor"))


def test_has_as_many_as_there_are() -> None:
    assert len(SchemaError(((i,), "x") for i in range(MOST)).problems) == MOST


def test_stops_looking_at_a_hundred() -> None:
    problems = SchemaError(((i,), "x") for i in count()).problems
    assert len(problems) == MOST + 1
    assert problems[-1] == ((), f"there are more problems; only the first {MOST} are listed")
