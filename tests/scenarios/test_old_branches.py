"""Commits on top of old ones, with dates as somebody likes them: what came since counts for them all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from kstore.attest.policy import Listed, Policy
from kstore.attest.statement import Retraction
from kstore.digest import Digest
from kstore.layout import checkpoint_path, policy_path
from tests.registries import kstore
from tests.scenarios.people import DAY, RECORD, Person, Settle, one

if TYPE_CHECKING:
    from collections.abc import Callable

AHEAD = 3_900_000_000
"""Seconds since 1970, in the year 2093."""


@pytest.fixture
def people(settle: Settle) -> tuple[Person, Person, Person]:
    """A maintainer, a signer, and somebody whose key will be a maintainer's."""
    alice, bob, _ = settle("alice", "bob", "carol")
    return alice, bob, alice.world.person("mallory")


def following(person: Person, *entries: Listed, **changes: object) -> Policy:
    """Give the policy that would follow the latest one, with other signers."""
    last = max(int(path.stem) for path in person.file("store/trust").glob("*.json"))
    changes |= {"signers": tuple(sorted(entries, key=lambda each: (each.name, each.key)))} if entries else {}
    return msgspec.structs.replace(person.policy(last), number=last + 1, previous=person.previous(last), **changes)


def takes_over(person: Person) -> Policy:
    """Give the next policy, with one's own key alone."""
    return following(person, Listed(person.name, str(person.public), ("maintainer", "signer")), threshold=1)


def join(alice: Person, mallory: Person, *args: str) -> str:
    """Make somebody a maintainer, and give the commit."""
    alice.do("trust", "add", mallory.name, f"{mallory.key}.pub", "--role", "maintainer", "--role", "signer", *args)
    alice.world.sleep(5)
    return alice.git("rev-parse", "HEAD")


def merge_side(person: Person, fork: str, work: Callable[[], object], time: int | None = None) -> None:
    """Commit some work on top of an old commit, and merge that into main."""
    person.git("checkout", "--quiet", "-b", "side", fork)
    work()
    person.commit("On the side", time=time)
    person.git("checkout", "--quiet", "main")
    person.git("merge", "--quiet", "--no-edit", "side")


def found(person: Person, code: str, path: str, *words: str) -> None:
    """Insist that verify and audit find something."""
    one(person.verify(code=1), code, path, *words)
    one(person.audit(code=1), code, path, *words)


def refused(person: Person, code: str, path: str, *words: str) -> None:
    """Insist that verify and audit find something, and that a server refuses it."""
    found(person, code, path, *words)
    kstore("--registry", person.world.central, "hook", "install").ok()
    first = Digest.of(person.file(policy_path(1)).read_bytes())
    kstore("--registry", person.world.central, "trust", "pin", first).ok()
    pushed = person.push()
    assert pushed.code != 0
    assert code in pushed.err, pushed.err
    assert path in pushed.err, pushed.err


@pytest.mark.parametrize("copied", [False, True], ids=["alone", "with the policy that revokes it"])
def test_a_revoked_maintainer_takes_over_from_before_the_revocation(
    copied: bool, people: tuple[Person, Person, Person]
) -> None:
    alice, _, mallory = people
    fork, early = join(alice, mallory), alice.world.time - 4 * DAY
    alice.do("trust", "revoke", "mallory", "--from", alice.world.instant())
    alice.world.sleep(5)
    alice.checkpoint()
    alice.push().ok()
    mallory.pull()
    mallory.pin()
    policy = takes_over(mallory)
    revoking = policy_path(policy.number - 1)
    data = mallory.file(revoking).read_bytes()

    def work() -> None:
        if copied:
            mallory.write(revoking, data)
            mallory.commit("As it is", time=early)
        mallory.put_policy(policy)

    merge_side(mallory, fork, work, early)
    refused(mallory, "invalid-policy", policy_path(policy.number), "mallory")
    # Leaving the revocation as it is helps no more: a revoked key signs no policies.
    kept = msgspec.structs.replace(mallory.policy(policy.number - 1), number=policy.number, previous=policy.previous)
    mallory.put_policy(kept)
    one(mallory.verify(code=1), "invalid-policy", policy_path(policy.number), "not revoked")


def test_a_maintainer_whose_window_has_ended_signs_a_backdated_policy(people: tuple[Person, Person, Person]) -> None:
    alice, bob, mallory = people
    fork, early = join(alice, mallory, "--valid-before", alice.world.instant(2)), alice.world.time - 4 * DAY
    alice.do("trust", "add", "dora", f"{alice.world.person('dora').key}.pub")
    alice.world.sleep(1)
    alice.checkpoint()
    alice.push().ok()
    mallory.pull()
    mallory.pin()
    policy = takes_over(mallory)
    merge_side(mallory, fork, lambda: mallory.put_policy(policy), early)
    path = policy_path(policy.number)
    found(mallory, "invalid-policy", path, "valid when it appeared")
    mallory.push().ok()
    bob.pull()
    assert bob.run("trust", "list").code == 1
    one(bob.verify(code=1), "invalid-policy", path)


