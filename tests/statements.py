"""Signed statements, made by hand, and commits of them at whatever time one likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.attest.envelope import pae, sealed
from kstore.attest.statement import PAYLOAD_TYPE, Endorsement, Sha256, statement_bytes
from kstore.digest import Digest
from kstore.layout import attestation_path, policy_path
from tests.histories import head
from tests.hooked import commit, run_git, stage_all

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kstore.attest.statement import Predicate
    from tests.attest.policies import Key

SUBJECT = Digest.of(b"a record")
ENDORSED = Endorsement(Sha256.of(Digest.of(b"metadata")))


def statement_file(subject: Digest, predicate: Predicate, *keys: Key, name: str = "a-record") -> bytes:
    """Give the file of a statement that some keys have signed."""
    payload = statement_bytes(name, subject, predicate)
    return sealed(PAYLOAD_TYPE, payload, {key.id: key.sign(pae(PAYLOAD_TYPE, payload)) for key in keys}).to_bytes()


def place_statement(registry: Path, subject: Digest, data: bytes, *, fanout: int = 1) -> str:
    """Put a statement into a working tree, and give its path."""
    return place(registry, attestation_path(subject, Digest.of(data), fanout), data)


def endorse(registry: Path, subject: Digest, *keys: Key) -> str:
    """Put an endorsement of a record, with the metadata that it has, into a working tree, and give its path."""
    metadata = registry / f"store/metadata/{subject.hex[:2]}/{subject.hex}.json"
    said = Endorsement(Sha256.of(Digest.of(metadata.read_bytes())))
    return place_statement(registry, subject, statement_file(subject, said, *keys))


def place_policies(registry: Path, files: Sequence[bytes], first: int = 1) -> None:
    """Put policies into a working tree."""
    for number, data in enumerate(files, first):
        place(registry, policy_path(number), data)


def place(registry: Path, path: str, data: bytes) -> str:
    """Put a file into a working tree, and give its path."""
    file = registry / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    return path


def commit_at(registry: Path, time: int, *arguments: str) -> str:
    """Commit everything that lies in a working tree, as if it were some time, in seconds since 1970."""
    stage_all(registry)
    commit(registry, "--allow-empty", *arguments, env=at(time)).ok()
    return head(registry)


def begin_at(registry: Path, time: int) -> None:
    """Make what HEAD has the first commit of a history that begins at some time."""
    made = run_git(registry, "commit-tree", "-m", "begin", "HEAD^{tree}", env=at(time)).ok()
    run_git(registry, "reset", "--quiet", "--soft", made.text.strip()).ok()


def at(time: int) -> dict[str, str]:
    """Give what makes git believe that it is some time."""
    return {"GIT_AUTHOR_DATE": f"@{time} +0000", "GIT_COMMITTER_DATE": f"@{time} +0000"}
