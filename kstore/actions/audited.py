"""What auditing remembers: the last commit of each branch up to which history was found sound."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import msgspec

from kstore.git.derived import keep

if TYPE_CHECKING:
    from pathlib import Path


class Audited:
    """One small file in the git directory, which no clone takes along."""

    def __init__(self, derived: Path) -> None:
        """Remember in the folder of what kstore derives."""
        self.file = derived / "audited"

    def recall(self, branch: str) -> bytes | None:
        """Give the id, 20 bytes, of the last commit of a branch that was found sound, if one was."""
        with contextlib.suppress(ValueError):
            return bytes.fromhex(self._all()[branch]) if branch in self._all() else None
        return None

    def keep(self, branch: str, commit: bytes) -> None:
        """Remember a branch's last commit."""
        known = {**self._all(), branch: commit.hex()}
        # A registry that cannot be written to is audited all the same.
        keep(self.file, msgspec.json.encode(known, order="sorted"))

    def _all(self) -> dict[str, str]:
        try:
            return msgspec.json.decode(self.file.read_bytes(), type=dict[str, str])
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return {}