def test_a_policy_signed_in_time_stays_good_after_the_window(people: tuple[Person, Person, Person]) -> None:
    """The same maintainer, honestly: a checkpoint made after the end has that policy."""
    alice, bob, mallory = people
    join(alice, mallory, "--valid-before", alice.world.instant(20))
    alice.push().ok()
    mallory.pull()
    mallory.pin()
    mallory.put_policy(following(mallory, requires_signature=("ServingRun",)))
    mallory.commit("Signed in time")
    mallory.push().ok()
    alice.pull()
    alice.world.sleep(30)
    alice.do("checkpoint", "create")
    alice.do("trust", "add", "erin", f"{alice.world.person('erin').key}.pub")
    alice.push().ok()
    bob.pull()
    assert bob.verify() == []
    assert bob.audit() == []


def dropped(alice: Person, bob: Person) -> None:
    alice.put_policy(following(alice, *(each for each in alice.policy(3).signers if each.name != bob.name)))
    alice.commit("Without bob")


def ended(alice: Person, bob: Person) -> None:
    alice.do("trust", "add", "bob", f"{bob.key}.pub", "--valid-before", alice.world.instant(1))


@pytest.mark.parametrize(("change", "code"), [(dropped, "unknown-signer"), (ended, "signer-not-valid")])
def test_statements_on_top_of_an_old_commit(
    change: Callable[[Person, Person], None], code: str, people: tuple[Person, Person, Person]
) -> None:
    """The key was good by the policy of that commit; a month later it is not."""
    alice, bob, _ = people
    fork = bob.git("rev-parse", "HEAD")
    alice.world.sleep(1)
    change(alice, bob)
    alice.world.sleep(30)
    alice.push().ok()
    bob.pull()
    data = bob.statement(Retraction("withdrawn"))
    merge_side(bob, fork, lambda: bob.put(data))
    assert "do not count" in bob.run("show", RECORD).err or "does not count" in bob.run("show", RECORD).err
    refused(bob, code, bob.statements()[0], bob.public.id)


@pytest.mark.parametrize("change", [dropped, ended])
def test_a_statement_made_in_time_is_merged_later(
    change: Callable[[Person, Person], None], people: tuple[Person, Person, Person]
) -> None:
    alice, bob, _ = people
    fork, before = bob.git("rev-parse", "HEAD"), alice.world.time
    alice.world.sleep(1)
    change(alice, bob)
    alice.push().ok()
    alice.world.sleep(1)
    bob.pull()
    merge_side(bob, fork, lambda: bob.put(bob.statement()), before)
    assert bob.verify() == []
    assert bob.audit() == []


def test_who_brings_a_statement_once_more_takes_nothing_from_it(people: tuple[Person, Person, Person]) -> None:
    """A copy comes first by the order of a merge's parents, and from before anybody was listed."""
    alice, bob, _ = people
    path = bob.put(bob.statement(Retraction("wrong")))
    bob.commit("Retract")
    bob.push().ok()
    data, root = bob.file(path).read_bytes(), bob.git("rev-list", "--max-parents=0", "HEAD")
    bob.git("checkout", "--quiet", "-b", "side", root)
    bob.write(path, data)
    bob.commit("Copy")
    bob.git("merge", "--quiet", "--no-edit", "main")
    bob.git("checkout", "--quiet", "main")
    bob.git("merge", "--quiet", "--ff-only", "side")
    bob.push().ok()
    alice.pull()
    assert alice.verify() == []
    assert "retracted" in alice.run("show", RECORD).ok().err


def test_a_maintainer_who_is_none_any_more_makes_a_checkpoint_of_an_old_commit(
    people: tuple[Person, Person, Person],
) -> None:
    alice, _, mallory = people
    fork = join(alice, mallory)
    alice.do("trust", "add", "mallory", f"{mallory.key}.pub", "--role", "signer")
    alice.world.sleep(30)
    alice.push().ok()
    mallory.pull()
    mallory.pin()
    merge_side(mallory, fork, mallory.checkpoint)
    refused(mallory, "signer-not-valid", checkpoint_path(1), "only maintainers")


def test_a_checkpoint_came_after_the_one_that_it_names(people: tuple[Person, Person, Person]) -> None:
    """A date from before the maintainer was none any more does not help against a checkpoint made since."""
    alice, _, mallory = people
    fork, early = join(alice, mallory), alice.world.time
    alice.world.sleep(10)
    alice.do("trust", "add", "mallory", f"{mallory.key}.pub", "--role", "signer")
    alice.world.sleep(10)
    path = alice.checkpoint()
    alice.push().ok()
    mallory.pull()
    mallory.pin()
    data = mallory.file(path).read_bytes()

    def work() -> None:
        mallory.write(path, data)
        now, mallory.world.time = mallory.world.time, early
        mallory.checkpoint(2)
        mallory.world.time = now

    merge_side(mallory, fork, work, early)
    found(mallory, "signer-not-valid", checkpoint_path(2), "only maintainers")


