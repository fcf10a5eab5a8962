"""Verify a registry: every file under store/, and what its records say of each other."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from kstore.actions.checkout import DOUBTFUL, checkout_findings, committed_files, signed_differing
from kstore.actions.inspect import Finding, Inspected, Severity, inspect, inspect_bytes
from kstore.actions.ledger import Ledger
from kstore.actions.memory import Memory
from kstore.actions.parallel import in_order, usable_processors
from kstore.actions.progress import Progress, silent
from kstore.actions.refer import Said, is_sound, reference_problems
from kstore.actions.report import Report
from kstore.actions.statements import check_signed, missing_signatures, require_pin
from kstore.digest import Digest
from kstore.git.files import REGULAR, UnreadableError
from kstore.git.uncommitted import Differing, blob_id, differing
from kstore.layout import SIGNED_FOLDERS, STORE, holds_records, is_folder, name_in_place, path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kstore.git.files import Entry, Files
    from kstore.git.tree import TreeFiles
    from kstore.registry import Registry

_FOLDERS_A_BATCH = {1: 16, 2: 64}
"""How many folders a worker process is given at once, by fan-out."""

_METADATA = f"{STORE}/metadata/"

_FEW = 4096
"""Up to so many files are checked before another process would be of any help."""


def verify(
    registry: Registry,
    *,
    strict: bool = False,
    require_signatures: bool = False,
    jobs: int | None = None,
    cache: bool = True,
    progress: Progress = silent,
) -> Report:
    """Check every file of a registry, and every reference.

    Args:
        registry: What to check: its working tree, its HEAD, or another commit (`registry.at`).
        strict: Count references to what the registry need not have as incomplete.
        require_signatures: Insist that a signer who counts endorses every record.
        jobs: How many processes do the work; None is one for each processor where that pays.
        cache: Whether bytes that were found sound before need only be hashed; see `Memory`.
        progress: Told of every folder that records lie in.

    Raises:
        NoTrustError: Signatures are required, and no trust policy is pinned in this clone.
        KstoreError: A worker process was killed.
    """
    if require_signatures:
        require_pin(registry)
    findings: list[Finding] = []
    differ: list[Differing] = []
    checked = Counter(objects=0, metadata=0)
    ledger = Ledger()
    committed = committed_files(registry, findings)
    memory = Memory(registry.memory if cache else None)
    for inspection in _inspections(registry, committed, jobs, memory, progress):
        findings.extend(inspection.findings)
        differ.extend(inspection.differing)
        for digest in inspection.metadata:
            ledger.expect(digest)
        # metadata/ comes before objects/, so that every record is expected when its object comes.
        missing = [digest for digest, said in inspection.objects if not ledger.enter(digest, said)]
        findings.extend(_missing_metadata(missing, registry.settings.fanout))
        checked.update(objects=len(inspection.objects), metadata=len(inspection.metadata))
    findings.extend(_orphans(ledger, registry.settings.fanout))
    findings.extend(_references(ledger, registry))
    signed = check_signed(registry, None, lambda digest: ledger.get(digest.raw) is not None, jobs=jobs)
    findings.extend(signed.findings)
    checked.update(signed.checked)
    if require_signatures:
        findings.extend(missing_signatures(_paths(ledger, registry.settings.fanout), signed.endorsed))
    place = registry.checked_out
    if place is not None:
        if signed.differing is not None:
            differ.extend(signed_differing(place, signed.differing))
        findings.extend(checkout_findings(registry, place, committed, differ, list(findings)))
    findings.sort(key=lambda finding: (finding.path, finding.code, finding.message))
    # Of an edit that nobody staged nobody can tell whether it is one, or damage.
    doubtful = {DOUBTFUL, "unresolved-reference"} if strict else {DOUBTFUL}
    complete = not signed.gaps and all(finding.code not in doubtful for finding in findings)
    notes = *signed.notes, *(f"{gap.reason}; `{gap.remedy}` completes it" for gap in signed.gaps)
    return Report(dict(checked), complete, tuple(findings), notes)


class _Inspection(msgspec.Struct, array_like=True):
    """What some folders came to.

    Attributes:
        findings: Everything that is wrong in them.
        objects: The records whose objects are in them, and what they say.
        metadata: The records whose metadata are in them.
        differing: Their files that are not as HEAD has them, where that is to be looked at.
    """

    findings: list[Finding]
    objects: list[tuple[bytes, Said]]
    metadata: list[bytes]
    differing: list[Differing]


# A digest is a `str`, but msgspec encodes no subclasses of it by itself.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode_folders = msgspec.msgpack.Decoder(list[str]).decode
_decode_inspection = msgspec.msgpack.Decoder(_Inspection, dec_hook=lambda kind, value: kind(value)).decode


def _inspections(
    registry: Registry, committed: TreeFiles | None, jobs: int | None, memory: Memory, progress: Progress
) -> Iterator[_Inspection]:
    """Inspect the upper folders here, and let workers inspect those that the records lie in."""
    fanout = registry.settings.fanout
    top = _Inspection([], [], [], [])
    folders = list(_record_folders(registry.files, STORE, fanout, top))
    if committed is not None:
        gone = set(_record_folders(committed, STORE, fanout, _Inspection([], [], [], []))).difference(folders)
        for folder in sorted(gone):
            _compare(committed, registry.files, folder, (), {}, top)
    yield top
    batch = _FOLDERS_A_BATCH[fanout]
    batches = (_encode(folders[start : start + batch]) for start in range(0, len(folders), batch))
    if jobs is None:
        jobs = usable_processors() if _is_large(registry.files, folders) else 1
    with progress(len(folders)) as step:
        for data in in_order(_inspect_folders, (registry.files, fanout, memory, committed), batches, jobs):
            yield _decode_inspection(data)
            if step is not None:
                step(batch)


def _record_folders(files: Files, folder: str, fanout: int, top: _Inspection) -> Iterator[str]:
    """Find the folders that records lie in, and inspect what lies above them on the way."""
    for entry in files.scan(folder):
        if entry.type == "folder" and entry.path in SIGNED_FOLDERS.values():
            continue
        if entry.type != "folder" or not is_folder(entry.path, fanout):
            _enter(inspect(files, entry, fanout, {}), top)
        elif holds_records(entry.path, fanout):
            yield entry.path
        else:
            yield from _record_folders(files, entry.path, fanout, top)


def _is_large(files: Files, folders: list[str]) -> bool:
    """Guess from one folder whether there is enough to do for more than one process."""
    return bool(folders) and len(folders) * len(files.names(folders[0])) > _FEW


def _inspect_folders(tools: tuple[Files, int, Memory, TreeFiles | None], batch: bytes) -> bytes:
    """Inspect everything in some folders; a worker process runs this."""
    files, fanout, memory, committed = tools
    inspection = _Inspection([], [], [], [])
    for folder in _decode_folders(batch):
        known, mark = memory.recall(folder)
        sound = {}
        state = []
        blobs: dict[str, bytes] = {}
        entries = list(files.scan(folder))
        for entry in entries:
            file = _read_in_place(files, entry, fanout)
            hashed = None if file is None else _recognize(entry.path, file, known, inspection)
            if hashed is not None:
                sound[hashed] = known[hashed]
            else:
                if file is None:
                    inspected = inspect(files, entry, fanout, known)
                else:
                    inspected = inspect_bytes(entry.path, file.mode, file.data, fanout, known)
                    if committed is not None:
                        blobs[entry.path] = blob_id(file.data)
                hashed = inspected.hash
                _enter(inspected, inspection)
                if not inspected.findings:
                    sound[hashed] = inspected.said
            state.append((entry.path, hashed))
        committed_so = mark
        if committed is not None:
            found = committed.find(folder)
            now = hashlib.sha256(_encode((state, found and found[1]))).digest()
            if now != mark:
                committed_so = now if _compare(committed, files, folder, entries, blobs, inspection) else b""
        if sound != known or committed_so != mark:
            memory.keep(folder, sound, committed_so)
    return _encode(inspection)


class _FileInPlace(NamedTuple):
    """A file that lies where a record's belongs: the record's digest, 32 bytes, and the file's mode and bytes."""

    digest: bytes
    mode: int
    data: bytes


