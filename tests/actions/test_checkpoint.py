from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from kstore.actions.checkpoint import Created, create_checkpoint
from kstore.actions.checkpoints import show_checkpoint
from kstore.actions.trust.amend import amend_trust
from kstore.actions.trust.init import init_trust
from kstore.attest.amend import listed, with_key
from kstore.attest.checkpoint import checkpoint_bytes
from kstore.attest.instant import now
from kstore.attest.private_key import generate
from kstore.attest.root import RootError
from kstore.attest.signing import open_signer, public_key_of, sign_payload
from kstore.attest.statement import PAYLOAD_TYPE
from kstore.errors import KstoreError, LockedError, NoTrustError, UsageError
from kstore.layout import checkpoint_path
from kstore.registry import Registry
from tests.checkpoints import checked, root_at
from tests.histories import add_machine, head, relative
from tests.histories import commit as commit_all
from tests.registries import commits, git, kstore, message, object_path, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from securesystemslib.signer import Signer


@pytest.fixture
def alice(tmp_path: Path) -> Signer:
    generate(tmp_path / "alice")
    return open_signer(tmp_path / "alice")


@pytest.fixture
def bob(tmp_path: Path) -> Signer:
    generate(tmp_path / "bob")
    return open_signer(tmp_path / "bob")


@pytest.fixture
def begun(empty: Path, alice: Signer) -> Path:
    """A registry with a maintainer and a record."""
    with Registry.open(empty) as opened:
        init_trust(opened, "alice", alice)
    add_machine(empty, "one")
    return empty


def create(registry: Path, *signers: Signer, dry_run: bool = False, cache: bool = True) -> Created:
    with Registry.open(registry) as opened:
        return create_checkpoint(opened, signers, dry_run=dry_run, cache=cache, wait=0)


def test_a_checkpoint_states_what_head_has(begun: Path, alice: Signer) -> None:
    before = head(begun)
    made = create(begun, alice)
    assert (made.status, made.commit) == ("added", head(begun))
    assert git(begun, "rev-parse", "HEAD^") == before == made.checkpoint.git_commit
    assert made.checkpoint.root == root_at(begun, before).hash.hex() == root_at(begun).hash.hex()
    assert (made.checkpoint.number, made.checkpoint.records, made.checkpoint.previous) == (1, 1, None)
    assert [(each.name, each.right) for each in made.checkpoint.signatures] == [("alice", True)]
    assert git(begun, "diff", "--name-only", before, "HEAD") == checkpoint_path(1)
    assert message(begun) == "Checkpoint 1"
    assert git(begun, "status", "--porcelain") == ""
    assert [each.number for each in checked(begun).good] == [1]
    with Registry.open(begun) as opened:
        assert show_checkpoint(opened) == show_checkpoint(opened, 1) == made.checkpoint


def test_each_checkpoint_follows_the_one_before(begun: Path, alice: Signer) -> None:
    first = create(begun, alice)
    add_machine(begun, "two")
    second = create(begun, alice)
    assert (second.checkpoint.number, second.checkpoint.records) == (2, 2)
    assert second.checkpoint.previous == first.checkpoint.digest
    found = checked(begun)
    assert [each.number for each in found.good] == [1, 2]
    assert found.problems == ()


def test_nothing_is_made_where_nothing_has_changed(begun: Path, alice: Signer) -> None:
    first = create(begun, alice)
    (begun / "notes.txt").write_text("outside of store/")
    last = commit_all(begun)
    again = create(begun, alice)
    assert (again.status, again.commit, again.checkpoint) == ("present", None, first.checkpoint)
    assert head(begun) == last


def test_a_bare_registry_and_one_with_two_folders_above_a_record_have_checkpoints(shaped: Path, alice: Signer) -> None:
    with Registry.open(shaped) as opened:
        init_trust(opened, "alice", alice)
    made = create(shaped, alice)
    assert made.checkpoint.records == len(git(shaped, "ls-tree", "-r", "HEAD", "store/objects").splitlines())
    assert [each.number for each in checked(shaped).good] == [1]


def test_a_dry_run_writes_nothing_of_the_registry(begun: Path, alice: Signer) -> None:
    before = snapshot(begun / "store", begun / ".git" / "refs", begun / ".git" / "objects")
    made = create(begun, alice, dry_run=True, cache=False)
    assert (made.status, made.commit, made.checkpoint.number) == ("added", None, 1)
    assert snapshot(begun / "store", begun / ".git" / "refs", begun / ".git" / "objects") == before


def refused(registry: Path, said: str, *signers: Signer, error: type[KstoreError] = KstoreError) -> None:
    before = commits(registry)
    with pytest.raises(error, match=said):
        create(registry, *signers)
    assert commits(registry) == before


def test_maintainers_alone_make_checkpoints(begun: Path, alice: Signer, bob: Signer) -> None:
    refused(begun, "needs a signature", error=UsageError)
    refused(begun, "of nobody whom it lists", bob)
    refused(begun, "of nobody whom it lists", alice, bob)
    with Registry.open(begun) as opened:
        amend_trust(opened, with_key(listed("bob", public_key_of(bob), ["signer"])), [alice])
    refused(begun, "of bob, who is none", bob)
    with Registry.open(begun) as opened:
        amend_trust(opened, with_key(listed("bob", public_key_of(bob), ["maintainer"])), [alice])
    made = create(begun, bob, alice)
    assert {each.name for each in made.checkpoint.signatures} == {"alice", "bob"}
    assert checked(begun).good[0].signers == ("alice", "bob")


