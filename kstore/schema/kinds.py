"""The thirteen kinds of records: their names, their roles, and where their types are defined.

A kind's types are made when they are first asked for: making all of them takes several milliseconds, and most commands
touch one or two kinds.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Literal

import msgspec

from kstore.schema.primitives import Strict

API_VERSION = "kernelindex.dev/v1alpha1"

_ROOMS_AND_ROLES = {
    "OperationSpec": ("operation", "operation"),
    "WorkloadCase": ("operation", "workload"),
    "WorkloadSuite": ("operation", "workload"),
    "SoftwareProject": ("implementation", "project"),
    "ImplementationRevision": ("implementation", "implementation"),
    "BenchmarkProtocol": ("benchmark", "protocol"),
    "ExecutionEnvironment": ("benchmark", "environment"),
    "BenchmarkRun": ("benchmark", "run"),
    "ModelRevision": ("serving", "model"),
    "ServingStackRevision": ("serving", "stack"),
    "ServingConfiguration": ("serving", "configuration"),
    "ServingWorkload": ("serving", "workload"),
    "ServingRun": ("serving", "run"),
}

KINDS: tuple[str, ...] = tuple(_ROOMS_AND_ROLES)


def role_of(kind: str) -> str:
    """Give the role that a record of a kind has for those who refer to it, such as `protocol` or `workload`.

    Raises:
        KeyError: There is no such kind.
    """
    return _ROOMS_AND_ROLES[kind][1]


@cache
def spec_type(kind: str) -> type[Strict]:
    """Give the type of the spec of a kind.

    Raises:
        KeyError: There is no such kind.
    """
    room = import_module(f"kstore.schema.{_ROOMS_AND_ROLES[kind][0]}")
    found: type[Strict] = getattr(room, kind)
    return found


@cache
def body_type(kind: str) -> type[msgspec.Struct]:
    """Give the type of a kind's identity body, `{apiVersion, kind, spec}`; of an unknown kind's, for `""`.

    Raises:
        KeyError: There is no such kind.
    """
    return _object(f"{kind or 'Unknown'}Body", _head(kind), ("spec", _spec(kind)))


@cache
def document_type(kind: str) -> type[msgspec.Struct]:
    """Give the type of a kind's documents, `{apiVersion, kind, metadata, spec}`; of an unknown kind's, for `""`.

    Raises:
        KeyError: There is no such kind.
    """
    from kstore.schema.metadata import Metadata

    return _object(f"{kind or 'Unknown'}Document", _head(kind), ("metadata", Metadata), ("spec", _spec(kind)))


def _head(kind: str) -> tuple[tuple[str, Any], ...]:
    kinds = (kind,) if kind else KINDS
    return ("api_version", Literal[API_VERSION]), ("kind", Literal[kinds])


def _spec(kind: str) -> Any:
    return spec_type(kind) if kind else dict[str, Any]


def _object(name: str, head: tuple[tuple[str, Any], ...], *fields: tuple[str, Any]) -> type[msgspec.Struct]:
    namespace = {"__doc__": "The fields that every record has."}
    return msgspec.defstruct(name, [*head, *fields], bases=(Strict,), namespace=namespace, module=__name__)
