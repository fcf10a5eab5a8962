"""Check what the documents of one bundle say of each other: the digests that they state for their neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from kstore.errors import Fault, Path, dotted

if TYPE_CHECKING:
    from kstore.actions.read import Read
    from kstore.registry import Registry
    from kstore.schema import Record, Reference


def check_bundles(base: Registry, reads: list[Read]) -> list[Fault]:
    """Compare each stated digest with the neighbour that stands under its role.

    In `{"run": …, "protocol": …}` the run must state the digest of that protocol: an edited protocol does not pass
    under the digest of the old one, even where the registry has the old one.
    """
    neighbours = {(read.document.source, read.document.path): read for read in reads}
    faults = []
    for read in reads:
        source, path = read.document.source, read.document.path
        if not path or not isinstance(path[-1], str):
            continue
        for reference in read.record.references():
            other = neighbours.get((source, (*path[:-1], reference.role)))
            if other is None or other.record.kind not in reference.kinds:
                continue
            if other.record.digest != reference.digest:
                message = _mismatch(base, reference, other)
                faults.append(read.document.fault(("spec", *reference.field.split(".")), message))
    return faults


def _mismatch(base: Registry, reference: Reference, other: Read) -> str:
    message = (
        f"states {reference.digest} for the {reference.role} of this bundle, "
        f"but the digest of that document is {other.record.digest}"
    )
    if reference.digest in base:
        changed = _difference(_spec(base.get(reference.digest)), _spec(other.record))
        if changed is not None:
            path, stated, found = changed
            message += f"; they differ in {dotted(('spec', *path))}: stated {stated}, found {found}"
    return message + "; state the new digest, or give the document that was stated"


def _spec(record: Record) -> Any:
    return msgspec.json.decode(record.body)["spec"]


def _difference(stated: Any, found: Any, path: Path = ()) -> tuple[Path, str, str] | None:
    """Find the first place where two JSON values differ, and what stands there in each."""
    if isinstance(stated, dict) and isinstance(found, dict):
        for key in sorted(stated.keys() | found.keys()):
            if key not in stated or key not in found:
                return (*path, key), _short(stated, key), _short(found, key)
            if stated[key] != found[key]:
                return _difference(stated[key], found[key], (*path, key))
        return None
    if isinstance(stated, list) and isinstance(found, list) and len(stated) == len(found):
        for index, (one, other) in enumerate(zip(stated, found, strict=True)):
            if one != other:
                return _difference(one, other, (*path, index))
        return None
    return path, _shown(stated), _shown(found)


def _short(value: dict[str, Any], key: str) -> str:
    return _shown(value[key]) if key in value else "nothing"


def _shown(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= 60 else text[:57] + "…"
