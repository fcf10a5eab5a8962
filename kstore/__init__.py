"""kstore: benchmark records, named by their SHA-256, in a plain git repository.

    >>> import kstore
    >>> with kstore.Registry.open("results") as registry:
    ...     kstore.add(registry, ["run.json"])
    ...     record = registry.get(kstore.lookup(registry, "my-run"))
    ...     environment = kstore.resolve(registry, "my-run").records["environment"]
    ...     assert kstore.verify(registry).sound

Every name here is loaded when it is first used, so that `import kstore` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kstore.actions.add import Added, add
    from kstore.actions.list_ import list_records
    from kstore.actions.report import Report
    from kstore.actions.resolve import Resolved, resolve
    from kstore.actions.verify import verify
    from kstore.canonical import canonical as canonical_json
    from kstore.digest import Digest
    from kstore.errors import (
        Fault,
        InvalidDocumentError,
        KstoreError,
        LockedError,
        NoRegistryError,
        UsageError,
    )
    from kstore.registry import Registry
    from kstore.registry.errors import DamageError, NotFoundError
    from kstore.registry.lookup import lookup
    from kstore.schema import Record, json_schema


__version__ = "0.1.0"

__all__ = [
    "Added",
    "DamageError",
    "Digest",
    "Fault",
    "InvalidDocumentError",
    "KstoreError",
    "LockedError",
    "NoRegistryError",
    "NotFoundError",
    "Record",
    "Registry",
    "Report",
    "Resolved",
    "UsageError",
    "__version__",
    "add",
    "canonical_json",
    "json_schema",
    "list_records",
    "lookup",
    "resolve",
    "verify",
]

# `canonical` itself is a module of this package, and importing a module makes it an attribute of its package.
_HOMES = {
    "Added": "kstore.actions.add",
    "DamageError": "kstore.registry.errors",
    "Digest": "kstore.digest",
    "Fault": "kstore.errors",
    "InvalidDocumentError": "kstore.errors",
    "KstoreError": "kstore.errors",
    "LockedError": "kstore.errors",
    "NoRegistryError": "kstore.errors",
    "NotFoundError": "kstore.registry.errors",
    "Record": "kstore.schema",
    "Registry": "kstore.registry",
    "Report": "kstore.actions.report",
    "Resolved": "kstore.actions.resolve",
    "UsageError": "kstore.errors",
    "add": "kstore.actions.add",
    "canonical_json": "kstore.canonical:canonical",
    "json_schema": "kstore.schema",
    "list_records": "kstore.actions.list_",
    "lookup": "kstore.registry.lookup",
    "resolve": "kstore.actions.resolve",
    "verify": "kstore.actions.verify",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kstore' has no attribute {name!r}")
    from importlib import import_module

    module, _, attribute = _HOMES[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Name what is public, for completion."""
    return __all__
