"""Audit checks everything that is signed, and says which commit brought what is wrong."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import msgspec
import pytest

from kstore.attest.instant import instant_of
from kstore.attest.pin import Pin
from kstore.attest.statement import Retraction
from kstore.digest import Digest
from tests.attest.policies import ALICE, BOB, CAROL, MALLORY, chain, file_of, policy
from tests.checkpoints import place_checkpoint
from tests.histories import add_machine, audit, found
from tests.hooked import run_git
from tests.registries import PROTOCOL, RUN, git, kstore
from tests.statements import at, begin_at, commit_at, endorse, place, place_policies, place_statement, statement_file

if TYPE_CHECKING:
    from pathlib import Path

NOW = 1_780_000_000
DAY = 86_400
FIRST = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"))
SUBJECT = Digest(RUN)


@pytest.fixture
def trusting(registry: Path) -> Path:
    """A registry with a policy, which is pinned; its history begins a day before NOW."""
    begin_at(registry, NOW - DAY)
    (data,) = chain((FIRST, (ALICE,)))
    place_policies(registry, [data])
    commit_at(registry, NOW)
    Pin(registry / ".git/kstore").keep(Digest.of(data))
    return registry


def test_what_is_signed_rightly_is_sound(trusting: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    report = audit(trusting)
    assert report["complete"]
    assert report["signed"] == {"attestations": 1, "policies": 1, "checkpoints": 0}
    assert "1 attestation, 1 policy: sound" in kstore("--registry", trusting, "audit").ok().err


def test_nothing_is_signed_and_that_is_said(registry: Path) -> None:
    assert audit(registry)["signed"] == {"attestations": 0, "policies": 0, "checkpoints": 0}
    assert "nothing in this registry is signed" in kstore("--registry", registry, "audit").ok().err


def test_without_a_pin_it_is_not_complete(trusting: Path) -> None:
    (trusting / ".git/kstore/trust").unlink()
    endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    report = audit(trusting, code=3)
    (gap,) = report["gaps"]
    assert f"bob {BOB.id}" in gap["reason"]
    assert gap["remedy"].startswith("kstore trust pin sha256:")
    assert kstore("--registry", trusting, "audit", "--require-signatures").code == 12


def test_an_unknown_key_is_charged_to_the_commit_that_brought_it(trusting: Path) -> None:
    path = endorse(trusting, SUBJECT, MALLORY)
    guilty = commit_at(trusting, NOW + 1, "--author", "Mallory <m@example.org>")
    commit_at(trusting, NOW + 2)
    assert found(trusting) == [("unknown-signer", guilty, path)]
    (finding,) = audit(trusting, code=1)["findings"]
    assert finding["author"] == "Mallory <m@example.org>"
    assert finding["digest"] == RUN
    assert audit(trusting, "--since", guilty)["findings"] == []


def test_a_retraction_removed_from_history_stays_a_finding(trusting: Path) -> None:
    path = place_statement(trusting, SUBJECT, statement_file(SUBJECT, Retraction("wrong"), BOB))
    commit_at(trusting, NOW + 1)
    data = (trusting / path).read_bytes()
    (trusting / path).unlink()
    guilty = commit_at(trusting, NOW + 2)
    assert found(trusting) == [("object-removed", guilty, path)]
    assert audit(trusting, code=1)["findings"][0]["digest"] == RUN
    place(trusting, path, data)
    commit_at(trusting, NOW + 3)
    assert found(trusting) == [("object-removed", guilty, path)]


def test_a_statement_dropped_by_a_merge(trusting: Path) -> None:
    git(trusting, "switch", "--quiet", "--create", "side")
    path = endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    git(trusting, "switch", "--quiet", "-")
    commit_at(trusting, NOW + 1)
    run_git(trusting, "merge", "--quiet", "--no-edit", "--strategy", "ours", "side", env=at(NOW + 2)).ok()
    assert [(code, where) for code, _, where in found(trusting)] == [("object-removed", path)]


def test_a_changed_policy(trusting: Path) -> None:
    other = file_of(policy(1, 1, MALLORY.listed("mallory")), MALLORY)
    place(trusting, "store/trust/1.json", other)
    guilty = commit_at(trusting, NOW + 1)
    codes = {(code, where) for code, _, where in found(trusting)}
    assert ("object-changed", "store/trust/1.json") in codes
    assert any(code == "invalid-policy" for code, _ in codes)
    assert ("object-changed", guilty, "store/trust/1.json") in found(trusting)


def test_a_policy_that_does_not_follow(trusting: Path) -> None:
    second = policy(2, 1, MALLORY.listed("mallory"), previous=(trusting / "store/trust/1.json").read_bytes())
    place(trusting, "store/trust/2.json", file_of(second, MALLORY))
    guilty = commit_at(trusting, NOW + 1)
    commit_at(trusting, NOW + 2)
    assert found(trusting) == [("invalid-policy", guilty, "store/trust/2.json")]


def test_a_key_that_the_same_commit_adds_does_not_count(trusting: Path) -> None:
    added = policy(2, 1, ALICE.listed("alice"), CAROL.listed("carol", "signer"))
    place_policies(trusting, chain((FIRST, (ALICE,)), (added, (ALICE,))))
    path = endorse(trusting, SUBJECT, CAROL)
    guilty = commit_at(trusting, NOW + 1)
    endorse(trusting, Digest(PROTOCOL), CAROL)
    commit_at(trusting, NOW + 2)
    assert found(trusting) == [("unknown-signer", guilty, path)]


def test_a_flipped_bit_in_a_stored_envelope(trusting: Path) -> None:
    data = statement_file(SUBJECT, Retraction("wrong"), BOB)
    path = place_statement(trusting, SUBJECT, data)
    commit_at(trusting, NOW + 1)
    place(trusting, path, data[:100] + bytes([data[100] ^ 1]) + data[101:])
    guilty = commit_at(trusting, NOW + 2)
    assert found(trusting) == [("object-changed", guilty, path), ("bad-signature", guilty, path)]


def test_a_statement_under_a_name_of_its_own(trusting: Path) -> None:
    path = place(trusting, "store/trust/notes.txt", b"x")
    link = trusting / f"store/attestations/{RUN[7:9]}/{RUN[7:]}/{'0' * 64}.json"
    link.parent.mkdir(parents=True)
    link.symlink_to("/etc/passwd")
    guilty = commit_at(trusting, NOW + 1)
    where = link.relative_to(trusting).as_posix()
    assert found(trusting) == [("unexpected-file", guilty, where), ("unexpected-file", guilty, path)]


def test_a_statement_of_a_key_that_was_revoked_since_is_no_fault_of_history(trusting: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    revoked = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", revoked=instant_of(NOW)))
    place_policies(trusting, chain((FIRST, (ALICE,)), (revoked, (ALICE,))))
    commit_at(trusting, NOW + 2)
    assert audit(trusting)["findings"] == []
    assert "`kstore verify` has 1 warning about what is signed" in kstore("--registry", trusting, "audit").ok().err


def test_every_record_must_be_signed_where_that_is_wanted(trusting: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    unsigned = [each for each in found(trusting, "--require-signatures") if each[0] == "missing-signature"]
    assert len(unsigned) == 12
    for record in trusting.glob("store/objects/*/*.json"):
        endorse(trusting, Digest("sha256:" + record.stem), BOB)
    commit_at(trusting, NOW + 2)
    assert audit(trusting, "--require-signatures")["findings"] == []


def test_a_shallow_clone_says_once_what_completes_it(trusting: Path, tmp_path: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{trusting}", str(clone))
    Pin(clone / ".git/kstore").keep(Digest.of((trusting / "store/trust/1.json").read_bytes()))
    (gap,) = audit(clone, code=3)["gaps"]
    assert gap["remedy"] == "git fetch --unshallow"


def requiring(registry: Path, time: int) -> None:
    """Make a second policy that wants every record signed."""
    second = msgspec.structs.replace(
        policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer")), requires_signature=True
    )
    place_policies(registry, chain((FIRST, (ALICE,)), (second, (ALICE,))))
    commit_at(registry, time)


def machine(registry: Path, name: str, time: int) -> Digest:
    """Commit a new record that nobody signs, as anybody could without kstore."""
    scratch = registry.parent / f"scratch-{name}"
    kstore("init", scratch).ok()
    digest = Digest(add_machine(scratch, name))
    for part in ("objects", "metadata"):
        path = f"store/{part}/{digest.hex[:2]}/{digest.hex}.json"
        place(registry, path, (scratch / path).read_bytes())
    commit_at(registry, time)
    return digest


def test_a_record_that_came_unsigned_after_the_policy_that_wants_it_signed(trusting: Path) -> None:
    machine(trusting, "before", NOW + 1)
    requiring(trusting, NOW + 2)
    assert audit(trusting)["findings"] == []
    digest = machine(trusting, "after", NOW + 3)
    (finding,) = audit(trusting, code=1)["findings"]
    assert (finding["code"], finding["digest"]) == ("missing-signature", digest)
    assert "(commit" not in kstore("--registry", trusting, "audit").text.splitlines()[0], "nobody is charged"
    endorse(trusting, digest, BOB)
    commit_at(trusting, NOW + 4)
    assert audit(trusting)["findings"] == []


def test_a_record_that_came_unsigned_beside_the_policy_is_noted(trusting: Path) -> None:
    git(trusting, "switch", "--quiet", "--create", "side")
    machine(trusting, "beside", NOW + 1)
    git(trusting, "switch", "--quiet", "-")
    requiring(trusting, NOW + 2)
    run_git(trusting, "merge", "--quiet", "--no-edit", "side", env=at(NOW + 3)).ok()
    assert "1 record came by a branch that did not have the policy yet" in kstore("audit", cwd=trusting).ok().err
    digest = machine(trusting, "after", NOW + 4)
    assert [each["digest"] for each in audit(trusting, code=1)["findings"]] == [digest]


def test_a_head_that_names_no_branch_is_not_compared_with_what_was_seen(trusting: Path) -> None:
    note = "HEAD names no branch"
    assert note not in kstore("audit", cwd=trusting).ok().err
    git(trusting, "switch", "--quiet", "--detach")
    assert note in kstore("audit", cwd=trusting).ok().err


def test_a_rollback_to_before_anything_was_signed_is_named(trusting: Path) -> None:
    place_checkpoint(trusting, 1, NOW + 1, ALICE)
    commit_at(trusting, NOW + 1)
    assert audit(trusting)["findings"] == []
    (trusting / ".git/kstore/trust").unlink()
    git(trusting, "reset", "--quiet", "--hard", "HEAD~2")
    found = audit(trusting, code=1)["findings"]
    assert ("bad-checkpoint", "store/checkpoints/0000000001.json") in {(each["code"], each["path"]) for each in found}
    assert any("rollback" in each["message"] for each in found)


def test_something_in_place_of_a_folder_is_called_damage_and_not_a_shallow_clone(trusting: Path) -> None:
    (trusting / "store/trust/1.json").unlink()
    (trusting / "store/trust").rmdir()
    place(trusting, "store/trust", b"x")
    commit_at(trusting, NOW + 1)
    ran = kstore("audit", cwd=trusting)
    assert ran.code == 1
    assert "unshallow" not in ran.err
    assert "something else lies in its place" in ran.err


def test_a_path_is_said_once(trusting: Path) -> None:
    path = trusting / "store/trust/2.json"
    path.symlink_to("1.json")
    ran = kstore("verify", cwd=trusting)
    assert ran.code == 1
    assert "store/trust/2.json: store/trust/2.json" not in ran.text


def test_the_digest_to_pin_is_no_command_of_the_registry_itself(trusting: Path) -> None:
    (trusting / ".git/kstore/trust").unlink()
    ran = kstore("audit", cwd=trusting)
    own = Digest.of((trusting / "store/trust/1.json").read_bytes())
    assert "`kstore trust pin sha256:<hex that a maintainer told you>`" in ran.err
    assert f"pin {own}" not in ran.err
    assert str(own) in ran.err, "for comparing"


def test_a_commit_of_a_time_to_come_is_noted(trusting: Path) -> None:
    guilty = commit_at(trusting, int(time.time()) + 40 * DAY)
    assert f"commit {guilty}: the committer's date is more than a day ahead" in kstore("audit", cwd=trusting).err
