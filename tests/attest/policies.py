"""Policies and their files, made by hand with keys that are always the same."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from msgspec import UNSET

from kstore.attest.envelope import pae, sealed
from kstore.attest.key import PublicKey
from kstore.attest.policy import PAYLOAD_TYPE, Listed, Policy, Role
from kstore.attest.statement import Sha256
from kstore.digest import Digest
from kstore.git.files import Entry, UnreadableError
from kstore.layout import policy_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from msgspec import UnsetType


class Key:
    """A key of somebody, made of a label."""

    def __init__(self, label: str) -> None:
        self._private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(label.encode()).digest())
        self.public = PublicKey(self._private.public_key().public_bytes_raw())
        self.id = self.public.id

    def sign(self, message: bytes) -> bytes:
        return self._private.sign(message)

    def listed(
        self,
        name: str,
        *roles: Role,
        after: str | UnsetType = UNSET,
        before: str | UnsetType = UNSET,
        revoked: str | UnsetType = UNSET,
    ) -> Listed:
        """Make an entry for it; it is a maintainer's where nothing else is said."""
        return Listed(name, str(self.public), roles or ("maintainer",), after, before, revoked)


ALICE, BOB, CAROL, DORA, MALLORY = map(Key, ("alice", "bob", "carol", "dora", "mallory"))


def policy(number: int, threshold: int, *entries: Listed, previous: bytes | None = None) -> Policy:
    """Make a policy; `previous` is the file of the one before."""
    before = UNSET if previous is None else Sha256.of(Digest.of(previous))
    return Policy(1, number, threshold, ordered(entries), before)


def ordered(entries: Iterable[Listed]) -> tuple[Listed, ...]:
    return tuple(sorted(entries, key=lambda each: (each.name, each.key)))


def file_of(made: Policy, *keys: Key, payload_type: str = PAYLOAD_TYPE) -> bytes:
    """Give the file of a policy that some keys have signed."""
    payload = made.to_bytes()
    return sealed(payload_type, payload, {key.id: key.sign(pae(payload_type, payload)) for key in keys}).to_bytes()


class Snapshot:
    """Files that are only in memory (a `Files`); bytes that are None are a file that cannot be read."""

    def __init__(self, files: dict[str, bytes | None]) -> None:
        self.files = files

    @classmethod
    def of(cls, *policies: bytes) -> Snapshot:
        """Take the files of policies, from number 1."""
        return cls({policy_path(number): data for number, data in enumerate(policies, 1)})

    def read(self, path: str) -> bytes | None:
        if path not in self.files:
            return None
        data = self.files[path]
        if data is None:
            raise UnreadableError(f"{path}: expected a plain file")
        return data

    def names(self, folder: str) -> list[str]:
        return sorted(path.rpartition("/")[2] for path in self.files if path.rpartition("/")[0] == folder)

    def scan(self, folder: str) -> Iterator[Entry]:
        yield from (Entry(f"{folder}/{name}", "file", 0o100644) for name in self.names(folder))

    def enter(self, entry: Entry) -> Iterator[Entry]:
        return self.scan(entry.path)

    def load(self, entry: Entry) -> tuple[int, bytes]:
        return entry.mode, self.read(entry.path) or b""


def chain(*steps: tuple[Policy, tuple[Key, ...]]) -> list[bytes]:
    """Give the files of policies that follow each other, each signed by some keys; `previous` is filled in."""
    files: list[bytes] = []
    for made, keys in steps:
        linked = msgspec.structs.replace(made, previous=Sha256.of(Digest.of(files[-1])) if files else UNSET)
        files.append(file_of(linked, *keys))
    return files
