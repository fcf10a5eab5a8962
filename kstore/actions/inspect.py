"""Inspect one file under store/: whether its bytes are what its name and its place say."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from kstore.actions.diagnose import diagnose
from kstore.actions.refer import DAMAGED, NOTHING, Said, said_by
from kstore.canonical import canonical_struct
from kstore.digest import Digest
from kstore.errors import KstoreError, dotted
from kstore.git.files import REGULAR, UnreadableError
from kstore.layout import SETTINGS, Settings, place_of
from kstore.schema import SchemaError, check_body, check_metadata, identity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.git.files import Entry, Files
    from kstore.layout import Place

Severity: TypeAlias = Literal["error", "warning"]

_WHAT = {
    "folder": "a folder that does not belong here",
    "link": "a symbolic link",
    "submodule": "a submodule",
    "special": "something that is neither a file nor a folder",
    "duplicate": "a second entry of the same name in one git tree, which checkouts and tools take differently",
}

UNFINISHED = (
    "a kstore was killed, or is at work, while it wrote this, and no commit has it; to have it written, run the same "
    "command again; the next command that writes takes it back"
)


class Finding(msgspec.Struct, frozen=True):
    """One thing that is wrong, or that a reader should know.

    Attributes:
        severity: A warning does not make a registry unsound.
        code: What it is, in a word that scripts can rely on.
        path: The file, from the repository's root.
        digest: The record that it is about, where there is one.
        message: What was expected and found, and what to do.
    """

    severity: Severity
    code: str
    path: str
    digest: Digest | None
    message: str


class Inspected(msgspec.Struct, frozen=True, gc=False):
    """What one file came to.

    Attributes:
        findings: Everything wrong with it.
        place: Which record's file it is; None for settings and for what does not belong.
        said: What an object refers to; `DAMAGED` where it is too damaged to say.
        hash: The SHA-256 of the file's bytes, if it was read.
    """

    findings: tuple[Finding, ...] = ()
    place: Place | None = None
    said: Said = DAMAGED
    hash: bytes = b""


def inspect(files: Files, entry: Entry, fanout: int, known: Mapping[bytes, Said]) -> Inspected:
    """Look at one thing that a scan met.

    Args:
        files: The files that it is one of.
        entry: What the scan said of it.
        fanout: The registry's.
        known: The SHA-256 of files that were found sound before, and what their records say.
    """
    if entry.type == "unreadable":
        return Inspected((Finding("error", "unreadable", entry.path, None, entry.reason),))
    place = place_of(entry.path, fanout)
    if entry.type == "unfinished":
        digest = place.digest if place else None
        return Inspected((Finding("warning", "unfinished-write", entry.path, digest, UNFINISHED),))
    stranger = _unexpected(entry, place)
    if stranger is not None:
        return Inspected((stranger,))
    try:
        mode, data = files.load(entry)
    except UnreadableError as error:
        digest = place.digest if place else None
        return Inspected((Finding("error", "unreadable", entry.path, digest, str(error)),), place)
    return _inspect_bytes(entry.path, place, mode, data, known)


def unexpected(entry: Entry, fanout: int) -> Finding | None:
    """Say that a thing does not belong, if by its name and type it does not; its bytes are not looked at."""
    return _unexpected(entry, place_of(entry.path, fanout))


def inspect_bytes(path: str, mode: int, data: bytes, fanout: int, known: Mapping[bytes, Said]) -> Inspected:
    """Look at a file that was read already, and whose name is one that belongs; see `inspect`."""
    return _inspect_bytes(path, place_of(path, fanout), mode, data, known)


def _inspect_bytes(path: str, place: Place | None, mode: int, data: bytes, known: Mapping[bytes, Said]) -> Inspected:
    digest = place.digest if place else None
    findings: list[Finding] = []
    if mode != REGULAR:
        message = f"expected the mode {REGULAR:o}, found {mode:o}; run `chmod 644` on it and commit that"
        findings.append(Finding("error", "bad-mode", path, digest, message))
    if place is None or digest is None:
        return Inspected((*findings, *_settings(data)))
    if place.right != path:
        message = f"expected this record's file at {place.right}"
        findings.append(Finding("error", "wrong-path", path, digest, message))
        return Inspected(tuple(findings))
    found: list[Finding] = []
    hashed = hashlib.sha256(data).digest()
    if place.part == "objects" and hashed != digest.raw:
        return Inspected((*findings, _mismatch(place, data)), place)
    said = known.get(hashed)
    if said is None:
        found, said = _object(place, data) if place.part == "objects" else _metadata(place, data)
    return Inspected((*findings, *found), place, said, hashed)


def _unexpected(entry: Entry, place: Place | None) -> Finding | None:
    if entry.type != "file":
        message = f"expected nothing of the kind here, found {_WHAT[entry.type]}"
    elif place is None and entry.path != SETTINGS:
        message = _stranger(entry.path)
    else:
        return None
    return Finding("error", "unexpected-file", entry.path, None, message)


def _stranger(path: str) -> str:
    name = path.rpartition("/")[2]
    if name.endswith((".json", ".yaml", ".yml")):
        return "expected an object named by its digest; to add a document under a name of your own, use `kstore add`"
    return "expected only kstore's own files under store/; move it elsewhere"


def _settings(data: bytes) -> Iterator[Finding]:
    try:
        Settings.from_bytes(data)
    except KstoreError as error:
        yield Finding("error", "invalid-settings", SETTINGS, None, str(error))


def _mismatch(place: Place, data: bytes) -> Finding:
    message = f"expected bytes that hash to {place.digest}, found {Digest.of(data)}{_explained(place.digest, data)}"
    return Finding("error", "digest-mismatch", place.right, place.digest, message)


def _object(place: Place, data: bytes) -> tuple[list[Finding], Said]:
    try:
        body = check_body(data)
    except SchemaError as error:
        return list(_invalid("invalid-record", place, error)), DAMAGED
    findings = []
    if identity(body.kind, body.spec) != data:
        message = "expected the canonical form (RFC 8785) of a normalized record, found another spelling of it"
        findings.append(Finding("error", "not-canonical", place.right, place.digest, message))
    return findings, said_by(body)


def _metadata(place: Place, data: bytes) -> tuple[list[Finding], Said]:
    try:
        metadata = check_metadata(data)
    except SchemaError as error:
        return list(_invalid("invalid-metadata", place, error)), NOTHING
    spelled = canonical_struct(metadata)
    if spelled == data:
        return [], NOTHING
    message = f"expected canonical JSON (RFC 8785), found another spelling: {diagnose(Digest.of(spelled), data)}"
    return [Finding("error", "not-canonical", place.right, place.digest, message)], NOTHING


def _invalid(code: str, place: Place, error: SchemaError) -> Iterator[Finding]:
    for path, message in error.problems:
        text = f"{dotted(path)}: {message}" if path else message
        yield Finding("error", code, place.right, place.digest, text)


def _explained(digest: Digest, data: bytes) -> str:
    what = diagnose(digest, data)
    if what is None:
        return ": `git log` on it shows when it was sound"
    return f"; {what}: `git restore` it, and add what else was meant with `kstore add`"
