"""Verify a registry: every file under store/, and what its records say of each other."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.inspect import Finding, Inspected, Severity, inspect
from kstore.actions.ledger import Ledger
from kstore.actions.memory import Memory
from kstore.actions.parallel import in_order, usable_processors
from kstore.actions.progress import Progress, silent
from kstore.actions.refer import Said, reference_problems
from kstore.actions.report import Report
from kstore.digest import Digest
from kstore.layout import STORE, holds_records, is_folder, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kstore.git.files import Files
    from kstore.registry import Registry

_FOLDERS_A_BATCH = {1: 8, 2: 64}
"""How many folders a worker process is given at once, by fan-out."""

_FEW = 4096
"""Up to so many files are checked before another process would be of any help."""


def verify(
    registry: Registry,
    *,
    strict: bool = False,
    jobs: int | None = None,
    cache: bool = True,
    progress: Progress = silent,
) -> Report:
    """Check every file of a registry, and every reference.

    Args:
        registry: What to check: its working tree, its HEAD, or another commit (`registry.at`).
        strict: Count references to what the registry need not have as incomplete.
        jobs: How many processes do the work; None is one for each processor where that pays.
        cache: Whether bytes that were found sound before need only be hashed; see `Memory`.
        progress: Told of every folder that records lie in.

    Raises:
        KstoreError: A worker process was killed.
    """
    findings: list[Finding] = []
    checked = Counter(objects=0, metadata=0)
    ledger = Ledger()
    for inspection in _inspections(registry, jobs, Memory(registry.memory if cache else None), progress):
        findings.extend(inspection.findings)
        for digest in inspection.metadata:
            ledger.expect(digest)
        # metadata/ comes before objects/, so that every record is expected when its object comes.
        missing = [digest for digest, said in inspection.objects if not ledger.enter(digest, said)]
        findings.extend(_missing_metadata(missing, registry.settings.fanout))
        checked.update(objects=len(inspection.objects), metadata=len(inspection.metadata))
    findings.extend(_orphans(ledger, registry.settings.fanout))
    findings.extend(_references(ledger, registry))
    findings.extend(_index(registry))
    findings.sort(key=lambda finding: (finding.path, finding.code, finding.message))
    unresolved = any(finding.code == "unresolved-reference" for finding in findings)
    return Report(dict(checked), not (strict and unresolved), tuple(findings))


class _Inspection(msgspec.Struct, array_like=True):
    """What some folders came to.

    Attributes:
        findings: Everything that is wrong in them.
        objects: The records whose objects are in them, and what they say.
        metadata: The records whose metadata are in them.
    """

    findings: list[Finding]
    objects: list[tuple[bytes, Said]]
    metadata: list[bytes]


# A digest is a `str`, but msgspec encodes no subclasses of it by itself.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode_folders = msgspec.msgpack.Decoder(list[str]).decode
_decode_inspection = msgspec.msgpack.Decoder(_Inspection, dec_hook=lambda kind, value: kind(value)).decode


def _inspections(registry: Registry, jobs: int | None, memory: Memory, progress: Progress) -> Iterator[_Inspection]:
    """Inspect the upper folders here, and let workers inspect those that the records lie in."""
    fanout = registry.settings.fanout
    top = _Inspection([], [], [])
    folders = list(_record_folders(registry.files, STORE, fanout, top))
    yield top
    batch = _FOLDERS_A_BATCH[fanout]
    batches = (_encode(folders[start : start + batch]) for start in range(0, len(folders), batch))
    if jobs is None:
        jobs = usable_processors() if _is_large(registry.files, folders) else 1
    with progress(len(folders)) as step:
        for data in in_order(_inspect_folders, (registry.files, fanout, memory), batches, jobs):
            yield _decode_inspection(data)
            if step is not None:
                step(batch)


def _record_folders(files: Files, folder: str, fanout: int, top: _Inspection) -> Iterator[str]:
    """Find the folders that records lie in, and inspect what lies above them on the way."""
    for entry in files.scan(folder):
        if entry.type != "folder" or not is_folder(entry.path, fanout):
            _enter(inspect(files, entry, fanout, {}), top)
        elif holds_records(entry.path, fanout):
            yield entry.path
        else:
            yield from _record_folders(files, entry.path, fanout, top)


def _is_large(files: Files, folders: list[str]) -> bool:
    """Guess from one folder whether there is enough to do for more than one process."""
    return bool(folders) and len(folders) * len(files.names(folders[0])) > _FEW


def _inspect_folders(tools: tuple[Files, int, Memory], batch: bytes) -> bytes:
    """Inspect everything in some folders; a worker process runs this."""
    files, fanout, memory = tools
    inspection = _Inspection([], [], [])
    for folder in _decode_folders(batch):
        known = memory.recall(folder)
        sound = {}
        for entry in files.scan(folder):
            inspected = inspect(files, entry, fanout, known)
            _enter(inspected, inspection)
            if not inspected.findings:
                sound[inspected.hash] = inspected.said
        if sound != known:
            memory.keep(folder, sound)
    return _encode(inspection)


def _enter(inspected: Inspected, inspection: _Inspection) -> None:
    inspection.findings.extend(inspected.findings)
    if inspected.place is None:
        return
    if inspected.place.part == "objects":
        inspection.objects.append((inspected.place.digest.raw, inspected.said))
    else:
        inspection.metadata.append(inspected.place.digest.raw)


def _missing_metadata(digests: Iterable[bytes], fanout: int) -> Iterator[Finding]:
    for digest in map(Digest.from_raw, digests):
        message = "expected the metadata of a record that is here; `git log` on this path tells where they went"
        yield Finding("error", "missing-metadata", path_of("metadata", digest, fanout), digest, message)


def _orphans(ledger: Ledger, fanout: int) -> Iterator[Finding]:
    for digest in map(Digest.from_raw, ledger.only_expected()):
        message = f"expected their record at {path_of('objects', digest, fanout)}"
        yield Finding("error", "orphan-metadata", path_of("metadata", digest, fanout), digest, message)


def _index(registry: Registry) -> Iterator[Finding]:
    damage = registry.index_damage()
    if damage is not None:
        message = f"{damage}; `rm .git/index` and `git reset` make it anew, and lose only what was staged"
        yield Finding("error", "damaged-index", ".git/index", None, message)


def _references(ledger: Ledger, registry: Registry) -> Iterator[Finding]:
    """Check that what records refer to is there, and is what it should be."""
    for raw, said in ledger.entered():
        for problem in reference_problems(said, ledger.get, registry.settings.requires):
            digest = Digest.from_raw(raw)
            severity: Severity = "error" if problem.refused else "warning"
            path = path_of("objects", digest, registry.settings.fanout)
            yield Finding(severity, problem.code, path, digest, f"{problem.field}: {problem.message}")
