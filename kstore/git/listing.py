"""A git tree as a list of entries, split from its bytes, and what differs between two of them."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENTRY = re.compile(rb"[0-7]{1,7} [^\0]+\0.{20}", re.DOTALL)
_OID = 20
_FEW = 16
_WIDEST = 300
"""What an entry takes whose name a file system takes; a stranger's of a million octets has as many columns."""


class Listing:
    """The entries of one tree, `<mode> <name>NUL<20 bytes of id>` each, as git's tree objects have them.

    In most folders of a registry all entries are equally long: then they are left in the bytes, and cut out of them
    when they are asked for.

    Attributes:
        oid: The tree's id, 20 bytes; empty for a folder that is not there.
        data: The tree's bytes.
        width: How long each entry is, where all are equally long; else 0.
        base: The id of the tree that it was split by comparison with, and
        middle: the entries that lie between their common beginning and their common end, here and there.
    """

    __slots__ = ("_entries", "_names", "base", "data", "middle", "oid", "width")

    def __init__(self, oid: bytes, data: bytes, like: Listing | None = None) -> None:
        """Split a tree's bytes.

        Most trees are like the one that they follow: what both begin and end with is not split again.

        Args:
            oid: The tree's id.
            data: Its bytes.
            like: A tree that may be like it.

        Raises:
            ValueError: These are no entries as git writes them.
        """
        self.oid = oid
        self.data = data
        self.base = b""
        self._entries: list[bytes] | None = None
        self._names: dict[bytes, bytes] | None = None
        if like is not None and like.data:
            self._split_like(like)
            return
        self.width = _width(data)
        if self.width:
            return
        entries = _ENTRY.findall(data)
        widths = list(map(len, entries))
        if sum(widths) != len(data):
            raise ValueError("it is not as git writes trees")
        self.width = widths[0] if len(set(widths)) == 1 else 0
        if not self.width:
            self._entries = entries

    def _split_like(self, like: Listing) -> None:
        # Only where an entry of the other tree ends does one begin here: the bytes of an id may look like anything.
        data, ends = self.data, like.ends()
        first = bisect_right(ends, _common_start(data, like.data)) - 1
        at, same = ends[first], -1
        fresh: list[bytes] = []
        while True:
            there = len(like.data) - (len(data) - at)
            if there >= ends[first]:
                if same < 0 and data[at:] == like.data[there:]:
                    same = len(data) - at
                elif same < 0 and len(fresh) > _FEW:
                    # Trying at every entry would be quadratic where all of many are new.
                    same = _common_end(data, like.data)
                if len(data) - at <= same:
                    rest = bisect_left(ends, there)
                    if ends[rest] == there:
                        break
            match = _ENTRY.match(data, at)
            if match is None:
                raise ValueError("it is not as git writes trees")
            fresh.append(match[0])
            at = match.end()
        self.width = like.width if all(len(entry) == like.width for entry in fresh) else 0
        if not self.width:
            self._entries = like.entries[:first] + fresh + like.entries[rest:]
        self.base = like.oid
        self.middle = fresh, [like.data[ends[number] : ends[number + 1]] for number in range(first, rest)]

    @property
    def entries(self) -> list[bytes]:
        """The entries in their order."""
        if self._entries is not None:
            return self._entries
        return [self.data[at : at + self.width] for at in range(0, len(self.data), self.width)]

    def ends(self) -> Sequence[int]:
        """Give where each entry ends, after a 0."""
        if self.width:
            return range(0, len(self.data) + 1, self.width)
        return [0, *accumulate(map(len, self.entries))]

    def named(self, name: bytes) -> bytes | None:
        """Find the entry of a name, or None; where there are several, one of them."""
        if not self.width:
            if self._names is None:
                self._names = {name_in(entry): entry for entry in self.entries}
            return self._names.get(name)
        # Git sorts entries by their names, and folders and files of names of one length by nothing else; a tree that is
        # not sorted is searched from its beginning.
        count = len(self.data) // self.width
        near = bisect_left(range(count), name, key=lambda number: name_in(self._entry(number * self.width)))
        if near < count and name_in(entry := self._entry(near * self.width)) == name:
            return entry
        sought = b" " + name + b"\0"
        at = self.data.find(sought)
        while at >= 0:
            # An id, or another name's end, may be the same bytes.
            entry = self._entry(at - at % self.width)
            if name_in(entry) == name:
                return entry
            at = self.data.find(sought, at + 1)
        return None

    def _entry(self, start: int) -> bytes:
        return self.data[start : start + self.width]

    def against(self, old: Listing) -> tuple[list[bytes], list[bytes]]:
        """Give the entries that the other one has not, and the other's that this one has not.

        Entries that both have may be among them.
        """
        if old.oid and self.base == old.oid:
            return self.middle
        if self.oid and old.base == self.oid:
            there, here = old.middle
            return here, there
        mine, others = self.entries, old.entries
        known, other = set(mine), set(others)
        if len(known) < len(mine):
            # One entry that is there twice must not look like one.
            return mine, others
        return [entry for entry in mine if entry not in other], [entry for entry in others if entry not in known]

    def repeated(self, names: list[bytes]) -> set[bytes]:
        """Find those of some names that the tree has more than once, which no sound tree has."""
        if len(names) <= _FEW:
            names = [name for name in names if self.data.count(b" " + name + b"\0") > 1]
        if not names:
            return set()
        counted = Counter(map(name_in, self.entries))
        return {name for name in names if counted[name] > 1}


def name_in(entry: bytes) -> bytes:
    """Give the name in an entry."""
    return entry[entry.index(b" ") + 1 : -_OID - 1]


def mode_in(entry: bytes) -> int:
    """Give the mode in an entry."""
    return int(entry[: entry.index(b" ")], 8)


def _width(data: bytes) -> int:
    """Say how long each entry is, where all have one mode and names of one length; 0 where they must be split to see.

    Looking at columns, one octet of every entry at a time, takes a third of the time of splitting.
    """
    first = _ENTRY.match(data)
    if first is None or len(first[0]) > _WIDEST:
        return 0
    width, count = len(first[0]), len(data) // len(first[0])
    name, end = data.index(b" ") + 1, width - _OID - 1
    same = (
        count * width == len(data)
        and all(data[at::width] == data[at : at + 1] * count for at in (*range(name), end))
        and not any(b"\0" in data[at::width] for at in range(name, end))
    )
    return width if same else 0


def _common_start(one: bytes, other: bytes) -> int:
    """Count the bytes that two texts begin with together."""
    low, high = 0, min(len(one), len(other)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _common_end(one: bytes, other: bytes) -> int:
    """Count the bytes that two texts end with together."""
    low, high = 0, min(len(one), len(other)) + 1
    while high - low > 1:
        middle = (low + high) // 2
        if one[len(one) - middle : len(one) - low] == other[len(other) - middle : len(other) - low]:
            low = middle
        else:
            high = middle
    return low


NOTHING = Listing(b"", b"")
"""A folder that is not there."""
