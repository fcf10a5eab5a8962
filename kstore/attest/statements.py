"""The statements of an open registry, read and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.attest.chain import Trust
from kstore.attest.evidence import evidence
from kstore.attest.judge import Examined, Judged, examine
from kstore.git.files import UnreadableError
from kstore.layout import STORE, attestation_folder, is_signed_folder, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kstore.attest.key import PublicKey
    from kstore.digest import Digest
    from kstore.git.files import Entry, Files
    from kstore.layout import SignedPlace
    from kstore.registry import Registry

_ALL = f"{STORE}/attestations"


class Judgement(msgspec.Struct, frozen=True):
    """What came of judging statements.

    Attributes:
        judged: The statements, by the order of their paths.
        trust: The policies by which they were judged.
        complete: Whether history could be read back to its beginnings; if not, some may be older than they seem.
    """

    judged: tuple[Judged, ...] = ()
    trust: Trust = Trust()
    complete: bool = True


def judged_statements(registry: Registry, subjects: Iterable[Digest] | None = None) -> Judgement:
    """Judge the statements about some records, or all statements.

    Where there are none, nothing else is looked at, and `trust` is that of no policy.

    Args:
        registry: Whose.
        subjects: The records; None is all of them.

    Raises:
        KstoreError: What is pinned in this clone cannot be read.
    """
    fanout = registry.settings.fanout
    folders = [_ALL] if subjects is None else [attestation_folder(subject, fanout) for subject in subjects]
    found = [each for folder in folders for each in attestations(registry.files, folder, fanout)]
    if not found:
        return Judgement()
    known = evidence(registry)
    judged = [known.judge(_examined(registry.files, entry, place, known.trust.keys)) for entry, place in found]
    return Judgement(tuple(judged), known.trust, known.appeared.complete)


def attestations(files: Files, folder: str, fanout: int) -> Iterator[tuple[Entry, SignedPlace]]:
    """Find the files of statements that lie where they belong; what else there is, verifying reports."""
    for entry in files.scan(folder):
        if entry.type == "folder" and is_signed_folder(entry.path, fanout):
            yield from attestations(files, entry.path, fanout)
        elif entry.type == "file":
            place = signed_place_of(entry.path, fanout)
            if place is not None and place.right == entry.path:
                yield entry, place


def _examined(files: Files, entry: Entry, place: SignedPlace, keys: Mapping[str, PublicKey]) -> Examined:
    try:
        return examine(entry.path, place, files.load(entry)[1], keys)
    except UnreadableError as error:
        assert place.subject is not None, "an attestation has a subject"
        assert place.digest is not None, "an attestation's name is a digest"
        return Examined(entry.path, place.subject, place.digest, faults=(str(error),))
