"""Whether one commit has everything that an earlier one had where nothing ever goes, and what it has beyond that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.git.files import UnreadableError
from kstore.git.raw import MissingObjectError
from kstore.layout import STORE, is_known_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.git.difference import Difference
    from kstore.git.history import Commit, History

_KEPT = tuple(f"{STORE}/{part}/" for part in ("objects", "attestations", "trust"))
_SIGNED = _KEPT[1:]
_SHOWN = 3


class Growth:
    """From one commit to a later one.

    Attributes:
        lost: Files that are missing or different now, by their paths, in words.
        signed: The paths of the attestations and policies that are new.
        unreadable: Why not all of it could be compared, or None.
        missing: Whether that is because objects are not here.
    """

    def __init__(self, history: History, later: Commit, earlier: Commit | None, *, records: bool) -> None:
        """Compare two commits.

        Args:
            history: Reads them.
            later: The later one.
            earlier: The earlier one; without it, every attestation and policy is new.
            records: Whether to compare records too, or attestations and policies alone, of which there are fewer.
        """
        self.lost: list[str] = []
        self.signed: list[str] = []
        self.unreadable: str | None = None
        self.missing = False
        kept = _KEPT if records else _SIGNED

        def enters(path: str) -> bool:
            return path == STORE or (
                f"{path}/".startswith(kept) and any(is_known_folder(path, fanout) for fanout in (1, 2))
            )

        for difference in history.differences(later, [earlier] if earlier else [], enters, self._trouble):
            if f"{difference.path}/".startswith(kept):
                self._take(difference)

    def __str__(self) -> str:
        """Name the first few files that were lost, and say how many there are."""
        more = len(self.lost) - _SHOWN
        return ", ".join(self.lost[:_SHOWN]) + (f", and {more:,} more" if more > 0 else "")

    def _take(self, difference: Difference) -> None:
        path, now = difference.path, difference.now
        for before in difference.before:
            if before is not None and before != now:
                self.lost.append(f"{path} is {'gone' if now is None else 'different'}")
        if now is not None and now.type == "file" and path.startswith(_SIGNED):
            self.signed.append(path)

    def _trouble(self, path: str, error: UnreadableError) -> None:
        self.unreadable = self.unreadable or f"{path}: {error}"
        self.missing = self.missing or isinstance(error, MissingObjectError)


class Ancestry:
    """Which commits another one descends from, as far as they are here.

    Attributes:
        cut: Whether the last search met a commit whose parents are not all here.
    """

    def __init__(self, history: History) -> None:
        self._history = history
        self.cut = False

    def has(self, commit: bytes, ancestor: bytes) -> bool:
        """Tell whether a commit is another one, or descends from it; the nearest ones are looked at first."""
        self.cut = False
        return any(each == ancestor for each in self._from(commit))

    def _from(self, commit: bytes) -> Iterator[bytes]:
        seen = {commit}
        level = [commit]
        while level:
            yield from level
            above = []
            for oid in level:
                try:
                    parents = self._history.commit(oid).parents
                except UnreadableError:
                    self.cut = True
                    continue
                above += [parent for parent in parents if parent not in seen]
                seen.update(parents)
            level = list(dict.fromkeys(above))
