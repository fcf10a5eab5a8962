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
    from kstore.actions.attest import attest as attest_replication
    from kstore.actions.list_ import list_records
    from kstore.actions.report import Report
    from kstore.actions.resolve import Resolved, resolve
    from kstore.actions.retract import retract
    from kstore.actions.sign import sign
    from kstore.actions.standing import standing
    from kstore.actions.state import Stated
    from kstore.actions.supersede import supersede
    from kstore.actions.verify import verify
    from kstore.attest.signing import open_signer
    from kstore.attest.standing import Standing
    from kstore.canonical import canonical as canonical_json
    from kstore.digest import Digest
    from kstore.errors import (
        Fault,
        InvalidDocumentError,
        KstoreError,
        LockedError,
        NoRegistryError,
        NoTrustError,
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
    "NoTrustError",
    "NotFoundError",
    "Record",
    "Registry",
    "Report",
    "Resolved",
    "Standing",
    "Stated",
    "UsageError",
    "__version__",
    "add",
    "attest_replication",
    "canonical_json",
    "json_schema",
    "list_records",
    "lookup",
    "open_signer",
    "resolve",
    "retract",
    "sign",
    "standing",
    "supersede",
    "verify",
]

# `canonical` and `attest` themselves are modules of this package, and importing a module makes it an attribute of its
# package.
_HOMES = {
    "Added": "kstore.actions.add",
    "DamageError": "kstore.registry.errors",
    "Digest": "kstore.digest",
    "Fault": "kstore.errors",
    "InvalidDocumentError": "kstore.errors",
    "KstoreError": "kstore.errors",
    "LockedError": "kstore.errors",
    "NoRegistryError": "kstore.errors",
    "NoTrustError": "kstore.errors",
    "NotFoundError": "kstore.registry.errors",
    "Record": "kstore.schema",
    "Registry": "kstore.registry",
    "Report": "kstore.actions.report",
    "Resolved": "kstore.actions.resolve",
    "Standing": "kstore.attest.standing",
    "Stated": "kstore.actions.state",
    "UsageError": "kstore.errors",
    "add": "kstore.actions.add",
    "attest_replication": "kstore.actions.attest:attest",
    "canonical_json": "kstore.canonical:canonical",
    "json_schema": "kstore.schema",
    "list_records": "kstore.actions.list_",
    "lookup": "kstore.registry.lookup",
    "open_signer": "kstore.attest.signing",
    "resolve": "kstore.actions.resolve",
    "retract": "kstore.actions.retract",
    "sign": "kstore.actions.sign",
    "standing": "kstore.actions.standing",
    "supersede": "kstore.actions.supersede",
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
