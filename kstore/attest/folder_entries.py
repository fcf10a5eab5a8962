"""The entries of a git tree, for hashing the folder that it is of."""

from __future__ import annotations

import re
from itertools import repeat
from operator import ge
from typing import NamedTuple

from kstore.attest.merkle import FILE
from kstore.git.listing import Listing
from kstore.git.raw import DamagedObjectError

_ID = 20
_MODE = len(b"100644 ")
_NAME = 64 + len(b".json")
_WIDTH = _MODE + _NAME + 1 + _ID
_RECORDS = re.compile(rb"(?:100644 [0-9a-f]{64}\.json\0.{20})+", re.DOTALL).fullmatch


class Entry(NamedTuple):
    """An entry of a folder: its name, `FILE` or `FOLDER`, and its object's id, 20 bytes."""

    name: bytes
    type: bytes
    oid: bytes


def split(path: str, tree: bytes, data: bytes) -> list[bytes]:
    """Split a git tree into its entries, as `name_in` and `mode_in` take them.

    Args:
        path: The folder.
        tree: The tree's id, 20 bytes.
        data: Its bytes.

    Raises:
        DamagedObjectError: These are no entries as git writes them.
    """
    try:
        return Listing(tree, data).entries
    except ValueError as error:
        raise DamagedObjectError(f"{path}: git tree {tree.hex()} is damaged ({error}); run git fsck") from error


def uniform(data: bytes) -> list[Entry] | None:
    """List a folder of nothing but plain files named as records' are, which takes half the time that others do.

    Args:
        data: The bytes of its git tree.

    Returns:
        None where it is any other folder, where a name comes twice, or where they are not sorted.
    """
    if not _RECORDS(data):
        return None
    names = [data[at : at + _NAME] for at in range(_MODE, len(data), _WIDTH)]
    if any(map(ge, names, names[1:])):
        return None
    ids = [data[at : at + _ID] for at in range(_WIDTH - _ID, len(data), _WIDTH)]
    return list(map(Entry, names, repeat(FILE), ids))
