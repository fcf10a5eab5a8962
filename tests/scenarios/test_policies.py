"""Policies that nobody may write: signed by too few, by one person twice, by revoked keys, or out of their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from kstore.attest.policy import Listed, Policy
from kstore.attest.statement import Sha256
from kstore.digest import Digest
from kstore.layout import policy_path
from tests.registries import kstore
from tests.scenarios.people import RECORD, Person, Settle, one

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def people(settle: Settle) -> tuple[Person, Person, Person]:
    """Two maintainers, both of whom must sign a policy, and a signer."""
    alice, bob, carol = settle("alice", "bob", "carol")
    alice.do("trust", "add", "dora", f"{_second(alice, 'dora').key}.pub", "--role", "maintainer")
    alice.do("trust", "threshold", "2", "--key", dora_of(alice).key)
    alice.push().ok()
    carol.pull()
    assert carol.verify() == []
    return alice, bob, carol


def _second(person: Person, name: str) -> Person:
    """Give somebody a key who works in the clone of another one."""
    made = person.world.person(name)
    made.clone = person.clone
    return made


def dora_of(person: Person) -> Person:
    made = Person(person.world, "dora")
    made.clone = person.clone
    return made


def following(person: Person, *, number: int | None = None, **changes: object) -> Policy:
    """Give the policy that would follow the latest one, with changes."""
    last = max(int(path.stem) for path in person.file("store/trust").glob("*.json"))
    policy = msgspec.structs.replace(
        person.policy(last), number=number or last + 1, previous=person.previous(last), **changes
    )
    policy.check()
    return policy


def with_key(policy: Policy, name: str, person: Person) -> Policy:
    """Add a maintainer's key to a policy."""
    entry = Listed(name, str(person.public), ("maintainer",))
    signers = tuple(sorted((*policy.signers, entry), key=lambda each: (each.name, each.key)))
    return msgspec.structs.replace(policy, signers=signers)


def refused(person: Person, path: str, *words: str) -> None:
    """Insist that verify finds it in the working tree, and audit and a hook once it is committed."""
    one(person.verify(code=1), "invalid-policy", path, *words)
    person.commit()
    one(person.verify(code=1), "invalid-policy", path, *words)
    one(person.audit(code=1), "invalid-policy", path, *words)
    kstore("--registry", person.world.central, "hook", "install").ok()
    first = Digest.of(person.file(policy_path(1)).read_bytes())
    kstore("--registry", person.world.central, "trust", "pin", first).ok()
    pushed = person.push()
    assert pushed.code != 0
    assert "invalid-policy" in pushed.err, pushed.err


