"""The last checkpoint and the last policy that a clone has seen on each branch: if they go, that is a rollback."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from kstore.attest.statement import Sha256
from kstore.errors import KstoreError
from kstore.git.durable import write_synced

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
        """Give what was seen last on a branch, `refs/heads/main`, or None.

        Raises:
            KstoreError: What was seen cannot be read, so that nobody could tell a rollback.
        """
        return self._all().get(branch)

    def keep(self, branch: str, number: int, digest: Digest) -> None:
        """Remember a branch's last one, by the SHA-256 of its file; where nothing can be written, nothing is.

        Raises:
            KstoreError: What was seen before cannot be read.
        """
        seen = Seen(number, Sha256.of(digest))
        known = self._all()
        if known.get(branch) == seen:
            return
        # Synced, unlike what can be made again: half a file after a crash would be an error from then on.
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary.unlink(missing_ok=True)
            write_synced(temporary, msgspec.json.encode({**known, branch: seen}, order="sorted"))
            temporary.replace(self.path)

    def _all(self) -> dict[str, Seen]:
        try:
            data = self.path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            raise KstoreError(f"{self.path}: what this clone has seen cannot be read: {error.strerror}") from error
        try:
            return msgspec.json.decode(data, type=dict[str, Seen])
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise KstoreError(
                f"{self.path}: expected what this clone has seen last on each branch, found something else, so that a "
                "rollback would not show; compare `kstore checkpoint show` and `kstore trust list` with another clone, "
                "then remove the file"
            ) from None


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
