"""What hypothesis makes documents of."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

SAFE = 2**53 - 1

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(-SAFE, SAFE) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=20
)
objects = st.dictionaries(texts, values, max_size=5)


def same(left: Any, right: Any) -> bool:
    """Compare JSON values with their types, in which True is not 1 and 1 is not 1.0, but -0.0 is 0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right) or (isinstance(left, float) and math.isnan(left) and math.isnan(right))
