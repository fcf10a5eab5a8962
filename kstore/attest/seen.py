"""The last checkpoint and the last policy that a clone has seen on each branch: if they go, that is a rollback."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from kstore.attest.statement import Sha256
from kstore.git.derived import keep

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.digest import Digest


class Seen(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A checkpoint, or a policy, that was found good."""

    number: Annotated[int, Meta(ge=1)]
    file: Sha256


class _Newest:
    """One small file in the git directory, which no clone takes along: what was seen last on each branch.

    Attributes:
        path: That file; removing it forgets what was seen.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def recall(self, branch: str) -> Seen | None:
        """Give what was seen last on a branch, `refs/heads/main`, or None."""
        return self._all().get(branch)

    def keep(self, branch: str, number: int, digest: Digest) -> None:
        """Remember a branch's last one, by the SHA-256 of its file."""
        seen = Seen(number, Sha256.of(digest))
        known = self._all()
        if known.get(branch) == seen:
            return
        keep(self.path, msgspec.json.encode({**known, branch: seen}, order="sorted"))

    def _all(self) -> dict[str, Seen]:
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=dict[str, Seen])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}


class SeenCheckpoints(_Newest):
    """The last good checkpoint of each branch."""

    def __init__(self, derived: Path) -> None:
        """Remember in the folder of what kstore derives (`Registry.derived`)."""
        super().__init__(derived / "checkpoints")


class SeenPolicies(_Newest):
    """The last policy of each branch that was believed."""

    def __init__(self, derived: Path) -> None:
        """Remember in the folder of what kstore derives (`Registry.derived`)."""
        super().__init__(derived / "policies")
