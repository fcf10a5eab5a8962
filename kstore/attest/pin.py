"""The policy that the reader of a clone has pinned: its digest, remembered in the git directory and never in the tree.

A registry cannot vouch for itself, so where trust begins comes from outside: from whoever told the reader the digest.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from kstore.attest.statement import Sha256
from kstore.errors import KstoreError
from kstore.git.durable import sync_folder

if TYPE_CHECKING:
    from kstore.digest import Digest

NAME = "trust"


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the file says."""

    format: Literal[1]
    policy: Sha256


class Pin:
    """What is pinned in one clone; the clones of one repository's work trees share it."""

    def __init__(self, derived: Path) -> None:
        """Look into the folder that kstore has in the git directory (`Registry.derived`)."""
        self.path = derived / NAME

    def recall(self) -> Digest | None:
        """Give the digest of the pinned policy's file, or None where none was pinned.

        Raises:
            KstoreError: What was pinned cannot be read; nothing is guessed in its place.
        """
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise KstoreError(f"{self.path}: which policy is pinned cannot be read: {error.strerror}") from error
        try:
            return msgspec.json.decode(data, type=_File).policy.digest
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise KstoreError(
                f"{self.path}: expected the digest of the policy that is pinned here, found something else; "
                "`kstore trust pin sha256:<hex>` pins one again"
            ) from None

    def keep(self, digest: Digest) -> None:
        """Pin a policy by the digest of its file, instead of what was pinned.

        Raises:
            KstoreError: It cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=f".{NAME}.", dir=self.path.parent)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(msgspec.json.encode(_File(1, Sha256.of(digest))) + b"\n")
                    file.flush()
                    os.fsync(file.fileno())
                Path(name).replace(self.path)
            except BaseException:
                with contextlib.suppress(OSError):
                    Path(name).unlink()
                raise
            sync_folder(self.path.parent)
        except OSError as error:
            raise KstoreError(f"{self.path}: the policy cannot be pinned: {error.strerror}") from error