def test_a_policy_signed_by_enough_is_sound(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    alice.put_policy(following(alice, threshold=1), dora_of(alice))
    assert alice.verify() == []


def test_signed_by_too_few(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    refused(alice, alice.put_policy(following(alice, threshold=1)), "2", "alice")


def test_signed_by_one_person_with_two_keys(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    second = alice.another_key("second")
    alice.put_policy(with_key(following(alice), "alice", second), dora_of(alice))
    assert alice.verify() == []
    refused(alice, alice.put_policy(following(alice, threshold=1), second), "2", "alice")


def test_signed_by_one_key_twice(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    path = alice.put_policy(following(alice, threshold=1))
    data = msgspec.json.decode(alice.file(path).read_bytes())
    data["signatures"] *= 2
    alice.write(path, msgspec.json.encode(data, order="sorted"))
    refused(alice, path, "different keys")


def test_signed_by_a_signer_who_is_no_maintainer(people: tuple[Person, Person, Person]) -> None:
    alice, _, carol = people
    path = alice.put_policy(following(alice, threshold=1), carol)
    refused(alice, path, "2", "alice")


def test_signed_by_those_whom_it_lists_itself(people: tuple[Person, Person, Person]) -> None:
    """A policy cannot vouch for itself."""
    *_, carol = people
    mallory = _second(carol, "mallory")
    policy = following(carol, threshold=1)
    path = mallory.put_policy(with_key(policy, "mallory", mallory))
    refused(carol, path, "the maintainers of the policy before")


def test_signed_by_a_revoked_key(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    dora, erin = dora_of(alice), _second(alice, "erin")
    alice.put_policy(with_key(following(alice), "erin", erin), dora)
    alice.commit()
    alice.world.sleep(1)
    alice.do("trust", "revoke", "dora", "--from", alice.world.instant(), "--key", erin.key)
    assert alice.verify() == []
    alice.world.sleep(1)
    refused(alice, alice.put_policy(following(alice, threshold=1), dora), "2", "alice")


def test_a_number_is_skipped(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    last = max(int(path.stem) for path in alice.file("store/trust").glob("*.json"))
    path = alice.put_policy(following(alice, number=last + 2), dora_of(alice))
    refused(alice, path, "skipped")


def test_a_number_is_repeated(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    last = max(int(path.stem) for path in alice.file("store/trust").glob("*.json"))
    path = alice.put_policy(following(alice, number=last), dora_of(alice), number=last + 1)
    refused(alice, path, str(last), str(last + 1))


def test_the_same_policy_under_the_next_number(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    last = max(int(path.stem) for path in alice.file("store/trust").glob("*.json"))
    path = alice.write(policy_path(last + 1), alice.file(policy_path(last)).read_bytes())
    refused(alice, path, str(last), str(last + 1))


def test_a_wrong_previous(people: tuple[Person, Person, Person]) -> None:
    alice, *_ = people
    policy = msgspec.structs.replace(following(alice), previous=Sha256.of(Digest.of(b"another")))
    refused(alice, alice.put_policy(policy, dora_of(alice)), "previous")


def test_a_policy_is_replaced_by_another_of_its_number(people: tuple[Person, Person, Person]) -> None:
    """Everybody who must sign may have signed both; that there were two is what history shows."""
    alice, *_ = people
    last = max(int(path.stem) for path in alice.file("store/trust").glob("*.json"))
    signers = alice.policy(last).signers
    kept = tuple(each for each in signers if each.name != "carol")
    policy = msgspec.structs.replace(alice.policy(last), signers=kept)
    path = alice.put_policy(policy, dora_of(alice))
    alice.commit()
    assert path in {each.path for each in alice.audit(code=1)}


def test_the_pinned_policy_is_gone(people: tuple[Person, Person, Person]) -> None:
    alice, _, carol = people
    carol.run("trust", "pin", Digest.of(carol.file(policy_path(3)).read_bytes())).ok()
    carol.git("rm", "--quiet", *(each.relative_to(carol.clone).as_posix() for each in _from(carol, 3)))
    carol.commit()
    one(carol.verify(code=1), "invalid-policy", "store/trust", "rolled back")
    one(carol.audit(code=1), "invalid-policy", "store/trust", "rolled back")
    del alice


def test_policies_are_turned_back(people: tuple[Person, Person, Person]) -> None:
    """An earlier policy is pinned, which is still there; but this clone has seen later ones."""
    alice, bob, carol = people
    alice.do("trust", "revoke", "bob", "--key", dora_of(alice).key)
    alice.push().ok()
    carol.pull()
    last = policy_path(max(int(path.stem) for path in _from(carol, 1)))
    assert carol.audit() == []
    carol.git("reset", "--quiet", "--hard", "HEAD~1")
    one(carol.verify(code=1), "invalid-policy", last, "rollback", "policies")
    one(carol.audit(code=1), "invalid-policy", last, "rollback", "policies")
    carol.git("reset", "--quiet", "--hard", "ORIG_HEAD")
    assert carol.audit() == []
    # Of what this clone has never seen, it cannot tell.
    bob.pull()
    bob.git("reset", "--quiet", "--hard", "HEAD~1")
    assert bob.audit() == []


def _from(person: Person, number: int) -> list[Path]:
    return [path for path in person.file("store/trust").glob("*.json") if int(path.stem) >= number]


def test_after_a_policy_that_is_refused_its_signers_are_nobody(people: tuple[Person, Person, Person]) -> None:
    *_, carol = people
    mallory = _second(carol, "mallory")
    mallory.put_policy(with_key(following(carol, threshold=1), "mallory", mallory))
    carol.commit()
    path = carol.put(mallory.statement())
    one(carol.verify(code=1), "unknown-signer", path, mallory.public.id)
    assert "mallory" not in carol.run("show", RECORD).ok().err


def test_a_lost_key_is_replaced_while_the_threshold_is_met(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    for name in ("dora", "erin"):
        alice.do("trust", "add", name, f"{_second(alice, name).key}.pub", "--role", "maintainer")
    dora, erin = (Person(alice.world, name) for name in ("dora", "erin"))
    dora.clone = erin.clone = alice.clone
    alice.do("trust", "threshold", "2", "--key", dora.key)
    alice.world.sleep(1)
    found = erin.another_key("found")
    found.clone = alice.clone
    alice.do("trust", "add", "erin", f"{found.key}.pub", "--role", "maintainer", "--key", dora.key)
    assert alice.verify() == []
    alice.world.sleep(1)
    dora.do("trust", "threshold", "1", "--key", found.key)
    assert alice.verify() == []
