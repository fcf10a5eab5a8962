"""Histories in which checkpoints are sound, and those in which somebody lies."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from kstore.attest.checkpoint import checkpoint_bytes
from kstore.attest.instant import instant_of
from kstore.attest.root import Root
from kstore.layout import checkpoint_path
from tests.attest.policies import ALICE, BOB, CAROL, MALLORY, chain, policy
from tests.checkpoints import START, begin, checked, checkpoint_file, place_checkpoint, problems, root_at
from tests.histories import add_machine, head, relative
from tests.registries import git
from tests.statements import ENDORSED, SUBJECT, commit_at, place, place_policies, place_statement, statement_file

if TYPE_CHECKING:
    from pathlib import Path

POLICIES = chain(
    (policy(1, 1, ALICE.listed("alice"), BOB.listed("bob"), CAROL.listed("carol", "signer")), (ALICE,)),
)
ONE, TWO, THREE = (f"{number:010}.json" for number in (1, 2, 3))


@pytest.fixture(autouse=True)
def _(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody dates is committed at `START`, too."""
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{START} +0000")


@pytest.fixture
def world(empty: Path) -> Path:
    """Two records, each with a checkpoint after it."""
    begin(empty, POLICIES)
    add_machine(empty, "one")
    place_checkpoint(empty, 1, START + 100, ALICE)
    commit_at(empty, START + 100)
    add_machine(empty, "two")
    place_checkpoint(empty, 2, START + 200, ALICE, BOB)
    commit_at(empty, START + 200)
    return empty


def test_sound_checkpoints_are_good(world: Path) -> None:
    found = checked(world)
    assert (found.checked, found.problems, found.gaps) == (2, (), ())
    one, two = found.good
    assert (one.number, one.records, one.signers, one.time) == (1, 1, ("alice",), START + 100)
    assert (two.number, two.records, two.signers) == (2, 2, ("alice", "bob"))
    assert two.commit == git(world, "rev-parse", "HEAD^")
    assert two.path == checkpoint_path(2)


def test_a_registry_without_checkpoints_has_nothing_to_check(empty: Path) -> None:
    found = checked(empty)
    assert (found.checked, found.good, found.problems, found.gaps) == (0, (), (), ())


def test_a_checkpoint_tells_which_signed_files_were_there(world: Path) -> None:
    path = place_statement(world, SUBJECT, statement_file(SUBJECT, ENDORSED, CAROL))
    commit_at(world, START + 250)
    place_checkpoint(world, 3, START + 300, ALICE)
    commit_at(world, START + 300)
    later = place_statement(world, SUBJECT, statement_file(SUBJECT, ENDORSED, BOB))
    commit_at(world, START + 350)
    found = checked(world, roots=False)
    assert [good.contains(path) for good in found.good] == [False, False, True]
    assert [good.contains(later) for good in found.good] == [False, False, False]
    assert all(good.contains("store/trust/1.json") for good in found.good)


def flip(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def test_no_bit_of_a_checkpoint_can_be_flipped(world: Path) -> None:
    file = world / checkpoint_path(2)
    whole = file.read_bytes()
    for at in range(0, len(whole), 41):
        file.write_bytes(flip(whole, at))
        found = checked(world, roots=False)
        assert [each.number for each in found.good] == [1], at
        assert {each.path for each in found.problems} == {checkpoint_path(2)}, at


def test_an_old_checkpoint_replayed_under_a_new_number_is_named(world: Path) -> None:
    place(world, checkpoint_path(3), (world / checkpoint_path(1)).read_bytes())
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "bad-checkpoint", THREE)]
    assert "expected number 3, as in store/checkpoints/0000000003.json, found 1" in found.problems[0].message


def test_an_old_state_signed_anew_is_named(world: Path) -> None:
    """A maintainer states an older commit than the last one did: what came between seems to be gone."""
    place_checkpoint(world, 3, START + 300, ALICE, commit=git(world, "rev-parse", "HEAD~3"))
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "bad-checkpoint", THREE)]
    assert "is gone" in found.problems[0].message


def test_a_number_that_was_skipped_is_named(world: Path) -> None:
    place_checkpoint(world, 4, START + 300, ALICE, previous=(world / checkpoint_path(2)).read_bytes())
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "bad-checkpoint", "0000000004.json")]
    assert "expected checkpoint 3 before this one" in found.problems[0].message


def test_a_checkpoint_that_was_removed_is_missed_by_the_next(world: Path) -> None:
    (world / checkpoint_path(1)).unlink()
    assert problems(checked(world)) == [("error", "bad-checkpoint", TWO)]


