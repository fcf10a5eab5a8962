"""Checkpoints made by hand, and what checking a registry's comes to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kstore.actions.root import Roots
from kstore.attest.checkpoint import checkpoint_bytes
from kstore.attest.envelope import pae, sealed
from kstore.attest.evidence import evidence
from kstore.attest.pin import Pin
from kstore.attest.root import Hasher, Root, root
from kstore.attest.seen import SeenCheckpoints
from kstore.attest.statement import PAYLOAD_TYPE
from kstore.digest import Digest
from kstore.git.raw import RawObjects
from kstore.layout import checkpoint_path, policy_path
from kstore.registry import Registry
from tests.registries import git
from tests.statements import commit_at, place, place_policies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.attest.checkpoint_report import Checkpoints
    from tests.attest.policies import Key

START = 1_760_000_000
"""When the histories of the tests begin; it is past."""


def root_at(registry: Path, revision: str = "HEAD") -> Root:
    """Work out the root of a commit."""
    folder = Path(git(registry, "rev-parse", "--absolute-git-dir")) / "objects"
    objects = RawObjects(folder)
    try:
        return root(Hasher(objects), bytes.fromhex(git(registry, "rev-parse", f"{revision}^{{tree}}")))
    finally:
        objects.close()


def checkpoint_file(
    number: int, found: Root, commit: str, time: int, previous: bytes | None, *keys: Key, payload: bytes | None = None
) -> bytes:
    """Give the file of a checkpoint that some keys have signed; `previous` is the file of the one before."""
    before = None if previous is None else Digest.of(previous)
    said = payload or checkpoint_bytes(number, found, commit, time, before)
    return sealed(PAYLOAD_TYPE, said, {key.id: key.sign(pae(PAYLOAD_TYPE, said)) for key in keys}).to_bytes()


def place_checkpoint(
    registry: Path,
    number: int,
    time: int,
    *keys: Key,
    commit: str | None = None,
    found: Root | None = None,
    previous: bytes | None = None,
) -> bytes:
    """Put a checkpoint of a commit, HEAD by default, into a working tree, and give its bytes."""
    about = commit or git(registry, "rev-parse", "HEAD")
    if previous is None and number > 1:
        previous = (registry / checkpoint_path(number - 1)).read_bytes()
    data = checkpoint_file(number, found or root_at(registry, about), about, time, previous, *keys)
    place(registry, checkpoint_path(number), data)
    return data


def begin(registry: Path, policies: Sequence[bytes]) -> None:
    """Put policies into the first commit of a registry, as if that was made at `START`, and pin the first."""
    place_policies(registry, policies)
    commit_at(registry, START, "--amend")
    with Registry.open(registry) as opened:
        Pin(opened.derived).keep(Digest.of((registry / policy_path(1)).read_bytes()))


def checked(registry: Path, *, roots: bool = True, newest: bool = True) -> Checkpoints:
    """Check all checkpoints of a working tree: thoroughly, or taking `roots` as they are stated."""
    with Registry.open(registry) as opened:
        return evidence(
            opened,
            roots=Roots(opened, cache=False) if roots else None,
            seen=SeenCheckpoints(opened.derived) if newest else None,
        ).checkpoints


def problems(found: Checkpoints) -> list[tuple[str, str, str]]:
    """Give severity, code and file name of each problem."""
    return [(each.severity, each.code, each.path.rpartition("/")[2]) for each in found.problems]
