"""A ledger of many records: what each refers to, in a few hundred bytes a record."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.actions.refer import Said

_EXPECTED = b""


class Ledger:
    """What records say, by the 32 bytes of their digest.

    A record may be expected before it is entered, as one is of which only the metadata was met.
    """

    def __init__(self) -> None:
        self._entries: dict[bytes, Said] = {}

    def expect(self, digest: bytes) -> None:
        """Note that a record should be entered some time."""
        self._entries.setdefault(digest, _EXPECTED)

    def enter(self, digest: bytes, said: Said) -> bool:
        """Enter a record, and tell whether it was expected."""
        expected = digest in self._entries
        self._entries[digest] = said
        return expected

    def drop(self, digest: bytes) -> None:
        """Take a record out."""
        del self._entries[digest]

    def get(self, digest: bytes) -> Said | None:
        """Give what a record says, or None when it was not entered."""
        return self._entries.get(digest) or None

    def entries(self) -> Mapping[bytes, Said]:
        """Give everything, to look things up in; what was only expected says nothing."""
        return self._entries

    def entered(self) -> Iterator[tuple[bytes, Said]]:
        """Go through the records that were entered."""
        return ((digest, said) for digest, said in self._entries.items() if said)

    def only_expected(self) -> Iterator[bytes]:
        """Go through the records that were expected and not entered."""
        return (digest for digest, said in self._entries.items() if not said)