@pytest.mark.parametrize(
    ("time", "records", "root", "commit", "previous", "said"),
    [
        (300, 2, None, None, b"another file", "previous: expected the SHA-256 of checkpoint 2's file"),
        (199, 2, None, None, None, "createdAt: expected no time before"),
        (300, 2, bytes(32), None, None, "root of"),
        (300, 3, None, None, None, "records: expected 2, found 3"),
        (300, 2, None, "12" * 20, None, "is not in this history"),
    ],
)
def test_what_a_checkpoint_states_must_be_so(
    time: int, records: int, root: bytes | None, commit: str | None, previous: bytes | None, said: str, world: Path
) -> None:
    found = Root(root or root_at(world).hash, records)
    place_checkpoint(world, 3, START + time, ALICE, commit=commit, found=found, previous=previous)
    commit_at(world, START + 300)
    result = checked(world)
    assert problems(result) == [("error", "bad-checkpoint", THREE)]
    assert said in result.problems[0].message
    assert [each.number for each in result.good] == [1, 2]


def test_roots_are_taken_as_stated_where_that_is_wanted(world: Path) -> None:
    place_checkpoint(world, 3, START + 300, ALICE, found=Root(bytes(32), 9))
    commit_at(world, START + 300)
    assert checked(world, roots=False).problems == ()


def test_a_checkpoint_of_a_commit_beside_the_history_is_named(world: Path) -> None:
    main = head(world)
    git(world, "checkout", "--quiet", "-b", "side")
    add_machine(world, "beside")
    side = head(world)
    git(world, "checkout", "--quiet", "main")
    assert head(world) == main
    place_checkpoint(world, 3, START + 300, ALICE, commit=side)
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "bad-checkpoint", THREE)]
    assert "history was rewritten" in found.problems[0].message


def drop_and_rewrite(registry: Path, digest: str) -> None:
    """Make history anew from its first commit, as if a record had never been there; all files else stay."""
    git(registry, "rm", "--quiet", relative(registry, digest), relative(registry, digest, "metadata"))
    git(registry, "checkout", "--quiet", "--orphan", "anew")
    commit_at(registry, START + 400)
    git(registry, "branch", "-M", "main")


def test_a_record_dropped_after_a_checkpoint_is_missed_although_history_was_rewritten(world: Path) -> None:
    digest = add_machine(world, "three")
    place_checkpoint(world, 3, START + 300, ALICE)
    commit_at(world, START + 300)
    checked(world)
    drop_and_rewrite(world, digest)
    git(world, "reflog", "expire", "--expire=now", "--all")
    git(world, "gc", "--quiet", "--prune=now")
    found = checked(world)
    assert [each for each in problems(found) if each[2] == THREE and each[1] == "bad-checkpoint"]
    assert found.good == ()


def test_a_rewritten_history_with_a_checkpoint_of_another_key_is_named(world: Path) -> None:
    """All is made anew and fits together; but whoever did it has no maintainer's key, and this clone has seen more."""
    assert checked(world).problems == ()
    git(world, "rm", "-r", "--quiet", "store/checkpoints")
    git(world, "checkout", "--quiet", "--orphan", "anew")
    commit_at(world, START + 300)
    git(world, "branch", "-M", "main")
    place_checkpoint(world, 1, START + 400, MALLORY)
    commit_at(world, START + 400)
    found = checked(world)
    assert problems(found) == [("error", "unknown-signer", ONE), ("error", "bad-checkpoint", TWO)]
    assert "rollback" in found.problems[1].message
    assert found.good == ()