def test_without_a_policy_there_is_no_checkpoint(empty: Path, alice: Signer) -> None:
    refused(empty, "has no trust policy", alice, error=NoTrustError)


def test_a_clone_that_has_nothing_pinned_says_so(begun: Path, alice: Signer) -> None:
    (begun / ".git" / "kstore" / "trust").unlink()
    (note,) = create(begun, alice).notes
    assert "no policy is pinned in this clone" in note


def test_a_head_that_lacks_what_the_last_checkpoint_had_is_refused(begun: Path, alice: Signer) -> None:
    digest = add_machine(begun, "two")
    create(begun, alice)
    git(begun, "rm", "--quiet", relative(begun, digest), relative(begun, digest, "metadata"))
    commit_all(begun)
    refused(begun, "is gone", alice)


def test_after_a_rollback_no_checkpoint_is_made(begun: Path, alice: Signer) -> None:
    create(begun, alice)
    git(begun, "reset", "--quiet", "--hard", "HEAD^")
    refused(begun, "rollback: this clone has seen checkpoint 1", alice)


def test_after_what_was_seen_is_damaged_no_checkpoint_is_made(begun: Path, alice: Signer) -> None:
    create(begun, alice)
    (begun / ".git" / "kstore" / "checkpoints").chmod(0o644)
    (begun / ".git" / "kstore" / "checkpoints").write_bytes(b"")
    refused(begun, "so that a rollback would not show", alice)


def test_after_a_bad_checkpoint_none_follows(begun: Path, alice: Signer) -> None:
    create(begun, alice)
    shutil.copy(begun / checkpoint_path(1), begun / checkpoint_path(2))
    commit_all(begun)
    refused(begun, "no checkpoint can follow", alice)


def test_a_store_that_has_no_root_has_no_checkpoint(begun: Path, alice: Signer) -> None:
    (begun / "store" / "link").symlink_to("kstore.json")
    commit_all(begun)
    refused(begun, "store/link: expected a plain file", alice, error=RootError)


def test_another_writer_is_waited_for(begun: Path, alice: Signer) -> None:
    with Registry.open(begun) as other, other.writing(0):
        refused(begun, "another", alice, error=LockedError)


def test_what_was_read_before_is_not_read_again(begun: Path, alice: Signer) -> None:
    create(begun, alice)
    oid = git(begun, "rev-parse", f"HEAD:{object_path(begun, add_machine(begun, 'two')).relative_to(begun)}")
    create(begun, alice)
    (begun / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    add_machine(begun, "three")
    assert create(begun, alice).checkpoint.number == 3
    add_machine(begun, "four")
    with pytest.raises(RootError, match=oid):
        create(begun, alice, cache=False)


def test_what_is_no_checkpoint_cannot_be_shown(begun: Path, alice: Signer) -> None:
    with Registry.open(begun) as opened:
        with pytest.raises(KstoreError, match="this registry has no checkpoint"):
            show_checkpoint(opened)
        create(begun, alice)
        with pytest.raises(KstoreError, match="there is no checkpoint 2; the last one is 1"):
            show_checkpoint(opened, 2)
        (begun / checkpoint_path(1)).write_bytes(b"{}")
        with pytest.raises(KstoreError, match=r"store/checkpoints/0000000001\.json: expected a DSSE envelope"):
            show_checkpoint(opened)


def test_clones_of_one_root_have_the_same_bytes(begun: Path, alice: Signer, tmp_path: Path) -> None:
    made = create(begun, alice)
    git(tmp_path, "clone", "--quiet", "--bare", begun.as_posix(), "clone.git")
    assert root_at(tmp_path / "clone.git").hash.hex() == made.checkpoint.root
    kstore("--registry", tmp_path / "clone.git", "add", tmp_path / "one.json").ok()
    assert root_at(tmp_path / "clone.git").hash.hex() == made.checkpoint.root


def test_no_checkpoint_is_made_of_what_does_not_belong_there(begun: Path, alice: Signer) -> None:
    for path in ("store/attestations/notes.txt", "store/checkpoints/1.json", "store/trust/old/1.json"):
        (begun / path).parent.mkdir(parents=True, exist_ok=True)
        (begun / path).write_text("x")
        commit_all(begun)
        refused(begun, rf"{path.removesuffix('/1.json')}.*would state it for all time", alice)
        git(begun, "reset", "--quiet", "--hard", "HEAD^")
        git(begun, "clean", "--quiet", "-d", "--force", "store")
    create(begun, alice)


def test_after_a_checkpoint_of_tomorrow_none_follows_before(begun: Path, alice: Signer) -> None:
    """A clock that is ahead by hours is borne, and what follows waits for it: it neither copies nor contradicts it."""
    with Registry.open(begun) as opened:
        oid = head(begun)
        payload = checkpoint_bytes(1, root_at(begun), oid, now() + 10_000, None)
        with opened.writing(0):
            opened.commit({checkpoint_path(1): sign_payload(PAYLOAD_TYPE, payload, [alice]).to_bytes()}, "x", 0)
    assert [each.number for each in checked(begun).good] == [1]
    add_machine(begun, "two")
    refused(begun, "which is still to come", alice)


def test_a_checkpoint_is_of_the_time_of_its_commit(begun: Path, alice: Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", f"@{now() - 1000} +0000")
    create(begun, alice)
    (good,) = checked(begun).good
    assert good.time == int(git(begun, "show", "--no-patch", "--format=%ct")) < now()
