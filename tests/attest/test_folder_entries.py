"""A folder of records' files is listed in a short way, and any other folder in the long one."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.folder_entries import Entry, split, uniform
from kstore.attest.merkle import FILE
from kstore.git.listing import name_in
from kstore.git.raw import DamagedObjectError

names = st.binary(max_size=8).map(lambda data: f"{hashlib.sha256(data).hexdigest()}.json".encode())
ids = st.binary(min_size=20, max_size=20)

ID = b"\0 \n" + b"x" * 17
ONE, TWO = b"%064x.json" % 1, b"%064x.json" % 2


def tree(*entries: tuple[bytes, bytes], mode: bytes = b"100644") -> bytes:
    """Write a git tree of files: their names and ids, in the order given."""
    return b"".join(b"%b %b\0%b" % (mode, name, oid) for name, oid in entries)


@given(st.dictionaries(names, ids, min_size=1))
def test_the_short_way_lists_what_the_long_one_does(files: dict[bytes, bytes]) -> None:
    data = tree(*sorted(files.items()))
    entries = [Entry(name_in(entry), FILE, entry[-20:]) for entry in split("a", b"", data)]
    assert uniform(data) == entries == [Entry(name, FILE, oid) for name, oid in sorted(files.items())]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        tree((TWO, ID), (ONE, ID)),
        tree((ONE, ID), (ONE, ID)),
        tree((ONE, ID), (TWO, ID), mode=b"100755"),
        tree((ONE, ID)) + tree((TWO, ID), mode=b"120000"),
        tree((ONE, ID), (b"another.json", ID)),
        tree((ONE.replace(b"0", b"A"), ID)),
        tree((ONE, ID))[:-1],
        tree((ONE, ID)) + b"1",
    ],
)
def test_what_is_not_sorted_or_not_uniform_is_left_to_the_long_way(data: bytes) -> None:
    assert uniform(data) is None


def test_a_damaged_tree_is_named() -> None:
    with pytest.raises(DamagedObjectError, match="store/objects/ab: git tree 61 is damaged"):
        split("store/objects/ab", b"a", b"100644 no end")
