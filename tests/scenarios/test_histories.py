"""Histories that somebody cut, rewrote or turned back: a checkpoint, or the clone's memory, shows each of them."""

from __future__ import annotations

import pytest

from kstore.attest.envelope import Envelope
from kstore.layout import checkpoint_path, path_of
from tests.registries import kstore
from tests.scenarios.people import RECORD, Person, Settle, one

FIRST, SECOND, THIRD = (checkpoint_path(number) for number in (1, 2, 3))


@pytest.fixture
def people(settle: Settle) -> tuple[Person, Person]:
    """Two people who share a registry with a signed record, which was retracted, and a checkpoint of all that."""
    alice, bob = settle("alice", "bob")
    alice.do("sign", RECORD)
    alice.do("retract", RECORD, "--reason", "the clock was wrong")
    alice.checkpoint()
    alice.world.sleep(1)
    alice.push().ok()
    bob.pull()
    assert bob.audit() == []
    return alice, bob


def retraction(person: Person) -> str:
    """Give the path of the retraction."""
    (path,) = (
        path
        for path in person.statements()
        if b"retraction" in Envelope.from_bytes(person.file(path).read_bytes()).payload
    )
    return path


def rewrite(person: Person, *gone: str) -> None:
    """Rewrite the whole history as if some files had never been there, and take everything else along."""
    drop = f"git rm --quiet --cached --ignore-unmatch {' '.join(gone)}"
    person.git("filter-branch", "--force", "--index-filter", drop, "HEAD")
    person.git("reset", "--quiet", "--hard")


def test_what_nobody_rewrote_is_sound(people: tuple[Person, Person]) -> None:
    alice, bob = people
    alice.do("attest", RECORD, "--result", "reproduced")
    alice.checkpoint(2)
    alice.do("attest", RECORD, "--result", "not-reproduced")
    alice.do("checkpoint", "create")
    assert alice.verify() == []
    assert alice.audit() == []
    alice.push().ok()
    bob.pull()
    assert bob.audit() == []


def test_a_retraction_is_removed_by_a_commit(people: tuple[Person, Person]) -> None:
    alice, bob = people
    path = retraction(bob)
    bob.git("rm", "--quiet", path)
    bob.commit()
    found = bob.audit(code=1)
    assert path in {each.path for each in found}
    one(found, "bad-checkpoint", FIRST, path)
    kstore("--registry", bob.world.central, "hook", "install").ok()
    pushed = bob.push()
    assert pushed.code != 0
    assert path in pushed.err
    del alice


def test_a_retraction_is_removed_from_history(people: tuple[Person, Person]) -> None:
    """A new clone, which has never seen the retraction, learns from the checkpoint that it was there."""
    _, bob = people
    rewrite(bob, retraction(bob))
    bob.push("--force").ok()
    carol = bob.world.person("carol")
    carol.pin()
    assert len(carol.statements()) == 1
    one(carol.audit(code=1), "bad-checkpoint", FIRST)


def test_a_retraction_and_its_checkpoint_are_removed_from_history(people: tuple[Person, Person]) -> None:
    """A clone that has seen the checkpoint is not fooled."""
    alice, bob = people
    bob.git("branch", "old")
    rewrite(bob, retraction(bob), FIRST)
    bob.push("--force").ok()
    alice.audit()
    alice.git("fetch", "--quiet")
    alice.git("reset", "--quiet", "--hard", "origin/main")
    found = alice.audit(code=1)
    assert "bad-checkpoint" in {each.code for each in found}, found


def test_an_old_checkpoint_is_replayed(people: tuple[Person, Person]) -> None:
    """The registry is turned back to what it was when the first checkpoint was made."""
    alice, bob = people
    first = alice.git("rev-parse", "HEAD")
    alice.do("attest", RECORD, "--result", "not-reproduced")
    alice.checkpoint(2)
    alice.push().ok()
    bob.pull()
    assert bob.audit() == []
    alice.git("push", "--quiet", "--force", "origin", f"{first}:main")
    bob.git("fetch", "--quiet")
    bob.git("reset", "--quiet", "--hard", "origin/main")
    found = bob.audit(code=1)
    assert {each.code for each in found} == {"bad-checkpoint", "history-rewritten"}, found
    one(found, "bad-checkpoint", SECOND, "rollback")


def test_an_old_checkpoint_under_a_new_number(people: tuple[Person, Person]) -> None:
    alice, bob = people
    bob.write(SECOND, bob.file(FIRST).read_bytes())
    bob.commit()
    one(bob.audit(code=1), "bad-checkpoint", SECOND)
    one(bob.verify(code=1), "bad-checkpoint", SECOND)
    del alice


def test_a_record_is_dropped_after_a_checkpoint(people: tuple[Person, Person]) -> None:
    alice, bob = people
    paths = [path_of(part, RECORD, 1) for part in ("objects", "metadata")]
    bob.git("rm", "--quiet", "-r", *paths, *(bob.statements()))
    bob.commit()
    found = bob.audit(code=1)
    one(found, "object-removed", paths[0])
    one(found, "bad-checkpoint", FIRST, paths[0])
    del alice


def test_a_record_is_dropped_from_history_before_a_new_checkpoint(people: tuple[Person, Person]) -> None:
    """A maintainer who makes a checkpoint of less than the one before has it is found out."""
    alice, _ = people
    paths = [path_of(part, RECORD, 1) for part in ("objects", "metadata")]
    rewrite(alice, *paths, *alice.statements())
    alice.checkpoint(2)
    alice.push("--force").ok()
    carol = alice.world.person("carol")
    carol.pin()
    one(carol.audit(code=1), "bad-checkpoint", FIRST)


def test_a_rewritten_history_with_a_checkpoint_of_another_key(people: tuple[Person, Person]) -> None:
    _, bob = people
    mallory = bob.world.person("mallory")
    mallory.pin()
    rewrite(mallory, retraction(mallory), FIRST)
    assert mallory.checkpoint() == FIRST
    mallory.push("--force").ok()
    carol = bob.world.person("carol")
    carol.pin()
    one(carol.audit(code=1), "unknown-signer", FIRST, mallory.public.id)
    one(carol.verify(code=1), "unknown-signer", FIRST, mallory.public.id)


def test_a_signer_who_is_no_maintainer_makes_a_checkpoint(people: tuple[Person, Person]) -> None:
    _, bob = people
    assert bob.checkpoint(2) == SECOND
    one(bob.verify(code=1), "signer-not-valid", SECOND, "only maintainers", "bob")
    one(bob.audit(code=1), "signer-not-valid", SECOND, "only maintainers", "bob")
