"""The files of many new records, by folder and by path, of which no path is kept."""

from __future__ import annotations

from binascii import hexlify
from itertools import groupby
from typing import TYPE_CHECKING

from kstore.actions.intake import OID
from kstore.digest import Digest
from kstore.git.new_tree import ByFolder
from kstore.layout import path_of, place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.layout import Part

_PARTS: tuple[tuple[Part, slice], ...] = (("metadata", slice(OID, 2 * OID)), ("objects", slice(OID)))
_HEX = 64


class NewFiles(ByFolder):
    """The files of records, path to blob id, in the order of their paths."""

    def __init__(self, records: Mapping[bytes, bytes], fanout: int) -> None:
        """Give the files of records: the 32 bytes of a digest to the ids of two blobs, and anything behind them."""
        self._records = records
        self._fanout = fanout

    def __len__(self) -> int:
        return 2 * len(self._records)

    def __getitem__(self, path: str) -> bytes:
        place = place_of(path, self._fanout)
        if place is None:
            raise KeyError(path)
        blobs = self._records[place.digest.raw]
        return blobs[:OID] if place.part == "objects" else blobs[OID : 2 * OID]

    def folders(self) -> Iterator[tuple[str, dict[bytes, bytes]]]:
        """Go through the folders, each with its files: name to blob id, both in order."""
        records, fanout = self._records, self._fanout
        together = [list(here) for _, here in groupby(sorted(records), key=lambda digest: digest[:fanout])]
        for part, where in _PARTS:
            for digests in together:
                folder, _, name = path_of(part, Digest.from_raw(digests[0]), fanout).rpartition("/")
                ending = name[_HEX:].encode()
                yield folder, {hexlify(digest) + ending: records[digest][where] for digest in digests}