def _read_in_place(files: Files, entry: Entry, fanout: int) -> _FileInPlace | None:
    """Read a file that lies where a record's belongs; None leaves everything else, and why, to `inspect`."""
    name = name_in_place(entry.path, fanout) if entry.type == "file" else None
    if name is None:
        return None
    try:
        return _FileInPlace(bytes.fromhex(name), *files.load(entry))
    except UnreadableError:
        return None


def _recognize(path: str, file: _FileInPlace, known: Mapping[bytes, Said], inspection: _Inspection) -> bytes | None:
    """Enter a file with bytes that were sound before; None leaves it to be inspected.

    Returns:
        The SHA-256 of its bytes.
    """
    if file.mode != REGULAR or not known:
        return None
    digest, hashed = file.digest, hashlib.sha256(file.data).digest()
    said = known.get(hashed)
    if said is None:
        return None
    if path.startswith(_METADATA):
        inspection.metadata.append(digest)
    elif digest == hashed:
        inspection.objects.append((digest, said))
    else:
        return None
    return hashed


def _compare(
    committed: TreeFiles,
    files: Files,
    folder: str,
    entries: Iterable[Entry],
    blobs: Mapping[str, bytes],
    inspection: _Inspection,
) -> bool:
    """Compare a folder with HEAD's, and tell whether all is as it is there; see `differing`."""
    try:
        found = list(differing(committed, files, folder, entries, blobs))
    except UnreadableError as error:
        inspection.findings.append(Finding("error", "unreadable", folder, None, f"as HEAD has it: {error}"))
        return False
    inspection.differing.extend(found)
    return not found