def test_a_rollback_is_named_in_a_clone_that_has_seen_more(world: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", world.as_posix(), "clone")
    clone = tmp_path / "clone"
    checked(clone)
    git(clone, "reset", "--quiet", "--hard", "HEAD~2")
    found = checked(clone)
    assert problems(found) == [("error", "bad-checkpoint", TWO)]
    assert "rollback: this clone has seen checkpoint 2" in found.problems[0].message
    assert "finds 1 as the last one" in found.problems[0].message
    assert checked(clone, newest=False).problems == ()
    git(clone, "checkout", "--quiet", "-b", "older")
    assert checked(clone).problems == ()
    git(clone, "checkout", "--quiet", "main")
    git(clone, "pull", "--quiet", "--ff-only")
    assert checked(clone).problems == ()


def test_another_checkpoint_of_the_same_number_is_a_rollback_too(world: Path) -> None:
    checked(world)
    git(world, "reset", "--quiet", "--hard", "HEAD^")
    place_checkpoint(world, 2, START + 201, BOB)
    commit_at(world, START + 201)
    found = checked(world)
    assert problems(found) == [("error", "bad-checkpoint", TWO)]
    assert "another one of this number" in found.problems[0].message


def test_what_is_not_committed_or_not_good_is_not_remembered(world: Path) -> None:
    checked(world)
    place_checkpoint(world, 3, START + 300, ALICE)
    assert [each.number for each in checked(world).good] == [1, 2, 3]
    (world / checkpoint_path(3)).unlink()
    assert checked(world).problems == ()
    place_checkpoint(world, 3, START + 300, MALLORY)
    commit_at(world, START + 300)
    assert problems(checked(world)) == [("error", "unknown-signer", THREE)]
    git(world, "reset", "--quiet", "--hard", "HEAD^")
    assert checked(world).problems == ()


def test_the_signature_must_be_a_maintainers(world: Path) -> None:
    place_checkpoint(world, 3, START + 300, ALICE, CAROL)
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "signer-not-valid", THREE)]
    assert "carol" in found.problems[0].message


def test_a_key_that_claims_anothers_id_is_named(world: Path) -> None:
    made = checkpoint_file(
        3, root_at(world), head(world), START + 300, (world / checkpoint_path(2)).read_bytes(), MALLORY
    )
    place(world, checkpoint_path(3), made.replace(MALLORY.id.encode(), ALICE.id.encode()))
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "bad-checkpoint", THREE)]
    assert "is not right for what it signs" in found.problems[0].message


def test_a_maintainer_whom_the_same_commit_adds_does_not_count(world: Path) -> None:
    more = chain(
        (policy(1, 1, ALICE.listed("alice"), BOB.listed("bob"), CAROL.listed("carol", "signer")), (ALICE,)),
        (policy(2, 1, ALICE.listed("alice"), MALLORY.listed("mallory")), (ALICE,)),
    )
    assert more[0] == POLICIES[0]
    place_checkpoint(world, 3, START + 300, MALLORY)
    place_policies(world, more)
    commit_at(world, START + 300)
    found = checked(world)
    assert problems(found) == [("error", "unknown-signer", THREE)]
    assert "added with it or later" in found.problems[0].message


def test_a_maintainer_counts_within_the_window_alone(empty: Path) -> None:
    bob = BOB.listed("bob", after=instant_of(START + 150), before=instant_of(START + 250))
    begin(empty, chain((policy(1, 1, ALICE.listed("alice"), bob), (ALICE,))))
    for number in (1, 2, 3):
        # What it says of its time does not matter: it is the commit's that counts.
        place_checkpoint(empty, number, START + 200, BOB)
        commit_at(empty, START + 100 * number)
    found = checked(empty)
    assert problems(found) == [("error", "signer-not-valid", ONE), ("error", "signer-not-valid", THREE)]
    assert "was not yet valid by policy 1" in found.problems[0].message
    assert "was no longer valid by policy 1" in found.problems[1].message
    assert [each.number for each in found.good] == [2]


def revoked(registry: Path, since: int, *, then: bool) -> None:
    """Make a checkpoint of bob's, one of alice's after it if `then`, and revoke bob's key from some time on."""
    names = (ALICE.listed("alice"), BOB.listed("bob"))
    gone = BOB.listed("bob", revoked=instant_of(since))
    files = chain((policy(1, 1, *names), (ALICE,)), (policy(2, 1, ALICE.listed("alice"), gone), (ALICE,)))
    begin(registry, files[:1])
    place_checkpoint(registry, 1, START + 100, BOB)
    commit_at(registry, START + 100)
    if then:
        place_checkpoint(registry, 2, START + 200, ALICE)
        commit_at(registry, START + 200)
    place_policies(registry, files)
    commit_at(registry, START + 300)


def test_a_checkpoint_of_a_key_revoked_since_counts_if_another_shows_that_it_was_there(empty: Path) -> None:
    revoked(empty, START + 250, then=True)
    found = checked(empty)
    assert found.problems == ()
    assert [each.signers for each in found.good] == [("bob",), ("alice",)]


@pytest.mark.parametrize(("since", "then"), [(START + 250, False), (START + 150, True)])
def test_a_checkpoint_of_a_revoked_key_counts_no_longer_otherwise(since: int, then: bool, empty: Path) -> None:
    revoked(empty, since, then=then)
    found = checked(empty)
    assert problems(found) == [("warning", "signer-not-valid", ONE)]
    assert [each.signers for each in found.good] == [("alice",)] * then