def test_a_thief_drops_the_revoked_key_to_let_its_checkpoint_count(people: tuple[Person, Person, Person]) -> None:
    alice, _, mallory = people
    fork, early = join(alice, mallory), alice.world.time - DAY
    alice.do("trust", "revoke", "mallory", "--from", alice.world.instant())
    alice.world.sleep(1)
    path = alice.put_policy(following(alice, *(each for each in alice.policy(3).signers)))
    alice.commit("Without mallory")
    alice.push().ok()
    mallory.pull()
    mallory.pin()

    def work() -> None:
        mallory.put(mallory.statement(Retraction("forged")))
        mallory.commit("Forged", time=early)
        now, mallory.world.time = mallory.world.time, early
        mallory.checkpoint()
        mallory.world.time = now

    merge_side(mallory, fork, work, early)
    findings = mallory.verify(code=1)
    one(findings, "invalid-policy", path, "dropped")
    one(findings, "signer-not-valid", checkpoint_path(1), "revoked")
    one(findings, "signer-not-valid", mallory.statements()[0], "does not count")


def test_a_date_far_ahead_makes_nothing_else_come_later(people: tuple[Person, Person, Person]) -> None:
    """Windows that ended since would otherwise be held against everything that descends from that commit."""
    alice, bob, mallory = people
    end = alice.world.instant(20)
    join(alice, mallory, "--valid-before", end)
    alice.do("trust", "add", "bob", f"{bob.key}.pub", "--valid-before", end)
    bob.git("pull", "--quiet", str(alice.clone), "main")
    bob.write("README.md", b"From another time")
    bob.commit("Ahead", time=AHEAD)
    bob.put(bob.statement())
    bob.commit("In time")
    mallory.clone = bob.clone
    mallory.put_policy(following(bob, threshold=1, requires_signature=("BenchmarkRun",)))
    bob.commit("In time, too")
    assert bob.verify() == []
    assert bob.run("trust", "list").code == 0


def test_a_planted_number_lets_no_key_vouch_for_itself(people: tuple[Person, Person, Person]) -> None:
    """Something that has a policy's name lies in the commit before; only what is believed was in force there."""
    alice, _, mallory = people
    mallory.clone = alice.clone
    policy = following(alice, *alice.policy(3).signers, Listed("mallory", str(mallory.public), ("signer",)))
    planted = [alice.write(policy_path(number), b"x") for number in (policy.number, 9000)]
    alice.commit("Planted")
    alice.git("rm", "--quiet", *planted)
    alice.put_policy(policy)
    path = alice.put(mallory.statement())
    alice.commit("Both")
    found(alice, "unknown-signer", path, "policy 4 was the first to list")


def test_a_number_that_no_policy_has(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    path = alice.write("store/trust/9999999999.json", b"{}")
    alice.commit()
    alice.put(alice.statement())
    alice.commit()
    one(alice.verify(code=1), "unexpected-file", path)
    one(alice.audit(code=1), "unexpected-file", path)
    assert alice.run("show", RECORD).code == 0


def test_policies_of_a_commit_without_the_pinned_one(people: tuple[Person, Person, Person]) -> None:
    """Whatever it has is compared with what is believed at HEAD."""
    alice, *_ = people
    alice.git("checkout", "--quiet", "--orphan", "evil")
    first, stranger = policy_path(1), policy_path(7)
    sound = alice.file(first).read_bytes()
    for number in (2, 3):
        alice.file(policy_path(number)).unlink()
    alice.write(first, b"garbage")
    alice.write(stranger, b"{}")
    alice.commit("Evil")
    alice.write(first, sound)
    alice.file(stranger).unlink()
    alice.commit("Only the first, as it was")
    alice.git("checkout", "--quiet", "main")
    alice.run("trust", "pin", Digest.of(alice.file(policy_path(3)).read_bytes())).ok()
    findings = alice.verify("--rev", "evil~1", code=1)
    one(findings, "invalid-policy", first, "does not have the policy that is pinned here")
    one(findings, "invalid-policy", stranger, "expected no policy of this number")
    assert alice.verify("--rev", "evil") == []


def test_a_pinned_policy_that_is_gone_asks_for_no_less(people: tuple[Person, Person, Person]) -> None:
    """Turned back to before it, a registry that wants signatures would take what nobody signed."""
    alice, *_ = people
    alice.do("trust", "require", "--all")
    alice.do("trust", "add", "dora", f"{alice.world.person('dora').key}.pub")
    alice.run("trust", "pin", Digest.of(alice.file(policy_path(5)).read_bytes())).ok()
    document = alice.world.top / "machine.json"
    document.write_text('{"kind":"ExecutionEnvironment"}')
    for _ in range(5):
        alice.git("reset", "--quiet", "--hard", "HEAD~1")
        ran = alice.run("add", document)
        assert ran.code != 0
    assert not alice.file("store/trust").exists()