def _enter(inspected: Inspected, inspection: _Inspection) -> None:
    inspection.findings.extend(inspected.findings)
    if inspected.place is None:
        return
    if inspected.place.part == "objects":
        inspection.objects.append((inspected.place.digest.raw, inspected.said))
    else:
        inspection.metadata.append(inspected.place.digest.raw)


def _paths(ledger: Ledger, fanout: int) -> Iterator[tuple[Digest, str]]:
    for raw, _ in ledger.entered():
        digest = Digest.from_raw(raw)
        yield digest, path_of("objects", digest, fanout)


def _missing_metadata(digests: Iterable[bytes], fanout: int) -> Iterator[Finding]:
    for digest in map(Digest.from_raw, digests):
        message = "expected the metadata of a record that is here; `git log` on this path tells where they went"
        yield Finding("error", "missing-metadata", path_of("metadata", digest, fanout), digest, message)


def _orphans(ledger: Ledger, fanout: int) -> Iterator[Finding]:
    for digest in map(Digest.from_raw, ledger.only_expected()):
        message = f"expected their record at {path_of('objects', digest, fanout)}"
        yield Finding("error", "orphan-metadata", path_of("metadata", digest, fanout), digest, message)


def _references(ledger: Ledger, registry: Registry) -> Iterator[Finding]:
    """Check that what records refer to is there, and is what it should be."""
    everything = ledger.entries()
    for raw, said in ledger.entered():
        if is_sound(said, everything):
            continue
        for problem in reference_problems(said, ledger.get, registry.settings.requires):
            digest = Digest.from_raw(raw)
            severity: Severity = "error" if problem.refused else "warning"
            path = path_of("objects", digest, registry.settings.fanout)
            yield Finding(severity, problem.code, path, digest, f"{problem.field}: {problem.message}")
