"""A tree is split the same way whether it is read by itself or by comparison with another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.git.listing import Listing, name_in

if TYPE_CHECKING:
    from collections.abc import Sequence

# Ids that look like entries: bytes alone must never tell where an entry begins.
OIDS = st.sampled_from([b"40 a\0" * 4, b" a\0b" * 5, b"\0" * 20, b"0" * 20, b"1" * 20]) | st.binary(
    min_size=20, max_size=20
)
NAMES = st.sampled_from([b"a", b"b", b"ab", b"a b", b"00"]) | st.binary(min_size=1, max_size=4).filter(
    lambda n: b"\0" not in n
)
ENTRIES = st.builds(
    lambda mode, name, oid: mode + b" " + name + b"\0" + oid,
    st.sampled_from([b"40000", b"100644", b"0", b"100755"]),
    NAMES,
    OIDS,
)
TREES = st.lists(ENTRIES, max_size=12)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    """Two trees, most of them alike."""
    old = draw(TREES)
    new = list(old)
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(new)))
        new[at : at + draw(st.integers(0, 2))] = draw(st.lists(ENTRIES, max_size=2))
    return old, new


def listing(entries: Sequence[bytes], number: int, like: Listing | None = None) -> Listing:
    return Listing(bytes([number]) * 20, b"".join(entries), like)


@given(pairs())
def test_reading_by_comparison_gives_what_reading_gives(pair: tuple[list[bytes], list[bytes]]) -> None:
    old, new = pair
    first = listing(old, 1)
    assert first.entries == old
    compared = listing(new, 2, first)
    assert compared.entries == new
    for mine, other in ((compared, first), (first, compared), (listing(new, 3), first)):
        fresh, gone = mine.against(other)
        assert set(fresh) >= set(mine.entries) - set(other.entries)
        assert set(gone) >= set(other.entries) - set(mine.entries)
        assert set(fresh) <= set(mine.entries)
        assert set(gone) <= set(other.entries)


@given(TREES)
def test_entries_are_found_by_their_names(entries: list[bytes]) -> None:
    tree = listing(entries, 1)
    names = [name_in(entry) for entry in entries]
    for name in {*names, b"a", b"nothing-of-the-kind"}:
        found = tree.named(name)
        assert (found is None) == (name not in names)
        assert found is None or (found in entries and name_in(found) == name)
    assert tree.repeated(names) == {name for name in names if names.count(name) > 1}
    assert tree.repeated(names * 20) == tree.repeated(names)


@given(st.lists(st.integers(0, 999), max_size=60), st.booleans(), st.sampled_from([b"100644", b"40000"]), st.data())
def test_entries_of_one_length_are_found_sorted_or_not(
    numbers: list[int], ordered: bool, mode: bytes, draw: st.DataObject
) -> None:
    names = [b"%03d.json" % number for number in (sorted(numbers) if ordered else numbers)]
    entries = [mode + b" " + name + b"\0" + draw.draw(OIDS) for name in names]
    tree = listing(entries, 1)
    assert tree.width == (len(entries[0]) if entries else 0)
    assert tree.entries == entries
    for name in {*names, b"000.json", b"500.json", b"999.json"}:
        found = tree.named(name)
        assert (found is None) == (name not in names)
        assert found is None or (found in entries and name_in(found) == name)


def test_entries_of_one_length_with_names_of_several_are_split() -> None:
    entries = [b"100644 b\0" + b"1" * 20, b"40000 ab\0" + b"2" * 20, b"100644 c\0" + b" b\0" + b"3" * 17]
    tree = listing(entries, 1)
    assert tree.entries == entries
    assert [tree.named(name) for name in (b"b", b"ab", b"c")] == entries


def test_entries_that_only_look_as_if_they_were_equally_long_are_split() -> None:
    """Every 30 bytes begin like an entry, and 9 bytes on there is the NUL after a name; one name ends before it."""
    entries = [
        b"100644 xy\0" + b"1" * 20,
        b"100644 a\0" + b"\0" + b"2" * 19,
        b"0100644 ab\0" + b"3" * 20,
    ]
    tree = listing(entries, 1)
    assert tree.width == 0
    assert tree.entries == entries


def test_a_name_of_any_length_is_split() -> None:
    entries = [b"100644 " + bytes([letter]) * 5_000_000 + b"\0" + b"1" * 20 for letter in b"ab"]
    tree = listing(entries, 1)
    assert tree.entries == entries
    assert tree.named(b"b" * 5_000_000) == entries[1]


@given(TREES, st.binary(max_size=40), TREES)
def test_what_is_no_tree_is_refused_either_way(start: list[bytes], middle: bytes, end: list[bytes]) -> None:
    data = b"".join([*start, middle, *end])
    for like in (None, listing(start + end, 1), listing(start, 2)):
        try:
            found = Listing(b"x" * 20, data, like)
        except ValueError:
            with pytest.raises(ValueError, match="not as git writes"):
                Listing(b"x" * 20, data)
        else:
            assert found.entries == Listing(b"x" * 20, data).entries