def test_a_checkpoint_that_appears_when_its_key_is_revoked_already_is_wrong(empty: Path) -> None:
    revoked(empty, START + 250, then=False)
    place_checkpoint(empty, 2, START + 400, BOB)
    commit_at(empty, START + 400)
    assert ("error", "signer-not-valid", TWO) in problems(checked(empty))


def test_a_shallow_clone_is_incomplete_and_not_wrong(world: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth", "1", world.as_uri(), "shallow")
    found = checked(tmp_path / "shallow")
    assert found.problems == ()
    assert found.gaps
    assert found.good == ()


def test_a_partial_clone_is_incomplete_and_not_wrong(world: Path, tmp_path: Path) -> None:
    git(world, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "--quiet", "--bare", "--filter=blob:none", world.as_uri(), "partial")
    partial = tmp_path / "partial"
    git(partial, "remote", "remove", "origin")
    git(partial, "config", "remote.origin.promisor", "true")
    for path in ("store/kstore.json", *(checkpoint_path(number) for number in (1, 2)), "store/trust/1.json"):
        git(partial, "hash-object", "-w", "--stdin", stdin=(world / path).read_bytes())
    found = checked(partial)
    assert found.problems == ()
    assert len(found.gaps) == 2


def test_without_a_policy_nobody_can_tell(empty: Path) -> None:
    place_checkpoint(empty, 1, START, ALICE)
    commit_at(empty, START)
    found = checked(empty)
    assert problems(found) == [("warning", "unknown-signer", ONE)]
    assert found.gaps
    assert found.good == ()


def test_a_damaged_object_under_a_checkpoint_is_named(world: Path) -> None:
    record = next((world / "store" / "objects").rglob("*.json")).relative_to(world).as_posix()
    oid = git(world, "rev-parse", f"HEAD:{record}")
    path = world / ".git" / "objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    found = checked(world)
    assert ("error", "bad-checkpoint", TWO) in problems(found)
    assert any(record in each.message for each in found.problems)


def test_names_that_are_no_checkpoints_are_not_looked_at(world: Path) -> None:
    shutil.copy(world / checkpoint_path(1), world / "store" / "checkpoints" / "1.json")
    assert checked(world).checked == 2


def test_a_payload_of_another_form_is_named(world: Path) -> None:
    said = checkpoint_bytes(3, root_at(world), head(world), START + 300, None)
    place(world, checkpoint_path(3), checkpoint_file(3, Root(b"", 0), "", 0, None, ALICE, payload=said))
    assert problems(checked(world)) == [("error", "bad-checkpoint", THREE)]


DAY = 86_400


@pytest.mark.parametrize(
    ("time", "good"), [(-DAY - 1, False), (-DAY, True), (0, True), (300 + DAY, True), (301 + DAY, False)]
)
def test_what_a_checkpoint_says_of_its_time_fits_history(time: int, good: bool, empty: Path) -> None:
    """It is not older than the commit that it is about, nor made after it came, but for what clocks differ."""
    begin(empty, POLICIES)
    place_checkpoint(empty, 1, START + time, ALICE)
    commit_at(empty, START + 300)
    for found in (checked(empty), checked(empty, roots=False)):
        assert [each.number for each in found.good] == [1] * good
        assert problems(found) == [("error", "bad-checkpoint", ONE)] * (not good)
        assert all("createdAt: expected no time" in each.message for each in found.problems)


def test_a_backdated_commit_makes_no_checkpoint_old(empty: Path) -> None:
    """The commit that it is about is no older than those that it descends from."""
    begin(empty, POLICIES)
    commit_at(empty, START + 9 * DAY)
    commit_at(empty, START + 1)
    place_checkpoint(empty, 1, START + 2, ALICE)
    commit_at(empty, START + 2)
    assert problems(checked(empty)) == [("error", "bad-checkpoint", ONE)]


def test_a_checkpoint_that_is_not_good_binds_nobody_to_its_time(world: Path) -> None:
    place_checkpoint(world, 3, START + 400, MALLORY)
    commit_at(world, START + 400)
    place_checkpoint(world, 4, START + 300, ALICE)
    commit_at(world, START + 500)
    found = checked(world)
    assert problems(found) == [("error", "unknown-signer", THREE)]
    assert [each.number for each in found.good] == [1, 2, 4]
