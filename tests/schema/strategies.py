"""Hypothesis strategies of whole documents, made from the same types that validate them; and of damage to them."""

from __future__ import annotations

import copy
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from msgspec import UNSET, inspect

from kstore.schema import KINDS
from kstore.schema.kinds import document_type
from kstore.schema.primitives import END, SAFE
from kstore.schema.url import _Url

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENTLY = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
)
"""Whole documents take a while to make, and a busy machine takes longer."""

VECTORS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "vectors.json").read_text(encoding="utf-8")
)


def valid(kind: str) -> dict[str, Any]:
    """Give a document of a kind with every field, to be changed by the caller."""
    wanted = f"{kind}: every field"
    return copy.deepcopy(next(vector["document"] for vector in VECTORS if vector["why"] == wanted))


def refused() -> list[Any]:
    """Give the documents of all vectors that are no records."""
    return [vector["document"] for vector in VECTORS if "problems" in vector]


def _string(bare: inspect.StrType) -> st.SearchStrategy[Any]:
    if bare.pattern is None:
        # Half the length at most, so that characters of two code units fit.
        return st.text(max_size=min(20, (bare.max_length or 40) // 2))
    texts = st.from_regex(bare.pattern.removesuffix(END) + r"\Z")
    return texts.filter(lambda text: len(text) <= (bare.max_length or len(text)))


def _struct(bare: inspect.StructType) -> st.SearchStrategy[Any]:
    objects = st.fixed_dictionaries(
        {field.encode_name: _of(field.type) for field in bare.fields if field.required},
        optional={field.encode_name: _of(field.type) for field in bare.fields if not field.required},
    )
    rules = getattr(bare.cls, "rules", ())
    return objects.filter(lambda fields: not any(rule.broken(lambda name: fields.get(name, UNSET)) for rule in rules))


_DURATIONS = st.one_of(
    st.integers(0, SAFE),
    st.builds(
        "{}.{:03}{}{}".format,
        st.integers(0, 10**6),
        st.integers(0, 999),
        st.sampled_from(["", " ", "\t"]),
        st.sampled_from(["us", "\u00b5s", "ms", "s"]),
    ),
    st.integers(0, 10**9).map("{} ns".format),
)
_URLS = st.sampled_from(
    ["https://example.org", "https://example.org/\u00fc?\U0001f600", "HTTPS:example.org", "https://[::1]:8443/"]
)


def _of(expected: Any) -> st.SearchStrategy[Any]:
    bare = expected.type if isinstance(expected, inspect.Metadata) else expected
    return _STRATEGIES[type(bare)](bare)


def _float(bare: inspect.FloatType) -> st.SearchStrategy[Any]:
    return st.floats(bare.ge if bare.gt is None else bare.gt, bare.le, exclude_min=bare.gt is not None)


_STRATEGIES: dict[type, Callable[[Any], st.SearchStrategy[Any]]] = {
    inspect.StructType: _struct,
    inspect.StrType: _string,
    inspect.IntType: lambda bare: st.integers(bare.ge, bare.le) | st.integers(bare.ge, min(bare.le, 10)).map(float),
    inspect.FloatType: _float,
    inspect.BoolType: lambda _: st.booleans(),
    inspect.LiteralType: lambda bare: st.sampled_from(bare.values),
    inspect.UnionType: lambda bare: st.one_of([_of(each) for each in bare.types]),
    inspect.DictType: lambda bare: st.dictionaries(_of(bare.key_type), _of(bare.value_type), max_size=2),
    inspect.ListType: lambda bare: st.lists(_of(bare.item_type), min_size=bare.min_length or 0, max_size=2),
    inspect.CustomType: lambda bare: _URLS if bare.cls is _Url else _DURATIONS,
}


@cache
def documents(kind: str | None = None) -> st.SearchStrategy[Any]:
    """Give valid documents of one kind, or of any."""
    if kind is None:
        return st.sampled_from(KINDS).flatmap(documents)
    return _of(inspect.type_info(document_type(kind)))


_ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-SAFE - 2, SAFE + 2),  # beyond it reading gives floats
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["a" * 101, "\U0001f600" * 60, "\ud800", "8 min", "0.0001 us", "https://", "a\n", [], {}, [[]]]),
).map(copy.deepcopy)


@st.composite
def damaged(draw: st.DrawFn, kind: str | None = None) -> Any:
    """Give documents in which one to three places were changed, and which may be valid all the same."""
    document = draw(documents(kind))
    for _ in range(draw(st.integers(1, 3))):
        if isinstance(document, dict):
            _damage(draw, document)
    return document


def _damage(draw: st.DrawFn, document: dict[str, Any]) -> None:
    at: Any = document
    while True:
        inside = [
            item for item in (at.values() if isinstance(at, dict) else at) if isinstance(item, (dict, list)) and item
        ]
        if not inside or not draw(st.integers(0, 3)):
            break
        at = draw(st.sampled_from(inside))
    key = draw(st.sampled_from(sorted(at))) if isinstance(at, dict) else draw(st.integers(0, len(at) - 1))
    action = draw(st.sampled_from(["change", "remove", "add"]))
    if action == "change":
        at[key] = draw(_ODD)
    elif action == "remove":
        del at[key]
    elif isinstance(at, dict):
        at[draw(st.text(max_size=5) | st.just("\ud800"))] = draw(_ODD)
    else:
        at.append(draw(_ODD))
