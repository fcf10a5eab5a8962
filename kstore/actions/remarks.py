"""What is said about the lines of a file, as many of them as a person reads."""

from __future__ import annotations

import heapq

import msgspec


class Remark(msgspec.Struct, frozen=True):
    """A line of the file, and what is wrong or odd about it."""

    line: int
    reason: str


class Remarks:
    """Remarks on a file that may deserve one for each of its lines: the first ones are kept, the rest is counted."""

    def __init__(self, most: int) -> None:
        self._most = most
        # The last line first, so that it makes room for an earlier one; of one line, the remark that came last.
        self._kept: list[tuple[int, int, str]] = []
        self.total = 0

    def add(self, line: int, reason: str) -> None:
        """Remark something on a line."""
        entry = (-line, -self.total, reason)
        self.total += 1
        if len(self._kept) < self._most:
            heapq.heappush(self._kept, entry)
        elif entry > self._kept[0]:
            heapq.heapreplace(self._kept, entry)

    def count(self, unlisted: int) -> None:
        """Count more that are not among the first in any case."""
        self.total += unlisted

    def listed(self) -> tuple[Remark, ...]:
        """Give the first ones, in the order of their lines."""
        return tuple(Remark(-line, reason) for line, _, reason in sorted(self._kept, reverse=True))
