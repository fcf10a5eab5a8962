"""Policies count as they were when they came into history, whatever has ended since."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from kstore.attest.appearance import appearances
from kstore.attest.instant import seconds_of
from kstore.attest.statement import Sha256
from kstore.attest.trusted import policy_times, trust_from, trust_of
from kstore.digest import Digest
from kstore.layout import policy_path
from kstore.registry import Registry
from tests.attest.policies import ALICE, BOB, Snapshot, chain, file_of, policy
from tests.hooked import run_git
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path

# The key with which the second policy was signed has ended since, and so has the one that signed the third.
FILES = chain(
    (policy(1, 1, ALICE.listed("alice")), (ALICE,)),
    (policy(2, 1, ALICE.listed("alice", before="2021-01-01T00:00:00Z"), BOB.listed("bob")), (ALICE,)),
    (policy(3, 1, ALICE.listed("alice", revoked="2020-06-01T00:00:00Z"), BOB.listed("bob")), (ALICE, BOB)),
)
DATES = ("2020-01-01T00:00:00Z", "2020-02-01T00:00:00Z", "2020-03-01T00:00:00Z")


def put(registry: Path, number: int, data: bytes) -> None:
    path = registry / policy_path(number)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)


def commit(registry: Path, date: str) -> None:
    git(registry, "add", "--all")
    run_git(registry, "commit", "--quiet", "-m", "policy", env={"GIT_COMMITTER_DATE": date}).ok()


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A registry whose history is years old."""
    registry = tmp_path / "old"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_COMMITTER_DATE", "2019-12-01T00:00:00Z")
        Registry.init(registry).close()
    for number, (data, date) in enumerate(zip(FILES, DATES, strict=True), 1):
        put(registry, number, data)
        commit(registry, date)
    return registry


def test_each_policy_is_as_old_as_history_says(old: Path) -> None:
    with Registry.open(old) as registry:
        times = policy_times(registry.files, appearances(registry.history(), registry.derived))
        assert times == {number: seconds_of(date) for number, date in enumerate(DATES, 1)}
        trust = trust_from(registry, Digest.of(FILES[0]))
        assert trust.problems == ()
        assert [each.number for each in trust.policies] == [1, 2, 3]


def test_a_policy_that_is_not_committed_appears_now(old: Path) -> None:
    git(old, "reset", "--quiet", "--hard", "HEAD~1")
    both = (policy(3, 1, ALICE.listed("alice"), BOB.listed("bob")), policy(3, 1, BOB.listed("bob")))
    for made, signer, numbers in ((both[0], ALICE, [1, 2]), (both[1], BOB, [1, 2, 3])):
        linked = msgspec.structs.replace(made, previous=Sha256.of(Digest.of(FILES[1])))
        put(old, 3, file_of(linked, signer))
        with Registry.open(old) as registry:
            # The key with which alice signed has ended by now.
            assert [each.number for each in trust_of(registry).policies] == numbers


def test_other_bytes_under_the_same_path_are_another_policy(old: Path) -> None:
    put(old, 2, FILES[2])
    with Registry.open(old) as registry:
        times = policy_times(registry.files, appearances(registry.history(), registry.derived))
    assert times == {1: seconds_of(DATES[0]), 3: seconds_of(DATES[2])}


def test_what_cannot_be_read_has_no_time(old: Path) -> None:
    files = Snapshot.of(*FILES)
    files.files[policy_path(2)] = None
    with Registry.open(old) as registry:
        found = appearances(registry.history(), registry.derived)
    assert policy_times(files, found) == {1: seconds_of(DATES[0])}


def test_a_pin_decides(old: Path) -> None:
    with Registry.open(old) as registry:
        assert not trust_of(registry).pinned
        assert trust_from(registry, Digest.of(FILES[1])).pinned
        assert trust_from(registry, Digest.of(b"another")).policies == ()
