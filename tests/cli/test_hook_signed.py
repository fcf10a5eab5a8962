"""The hooks check what is signed before it becomes history, and refuse what must be signed and is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from kstore.attest.pin import Pin
from kstore.attest.statement import Retraction
from kstore.digest import Digest
from tests.attest.policies import ALICE, BOB, CAROL, MALLORY, chain, file_of, policy
from tests.histories import add_machine
from tests.hooked import commit, install, run_git, stage_all
from tests.registries import PROTOCOL, RUN, Ran, git, kstore
from tests.statements import endorse, place, place_policies, place_statement, statement_file

if TYPE_CHECKING:
    from pathlib import Path

SUBJECT = Digest(RUN)
FIRST = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"))


def change(registry: Path) -> Ran:
    """Try to commit everything."""
    stage_all(registry)
    return commit(registry)


def refused(ran: Ran, code: str, said: str = "") -> None:
    """Insist that a hook refused something, and said what."""
    assert ran.code != 0
    assert code in ran.err + ran.text
    assert said in ran.err + ran.text


@pytest.fixture
def hooked(registry: Path) -> Path:
    """A registry with hooks and a policy, which is pinned."""
    (data,) = chain((FIRST, (ALICE,)))
    place_policies(registry, [data])
    install(registry, "--pre-commit")
    change(registry).ok()
    Pin(registry / ".git/kstore").keep(Digest.of(data))
    return registry


def test_what_is_signed_rightly_is_committed(hooked: Path) -> None:
    endorse(hooked, SUBJECT, BOB)
    stage_all(hooked)
    report = kstore("verify", "--staged", "--json", cwd=hooked).ok().json()
    assert report["checked"] == {"objects": 0, "metadata": 0, "attestations": 1, "policies": 0, "checkpoints": 0}
    commit(hooked).ok()
    second = policy(2, 1, ALICE.listed("alice"), CAROL.listed("carol", "signer"))
    place_policies(hooked, chain((FIRST, (ALICE,)), (second, (ALICE,))))
    change(hooked).ok()
    endorse(hooked, Digest(PROTOCOL), CAROL)
    change(hooked).ok()
    kstore("--registry", hooked, "verify").ok()


def test_an_unknown_key_is_refused(hooked: Path) -> None:
    endorse(hooked, SUBJECT, MALLORY)
    refused(change(hooked), "unknown-signer", "git rm --cached")


def test_a_key_that_the_same_commit_adds_is_refused(hooked: Path) -> None:
    second = policy(2, 1, ALICE.listed("alice"), CAROL.listed("carol", "signer"))
    place_policies(hooked, chain((FIRST, (ALICE,)), (second, (ALICE,))))
    endorse(hooked, SUBJECT, CAROL)
    refused(change(hooked), "unknown-signer", "policy 2 was the first to list")


def test_damage_is_refused(hooked: Path) -> None:
    data = statement_file(SUBJECT, Retraction("x"), BOB)
    place_statement(hooked, Digest(PROTOCOL), data)
    refused(change(hooked), "bad-signature", f"found one about {RUN}")


def test_a_policy_that_does_not_follow_is_refused(hooked: Path) -> None:
    second = policy(2, 1, MALLORY.listed("mallory"), previous=(hooked / "store/trust/1.json").read_bytes())
    place(hooked, "store/trust/2.json", file_of(second, MALLORY))
    refused(change(hooked), "invalid-policy")


def test_nothing_that_was_signed_goes_or_changes(hooked: Path) -> None:
    path = place_statement(hooked, SUBJECT, statement_file(SUBJECT, Retraction("wrong"), BOB))
    change(hooked).ok()
    data = (hooked / path).read_bytes()
    (hooked / path).unlink()
    refused(change(hooked), "object-removed", "git checkout HEAD --")
    place(hooked, path, data + b" ")
    refused(change(hooked), "object-changed", "git checkout HEAD --")
    place(hooked, path, data)
    (hooked / "store/trust/1.json").unlink()
    refused(change(hooked), "object-removed", "store/trust/1.json")


def test_a_stranger_among_signed_files_is_refused(hooked: Path) -> None:
    place(hooked, "store/checkpoints/readme.md", b"x")
    refused(change(hooked), "unexpected-file")


def test_a_statement_about_nothing_is_refused(hooked: Path) -> None:
    other = Digest.of(b"elsewhere")
    place_statement(hooked, other, statement_file(other, Retraction("x"), BOB))
    refused(change(hooked), "orphan-attestation")


def test_a_merge_brings_statements_by_their_own_history(hooked: Path) -> None:
    git(hooked, "switch", "--quiet", "--create", "side")
    endorse(hooked, SUBJECT, BOB)
    change(hooked).ok()
    git(hooked, "switch", "--quiet", "-")
    second = policy(2, 1, ALICE.listed("alice"))
    place_policies(hooked, chain((FIRST, (ALICE,)), (second, (ALICE,))))
    change(hooked).ok()
    run_git(hooked, "merge", "--quiet", "--no-edit", "side").ok()
    kstore("--registry", hooked, "verify").ok()


# What must be signed.


def requiring(registry: Path, what: bool | tuple[str, ...]) -> None:
    """Make a second policy that wants signatures."""
    second = msgspec.structs.replace(
        policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer")), requires_signature=what
    )
    place_policies(registry, chain((FIRST, (ALICE,)), (second, (ALICE,))))
    change(registry).ok()


def raw_machine(registry: Path, name: str, scratch: Path) -> Digest:
    """Put a new record into a working tree as anybody could, without kstore in that registry."""
    digest = Digest(add_machine(scratch, name))
    for part in ("objects", "metadata"):
        path = f"store/{part}/{digest.hex[:2]}/{digest.hex}.json"
        place(registry, path, (scratch / path).read_bytes())
    return digest


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """Another registry."""
    path = tmp_path / "scratch"
    kstore("init", path).ok()
    return path


@pytest.mark.parametrize("what", [True, ("ExecutionEnvironment",)])
def test_a_record_that_must_be_signed_is_refused_until_it_is(
    what: bool | tuple[str, ...], hooked: Path, scratch: Path
) -> None:
    requiring(hooked, what)
    digest = raw_machine(hooked, "one", scratch)
    refused(change(hooked), "missing-signature", f"kstore sign {digest} --key FILE")
    place_statement(hooked, digest, statement_file(digest, Retraction("no endorsement"), BOB))
    refused(change(hooked), "missing-signature")
    endorse(hooked, digest, MALLORY)
    refused(change(hooked), "unknown-signer")
    run_git(hooked, "reset", "-q").ok()
    for path in hooked.glob(f"store/attestations/*/{digest.hex}/*"):
        path.unlink()
    endorse(hooked, digest, BOB)
    change(hooked).ok()
    kstore("--registry", hooked, "verify").ok()


def test_other_kinds_need_no_signature(hooked: Path, scratch: Path) -> None:
    requiring(hooked, ("BenchmarkRun",))
    raw_machine(hooked, "one", scratch)
    change(hooked).ok()


# Pushes.


@pytest.fixture
def server(hooked: Path, tmp_path: Path) -> Path:
    """A bare registry that checks pushes, and to which the other one pushes."""
    bare = tmp_path / "server"
    git(tmp_path, "clone", "--quiet", "--bare", str(hooked), str(bare))
    install(bare, "--pre-receive")
    run_git(hooked, "remote", "add", "origin", bare).ok()
    (hooked / ".git/hooks/pre-commit").unlink()
    return bare


def push(registry: Path) -> Ran:
    """Try to push."""
    return run_git(registry, "push", "-q", "origin", "HEAD:main")


def test_a_push_of_what_is_signed_rightly(hooked: Path, server: Path) -> None:
    endorse(hooked, SUBJECT, BOB)
    change(hooked).ok()
    endorse(hooked, Digest(PROTOCOL), ALICE)
    change(hooked).ok()
    push(hooked).ok()
    assert kstore("--registry", server, "verify").code == 3
    pinned = (hooked / "store/trust/1.json").read_bytes()
    Pin(server / "kstore").keep(Digest.of(pinned))
    kstore("--registry", server, "verify").ok()
    kstore("--registry", server, "audit").ok()


def test_pushes_that_are_refused(hooked: Path, server: Path) -> None:
    start = git(hooked, "rev-parse", "HEAD")
    path = endorse(hooked, SUBJECT, BOB)
    change(hooked).ok()
    push(hooked).ok()
    good = git(hooked, "rev-parse", "HEAD")
    (hooked / path).unlink()
    change(hooked).ok()
    refused(push(hooked), "object-removed", path)
    git(hooked, "reset", "--quiet", "--hard", good)
    endorse(hooked, Digest(PROTOCOL), MALLORY)
    change(hooked).ok()
    refused(push(hooked), "unknown-signer")
    git(hooked, "reset", "--quiet", "--hard", good)
    second = policy(2, 1, MALLORY.listed("mallory"), previous=(hooked / "store/trust/1.json").read_bytes())
    place(hooked, "store/trust/2.json", file_of(second, MALLORY))
    change(hooked).ok()
    refused(push(hooked), "invalid-policy")
    assert git(server, "rev-parse", "main") == good != start


def test_a_branch_that_left_before_the_pinned_policy_is_checked_by_what_follows_from_it(
    hooked: Path, server: Path
) -> None:
    both = (ALICE.listed("alice"), BOB.listed("bob", "signer"))
    files = chain((FIRST, (ALICE,)), (policy(2, 1, *both, CAROL.listed("carol", "signer")), (ALICE,)))
    place_policies(hooked, files)
    change(hooked).ok()
    push(hooked).ok()
    Pin(server / "kstore").keep(Digest.of(files[1]))
    git(hooked, "switch", "--quiet", "--create", "side", "HEAD~")
    endorse(hooked, SUBJECT, BOB)
    change(hooked).ok()
    run_git(hooked, "push", "-q", "origin", "side").ok()
    endorse(hooked, SUBJECT, MALLORY)
    change(hooked).ok()
    refused(run_git(hooked, "push", "-q", "origin", "side"), "unknown-signer")


def test_a_push_without_a_signature_that_must_be(hooked: Path, server: Path, scratch: Path) -> None:
    requiring(hooked, True)
    push(hooked).ok()
    digest = raw_machine(hooked, "one", scratch)
    change(hooked).ok()
    refused(push(hooked), "missing-signature", str(digest))
    endorse(hooked, digest, BOB)
    stage_all(hooked)
    run_git(hooked, "commit", "-q", "--amend", "--no-edit").ok()
    push(hooked).ok()
    assert kstore("--registry", server, "list").code == 0


def test_kstore_itself_does_not_add_what_must_be_signed(hooked: Path, scratch: Path, tmp_path: Path) -> None:
    requiring(hooked, ("ExecutionEnvironment",))
    before = git(hooked, "rev-parse", "HEAD")
    add_machine(scratch, "one")
    rows = tmp_path / "rows.jsonl"
    kstore("--registry", scratch, "export", rows).ok()
    commands: list[list[str | Path]] = [["add", tmp_path / "one.json"], ["import", rows], ["import", rows, "--dry-run"]]
    for command in commands:
        ran = kstore("--registry", hooked, *command)
        assert ran.code == 1
        assert "missing-signature: the trust policy of this registry wants every new ExecutionEnvironment" in ran.err
    assert git(hooked, "rev-parse", "HEAD") == before
    assert git(hooked, "status", "--porcelain") == ""
    kstore("--registry", hooked, "add", "--no-commit", tmp_path / "one.json").ok()
    refused(commit(hooked), "missing-signature")


def test_a_pinned_policy_that_is_not_there_switches_nothing_off(hooked: Path, scratch: Path) -> None:
    """Somebody turns the registry back to before the policy that is pinned: then nothing at all is taken."""
    start = git(hooked, "rev-parse", "HEAD")
    requiring(hooked, True)
    Pin(hooked / ".git/kstore").keep(Digest.of((hooked / "store/trust/2.json").read_bytes()))
    git(hooked, "reset", "--quiet", "--hard", start)
    raw_machine(hooked, "one", scratch)
    refused(change(hooked), "invalid-policy: store/trust", "is not in this registry")
    endorse(hooked, SUBJECT, BOB)
    ran = change(hooked)
    refused(ran, "invalid-policy: store/trust")
    assert "git rm" not in next(line for line in (ran.err + ran.text).splitlines() if "invalid-policy" in line)


def test_where_no_policy_holds_nothing_is_taken(hooked: Path, scratch: Path) -> None:
    (hooked / ".git/kstore/trust").unlink()
    place(hooked, "store/trust/1.json", b"garbage")
    stage_all(hooked)
    commit(hooked, "--no-verify").ok()
    raw_machine(hooked, "one", scratch)
    refused(change(hooked), "invalid-policy: store/trust/1.json")
