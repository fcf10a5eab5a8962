"""What checking the checkpoints of a registry came to, and what the good ones say about other signed files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kstore.digest import Digest

CODE = "bad-checkpoint"

Severity: TypeAlias = Literal["error", "warning"]


class Problem(msgspec.Struct, frozen=True):
    """Something that is wrong with a checkpoint.

    Attributes:
        severity: A warning where the checkpoint only counts no longer.
        path: Its file.
        code: The finding's code.
        message: What is wrong.
    """

    severity: Severity
    path: str
    code: str
    message: str


class Good(msgspec.Struct, frozen=True):
    """A checkpoint that was signed by a maintainer and states what is so.

    Attributes:
        number: Which one it is.
        path: Its file.
        digest: The SHA-256 of that.
        commit: The commit that it is about, 40 hexadecimal digits.
        time: When it was made, in seconds since 1970, as the maintainer says.
        records: How many records the registry had.
        signers: The names of the maintainers who signed it, sorted.
    """

    number: int
    path: str
    digest: Digest
    commit: str
    time: int
    records: int
    signers: tuple[str, ...]
    _first: Mapping[str, int]

    def contains(self, path: str) -> bool:
        """Tell whether its commit has the file of an attestation or a policy.

        Another file at that path would make it a bad checkpoint, or a later one.
        """
        return self._first.get(path, self.number + 1) <= self.number


class Checkpoints(msgspec.Struct, frozen=True):
    """What came of checking all checkpoints.

    Attributes:
        checked: How many files of checkpoints there are.
        good: Those that can be relied on, in order. Their times never go back, and what one contains all later ones do.
        problems: Everything that is wrong.
        gaps: What could not be checked here, in words: why this is incomplete.
    """

    checked: int = 0
    good: tuple[Good, ...] = ()
    problems: tuple[Problem, ...] = ()
    gaps: tuple[str, ...] = ()
