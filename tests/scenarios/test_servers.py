"""What somebody pushes to a server that checks pushes, each by a real `git push`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from kstore.actions.root import Roots
from kstore.attest.checkpoint import checkpoint_bytes
from kstore.attest.instant import now
from kstore.attest.statement import PAYLOAD_TYPE, Retraction
from kstore.digest import Digest
from kstore.layout import checkpoint_path, policy_path
from kstore.registry import Registry
from tests.histories import add_machine
from tests.hooked import run_git
from tests.registries import PROTOCOL, git, kstore
from tests.scenarios.people import DAY, Person, Settle, one

if TYPE_CHECKING:
    from pathlib import Path

    from tests.registries import Ran


def serve(person: Person, *, pin: int) -> None:
    """Let the registry that everybody pushes to check pushes, and trust a policy."""
    kstore("--registry", person.world.central, "hook", "install").ok()
    data = person.file(policy_path(pin)).read_bytes()
    kstore("--registry", person.world.central, "trust", "pin", Digest.of(data)).ok()


def refused(ran: Ran, *said: str) -> None:
    """Insist that a push was refused, in words that say why."""
    assert ran.code != 0
    for words in said:
        assert words in ran.err, ran.err
    assert "nothing of it was taken" in ran.err


def unsigned(person: Person, name: str = "one") -> Digest:
    """Commit a new record that nobody signs, past all that kstore would say to it."""
    scratch = person.world.top / f"{person.name}-{name}"
    kstore("init", scratch).ok()
    digest = Digest(add_machine(scratch, name))
    for part in ("objects", "metadata"):
        path = f"store/{part}/{digest.hex[:2]}/{digest.hex}.json"
        person.write(path, (scratch / path).read_bytes())
    person.commit(f"Add {name}")
    return digest


def merge(person: Person, branch: str) -> None:
    """Merge a branch, past the hooks."""
    person.git("merge", "--quiet", "--no-verify", "--no-edit", branch)


def dated(person: Person, time: int, number: int = 1) -> str:
    """Commit a checkpoint of HEAD that says that it was made at some time, in seconds since 1970."""
    with Registry.open(person.clone) as registry:
        history = registry.history()
        assert history.head is not None
        root = Roots(registry, cache=False).of(history.commit(history.head).tree)
        previous = Digest.of(person.file(checkpoint_path(number - 1)).read_bytes()) if number > 1 else None
        payload = checkpoint_bytes(number, root, history.head.hex(), time, previous)
    path = person.write(checkpoint_path(number), person.sealed(PAYLOAD_TYPE, payload))
    person.commit(f"Checkpoint {number}")
    return path


@pytest.mark.parametrize("copied", [False, True], ids=["plainly", "behind a copy of the policy"])
def test_an_unsigned_record_comes_by_a_branch_that_is_older_than_the_policy(copied: bool, settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=2)
    fork = alice.git("rev-parse", "HEAD")
    alice.do("trust", "require", "--all")
    alice.push().ok()
    bob.pull()
    policy = bob.file(policy_path(3)).read_bytes()
    bob.git("switch", "--quiet", "--create", "side", fork)
    digest = unsigned(bob)
    if copied:
        bob.write(policy_path(3), policy)
        bob.commit("Policy 3")
    run_git(bob.clone, "push", "--quiet", "origin", "side").ok()
    bob.git("switch", "--quiet", "main")
    before = bob.git("rev-parse", "HEAD")
    merge(bob, "side")
    refused(bob.push(), "missing-signature", str(digest))
    # The same the other way round: what others did is merged into the branch.
    bob.git("switch", "--quiet", "side")
    merge(bob, "main")
    refused(run_git(bob.clone, "push", "--quiet", "origin", "side:main"), "missing-signature", str(digest))
    # Signed before it is merged, it is welcome.
    bob.git("reset", "--quiet", "--hard", "origin/side")
    bob.do("sign", digest)
    bob.git("switch", "--quiet", "main")
    bob.git("reset", "--quiet", "--hard", before)
    merge(bob, "side")
    bob.push().ok()
    assert bob.verify() == []


def test_what_was_taken_before_it_had_to_be_signed_is_merged_as_it_is(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=2)
    unsigned(bob)
    bob.push().ok()
    alice.do("trust", "require", "--all")
    alice.git("pull", "--quiet", "--no-rebase", "--no-edit")
    alice.push().ok()
    bob.pull()
    assert bob.verify() == []


def test_a_policy_that_is_none_comes_by_a_branch_that_is_older_than_the_pinned_one(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=2)
    bob.git("switch", "--quiet", "--create", "side", "HEAD~1")
    path = bob.write(policy_path(3), b"garbage")
    bob.commit("No policy")
    # As it was before there was a hook.
    hook = alice.world.central / "hooks" / "pre-receive"
    hook.rename(hook.with_suffix(".off"))
    run_git(bob.clone, "push", "--quiet", "origin", "side").ok()
    hook.with_suffix(".off").rename(hook)
    bob.git("switch", "--quiet", "main")
    merge(bob, "side")
    refused(bob.push(), "invalid-policy", path)
    assert git(alice.world.central, "rev-parse", "main") == alice.git("rev-parse", "HEAD")


def test_a_statement_of_a_key_that_was_dropped_since_comes_by_an_older_branch(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=1)
    fork = alice.git("rev-parse", "HEAD")
    last = alice.policy(2)
    signers = tuple(each for each in last.signers if each.name != "bob")
    alice.put_policy(msgspec.structs.replace(last, number=3, previous=alice.previous(2), signers=signers))
    alice.commit("Policy 3")
    alice.push().ok()
    alice.world.sleep(30)
    bob.git("switch", "--quiet", "--create", "side", fork)
    path = bob.put(bob.statement())
    bob.commit()
    run_git(bob.clone, "push", "--quiet", "origin", "side").ok()
    bob.git("fetch", "--quiet")
    bob.git("switch", "--quiet", "--force-create", "main", "origin/main")
    merge(bob, "side")
    refused(bob.push(), path)


def test_honest_people_merge_what_they_signed(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=1)
    bob.put(bob.statement())
    bob.commit()
    alice.do("trust", "require", "--all")
    alice.world.sleep(1)
    alice.do("retract", PROTOCOL, "--reason", "wrong")
    alice.checkpoint()
    alice.push().ok()
    bob.pull()
    bob.push().ok()
    alice.pull()
    assert alice.verify() == []
    assert alice.audit() == []


def test_a_checkpoint_of_a_time_to_come(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=1)
    before = alice.git("rev-parse", "HEAD")
    path = dated(alice, 253_402_300_799)
    one(alice.verify(code=1), "bad-checkpoint", path, "createdAt", "9999-12-31")
    one(alice.audit(code=1), "bad-checkpoint", path, "createdAt")
    refused(alice.push(), "bad-checkpoint", path, "createdAt")
    assert "createdAt" in alice.run("checkpoint", "create", "--key", alice.key).err
    # It spoils nothing for what comes later.
    bob.put(bob.statement())
    bob.commit()
    bob.push().ok()
    alice.git("reset", "--quiet", "--hard", before)
    alice.pull()
    dated(alice, alice.world.time + DAY // 2)
    alice.push().ok()
    assert alice.verify() == []


def test_a_checkpoint_that_is_older_than_what_it_is_about(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    serve(alice, pin=1)
    alice.put(alice.statement(Retraction("wrong")))
    alice.commit()
    path = dated(alice, alice.world.time - 40 * DAY)
    one(alice.verify(code=1), "bad-checkpoint", path, "createdAt", "not much older")
    refused(alice.push(), "bad-checkpoint", path)


def test_a_thief_dates_a_checkpoint_far_ahead_on_an_older_branch(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    mallory = alice.world.person("mallory")
    alice.do("trust", "add", "mallory", f"{mallory.key}.pub", "--role", "maintainer")
    serve(alice, pin=1)
    fork, time = alice.git("rev-parse", "HEAD"), alice.world.time
    alice.world.sleep(3)
    alice.do("trust", "revoke", "mallory", "--from", alice.world.instant())
    alice.push().ok()
    mallory.pull()
    mallory.git("switch", "--quiet", "--create", "side", fork)
    with Registry.open(mallory.clone) as registry:
        history = registry.history()
        assert history.head is not None
        root = Roots(registry, cache=False).of(history.commit(history.head).tree)
        payload = checkpoint_bytes(1, root, history.head.hex(), 253_402_300_799, None)
    path = mallory.write(checkpoint_path(1), mallory.sealed(PAYLOAD_TYPE, payload))
    mallory.commit("Checkpoint", time=time)
    mallory.git("switch", "--quiet", "main")
    merge(mallory, "side")
    refused(mallory.push(), "bad-checkpoint", path)
    alice.do("checkpoint", "create")
    alice.push().ok()
    bob.pull()
    assert bob.verify() == []


def test_a_commit_of_a_time_to_come(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    serve(alice, pin=1)
    bob.put(bob.statement())
    guilty = bob.commit(time=now() + 40 * DAY)
    refused(bob.push(), guilty, "more than a day ahead")
    run_git(bob.clone, "commit", "--quiet", "--amend", "--no-edit", "--no-verify").ok()
    bob.push().ok()
    del alice


def test_a_push_of_many_statements_is_checked_one_by_one(settle: Settle) -> None:
    """What is known of one commit's policies is used for the next; a bad one in the middle is found all the same."""
    alice, bob = settle("alice", "bob")
    mallory = alice.world.person("mallory")
    serve(alice, pin=1)
    for number in range(3):
        bob.put(bob.statement(Retraction(f"{number}")))
        bob.commit()
    guilty_path = bob.put(mallory.statement(Retraction("mine")))
    guilty = bob.commit()
    bob.file(guilty_path).unlink()
    bob.commit()
    pushed = bob.push()
    refused(pushed, f"commit {guilty}: unknown-signer: {guilty_path}")
    bob.git("reset", "--quiet", "--hard", "HEAD~2")
    bob.push().ok()


def test_a_server_whose_head_names_a_branch_that_nobody_pushes(settle: Settle, tmp_path: Path) -> None:
    alice, _ = settle("alice", "bob")
    server = tmp_path / "anew.git"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch", "master", str(server))
    installed = kstore("--registry", server, "hook", "install").ok()
    assert "HEAD names refs/heads/master, which is not there" in installed.err

    def push(*what: str) -> Ran:
        return run_git(alice.clone, "push", "--quiet", str(server), *what)

    push("main").ok()
    refused(push("--force", "HEAD~1:refs/heads/main"), "refs/heads/main: the registry's history only grows")
    refused(push(":main"), "refs/heads/main", "cannot be deleted")
    git(server, "symbolic-ref", "HEAD", "refs/heads/main")
    push("HEAD~1:refs/heads/draft").ok()
    push("--force", "HEAD:refs/heads/draft").ok()
    push(":draft").ok()
