"""Look at the files that lie in the folders of signed files, in several processes where that pays.

What lies where it does not belong is reported; statements are read and their signatures checked. Whether those count
is not asked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.inspect import Finding, inspect
from kstore.actions.parallel import in_order, usable_processors
from kstore.actions.signed_names import misplaced, wrong_mode
from kstore.attest.judge import Examined, examine
from kstore.git.files import UnreadableError
from kstore.git.uncommitted import blob_id
from kstore.layout import SIGNED_FOLDERS, is_signed_folder, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.attest.key import PublicKey
    from kstore.git.files import Entry, Files
    from kstore.layout import SignedPlace

_FOLDERS_A_BATCH = 2
_FEW = 1024
"""Up to so many statements are checked before another process would be of any help."""


class Looked(msgspec.Struct, array_like=True):
    """What some folders of signed files came to.

    Attributes:
        findings: What is wrong with their files, apart from what these state.
        statements: The statements in them.
        others: The policies and checkpoints in them: their paths, and the ids that git gives to their bytes.
    """

    findings: list[Finding]
    statements: list[Examined]
    others: list[tuple[str, bytes]]


def look(files: Files, fanout: int, keys: Mapping[str, PublicKey], jobs: int | None) -> Iterator[Looked]:
    """Look at all signed files of a snapshot.

    Args:
        files: The snapshot.
        fanout: The registry's.
        keys: All keys that may have signed a statement, by their ids.
        jobs: How many processes do the work; None is one for each processor where that pays.
    """
    top = Looked([], [], [])
    folders = []
    for part, folder in SIGNED_FOLDERS.items():
        for entry in files.scan(folder):
            if part == "attestations" and entry.type == "folder" and is_signed_folder(entry.path, fanout):
                folders.append(entry.path)
            else:
                _enter(files, entry, fanout, keys, top)
    yield top
    starts = range(0, len(folders), _FOLDERS_A_BATCH)
    batches = (_encode(folders[start : start + _FOLDERS_A_BATCH]) for start in starts)
    if jobs is None:
        jobs = usable_processors() if folders and len(folders) * len(files.names(folders[0])) > _FEW else 1
    for data in in_order(_look_into, (files, fanout, keys), batches, jobs):
        yield _decode_looked(data)


def look_at(files: Files, entry: Entry, fanout: int) -> tuple[list[Finding], SignedPlace | None, bytes]:
    """Look at one thing that lies in a folder of signed files.

    Returns:
        What is wrong with it; and, where it is a file that belongs there, its place and its bytes.
    """
    if entry.type in ("unreadable", "unfinished"):
        return list(inspect(files, entry, fanout, {}).findings), None, b""
    place = signed_place_of(entry.path, fanout)
    if place is None or place.right != entry.path or entry.type != "file":
        stranger = misplaced(entry, fanout)
        return [stranger] if stranger is not None else [], None, b""
    try:
        mode, data = files.load(entry)
    except UnreadableError as error:
        return [Finding("error", "unreadable", entry.path, place.subject, str(error))], None, b""
    mistaken = wrong_mode(place, mode)
    return [mistaken] if mistaken is not None else [], place, data


def _look_into(tools: tuple[Files, int, Mapping[str, PublicKey]], batch: bytes) -> bytes:
    """Look at everything in some folders of statements; a worker process runs this."""
    files, fanout, keys = tools
    looked = Looked([], [], [])
    waiting = [files.scan(folder) for folder in _decode_folders(batch)[::-1]]
    while waiting:
        entry = next(waiting[-1], None)
        if entry is None:
            waiting.pop()
        elif entry.type == "folder" and is_signed_folder(entry.path, fanout):
            waiting.append(files.enter(entry))
        else:
            _enter(files, entry, fanout, keys, looked)
    return _encode(looked)


def _enter(files: Files, entry: Entry, fanout: int, keys: Mapping[str, PublicKey], looked: Looked) -> None:
    findings, place, data = look_at(files, entry, fanout)
    looked.findings.extend(findings)
    if place is None:
        return
    if place.part == "attestations":
        looked.statements.append(examine(entry.path, place, data, keys))
    else:
        looked.others.append((entry.path, blob_id(data)))


# A digest is a `str`, but msgspec encodes no subclasses of it by itself.
_encode = msgspec.msgpack.Encoder(enc_hook=str).encode
_decode_folders = msgspec.msgpack.Decoder(list[str]).decode
_decode_looked = msgspec.msgpack.Decoder(Looked, dec_hook=lambda kind, value: kind(value)).decode
