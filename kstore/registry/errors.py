"""What can go wrong when a record is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from kstore.digest import Digest


class NotFoundError(KstoreError):
    """Nothing in the registry has that name."""


class DamageError(KstoreError):
    """What is stored under a digest is not the record of that digest."""

    def __init__(self, digest: Digest, what: str) -> None:
        super().__init__(f"{digest} is damaged: {what}; `kstore verify` names everything that is wrong")
        self.digest = digest
