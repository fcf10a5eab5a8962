"""One path of which a snapshot says something else than what it was made from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kstore.git.files import Entry


class Change(NamedTuple):
    r"""What became of a path.

    Attributes:
        path: The path, from the repository's root; bytes that are no UTF-8 stand as `\xff`.
        now: What is there, or None.
        before: What was there, or None, in each snapshot that this one was made from.
    """

    path: str
    now: Entry | None
    before: tuple[Entry | None, ...]
