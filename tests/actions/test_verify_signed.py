"""Verify checks everything that is signed, wherever it reads a registry from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kstore.attest.instant import instant_of
from kstore.attest.pin import Pin
from kstore.attest.statement import Replication, Retraction, Sha256, Supersession
from kstore.digest import Digest
from tests.attest.policies import ALICE, BOB, CAROL, MALLORY, chain, file_of, policy
from tests.hooked import run_git
from tests.registries import ENVIRONMENT, PROTOCOL, RUN, Ran, git, kstore
from tests.statements import at, begin_at, commit_at, endorse, place, place_policies, place_statement, statement_file

if TYPE_CHECKING:
    from tests.attest.policies import Key

NOW = 1_780_000_000
DAY = 86_400
FIRST = policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer"))
SUBJECT = Digest(RUN)
SIGNED = {"attestations", "policies", "checkpoints"}


def verified(registry: Path, *args: str, code: int = 0) -> Any:
    """Verify and give the report."""
    ran = kstore("--registry", registry, "verify", "--json", *args)
    assert ran.code == code, (ran.out, ran.err)
    return ran.json()


def found(registry: Path, *args: str, code: int = 1) -> list[tuple[str, str, str]]:
    """Verify and give severity, code and path of each finding."""
    return [(each["severity"], each["code"], each["path"]) for each in verified(registry, *args, code=code)["findings"]]


def pin(registry: Path, data: bytes) -> None:
    """Pin a policy by its file."""
    directory = Path(git(registry, "rev-parse", "--absolute-git-dir"))
    Pin(directory / "kstore").keep(Digest.of(data))


@pytest.fixture
def registry(registry: Path) -> Path:
    """A registry whose history begins long ago."""
    begin_at(registry, NOW - DAY)
    return registry


@pytest.fixture
def trusting(registry: Path) -> Path:
    """A registry with a policy, which is pinned."""
    (data,) = chain((FIRST, (ALICE,)))
    place_policies(registry, [data])
    commit_at(registry, NOW)
    pin(registry, data)
    return registry


def test_nothing_is_signed_and_that_is_said(registry: Path) -> None:
    ran = kstore("--registry", registry, "verify").ok()
    assert "nothing in this registry is signed" in ran.err
    assert verified(registry)["checked"] == {"objects": 13, "metadata": 13} | dict.fromkeys(sorted(SIGNED), 0)
    assert "signed" not in kstore("--registry", registry, "verify", "--quiet").ok().err


def test_what_is_signed_rightly_is_sound(trusting: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    place_statement(
        trusting, SUBJECT, statement_file(SUBJECT, Replication("reproduced", Sha256.of(Digest(RUN))), ALICE, BOB)
    )
    report = verified(trusting)
    assert report["findings"] == []
    assert report["checked"] | {"attestations": 2, "policies": 1, "checkpoints": 0} == report["checked"]
    commit_at(trusting, NOW + 1)
    for args in ([], ["--rev", "HEAD"], ["--jobs", "2"]):
        assert verified(trusting, *args)["checked"]["attestations"] == 2
    assert verified(trusting, "--rev", "HEAD~")["checked"]["attestations"] == 0


def test_a_bare_registry_of_either_fanout(shaped: Path, tmp_path: Path) -> None:
    fanout = json.loads(git(shaped, "show", "HEAD:store/kstore.json"))["fanout"]
    (data,) = chain((FIRST, (ALICE,)))
    work = tmp_path / "work"
    git(tmp_path, "clone", "--quiet", str(shaped), str(work))
    place_policies(work, [data])
    commit_at(work, NOW)
    place_statement(work, SUBJECT, statement_file(SUBJECT, Retraction("wrong"), BOB), fanout=fanout)
    place_statement(work, SUBJECT, statement_file(SUBJECT, Retraction("wrong"), MALLORY), fanout=fanout)
    commit_at(work, NOW + 1)
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "--quiet", "--bare", str(work), str(bare))
    for registry in (work, bare):
        pin(registry, data)
        assert [code for _, code, _ in found(registry)] == ["unknown-signer"]
        assert verified(registry, code=1)["checked"]["attestations"] == 2


def test_without_a_pin_it_says_whose_keys_these_are(trusting: Path) -> None:
    (trusting / ".git/kstore/trust").unlink()
    endorse(trusting, SUBJECT, BOB)
    ran = kstore("--registry", trusting, "verify")
    assert (ran.code, ran.text) == (3, "")
    assert f"bob {BOB.id}" in ran.err
    assert f"alice {ALICE.id}" in ran.err
    assert "kstore trust pin sha256:" in ran.err
    place_statement(trusting, SUBJECT, statement_file(SUBJECT, Retraction("x"), MALLORY))
    assert [code for _, code, _ in found(trusting)] == ["unknown-signer"]


def test_statements_without_any_policy_cannot_be_checked(registry: Path) -> None:
    path = endorse(registry, SUBJECT, BOB)
    assert found(registry, code=3) == [("warning", "unknown-signer", path)]
    assert "no trust policy that says" in kstore("--registry", registry, "verify").err


def test_a_pinned_policy_that_is_gone_is_a_rollback(trusting: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    (trusting / "store/trust/1.json").unlink()
    commit_at(trusting, NOW + 1)
    codes = {code for _, code, _ in found(trusting)}
    assert "invalid-policy" in codes
    run_git(trusting, "rm", "-rq", "store/attestations").ok()
    assert {code for _, code, _ in found(trusting)} == {"invalid-policy"}


def test_policies_that_do_not_follow_are_named(trusting: Path) -> None:
    second = policy(2, 1, MALLORY.listed("mallory"), previous=(trusting / "store/trust/1.json").read_bytes())
    place(trusting, "store/trust/2.json", file_of(second, MALLORY))
    assert found(trusting) == [("error", "invalid-policy", "store/trust/2.json")]
    (trusting / "store/trust/2.json").rename(trusting / "store/trust/4.json")
    assert found(trusting) == [("error", "invalid-policy", "store/trust/4.json")]


def test_a_commit_from_before_the_pinned_policy_is_judged_by_what_follows_from_it_today(trusting: Path) -> None:
    before = git(trusting, "rev-parse", "HEAD~")
    path = endorse(trusting, SUBJECT, BOB)
    stranger = endorse(trusting, Digest(PROTOCOL), MALLORY)
    commit_at(trusting, NOW + 1)
    between = git(trusting, "rev-parse", "HEAD")
    files = chain((FIRST, (ALICE,)), (policy(2, 1, ALICE.listed("alice")), (ALICE,)))
    place_policies(trusting, files)
    commit_at(trusting, NOW + 2)
    pin(trusting, files[1])
    assert verified(trusting, "--rev", before)["findings"] == []
    assert found(trusting, "--rev", between) == [("error", "unknown-signer", stranger)] == found(trusting)
    assert path != stranger


# Scenarios: each of these is refused, and named.


def flipped(data: bytes) -> bytes:
    """Flip one bit in the middle of bytes."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def test_a_flipped_bit_in_a_stored_envelope(trusting: Path) -> None:
    path = endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    file = trusting / path
    file.write_bytes(flipped(file.read_bytes()))
    assert found(trusting) == [("error", "bad-signature", path)]
    commit_at(trusting, NOW + 2)
    assert found(trusting, "--rev", "HEAD") == [("error", "bad-signature", path)]


def test_a_payload_swapped_between_records(trusting: Path) -> None:
    data = (trusting / endorse(trusting, SUBJECT, BOB)).read_bytes()
    other = place_statement(trusting, Digest(PROTOCOL), data)
    assert found(trusting) == [("error", "bad-signature", other)]


def test_an_unknown_key(trusting: Path) -> None:
    path = endorse(trusting, SUBJECT, MALLORY)
    assert found(trusting) == [("error", "unknown-signer", path)]


def test_a_key_that_the_same_commit_adds_to_the_policy(trusting: Path) -> None:
    first = (trusting / "store/trust/1.json").read_bytes()
    both = chain((FIRST, (ALICE,)), (policy(2, 1, ALICE.listed("alice"), CAROL.listed("carol", "signer")), (ALICE,)))
    assert both[0] == first
    place_policies(trusting, both)
    path = endorse(trusting, SUBJECT, CAROL)
    commit_at(trusting, NOW + 1)
    assert found(trusting) == [("error", "unknown-signer", path)]
    later = endorse(trusting, Digest(PROTOCOL), CAROL)
    commit_at(trusting, NOW + 2)
    assert found(trusting) == [("error", "unknown-signer", path)] != [("error", "unknown-signer", later)]


@pytest.mark.parametrize(("time", "good"), [(NOW + DAY - 1, False), (NOW + DAY, True), (NOW + 2 * DAY, False)])
def test_a_signer_before_in_and_after_the_window(time: int, good: bool, registry: Path) -> None:
    window = {"after": instant_of(NOW + DAY), "before": instant_of(NOW + 2 * DAY)}
    (data,) = chain((policy(1, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", **window)), (ALICE,)))
    place_policies(registry, [data])
    commit_at(registry, NOW)
    pin(registry, data)
    path = endorse(registry, SUBJECT, BOB)
    commit_at(registry, time)
    if good:
        assert verified(registry)["findings"] == []
    else:
        assert found(registry) == [("error", "signer-not-valid", path)]


def test_a_backdated_commit_on_top_of_history_is_as_old_as_that(registry: Path) -> None:
    entry = BOB.listed("bob", "signer", before=instant_of(NOW + DAY))
    (data,) = chain((policy(1, 1, ALICE.listed("alice"), entry), (ALICE,)))
    place_policies(registry, [data])
    commit_at(registry, NOW)
    pin(registry, data)
    commit_at(registry, NOW + 2 * DAY)
    path = endorse(registry, SUBJECT, BOB)
    commit_at(registry, NOW)
    assert found(registry) == [("error", "signer-not-valid", path)]


def test_a_signature_of_a_key_that_was_revoked_since_counts_no_more(trusting: Path) -> None:
    path = endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    revoked = policy(2, 1, ALICE.listed("alice"), BOB.listed("bob", "signer", revoked=instant_of(NOW)))
    place_policies(trusting, chain((FIRST, (ALICE,)), (revoked, (ALICE,))))
    commit_at(trusting, NOW + 2)
    assert found(trusting, code=0) == [("warning", "signer-not-valid", path)]
    late = endorse(trusting, Digest(PROTOCOL), BOB)
    commit_at(trusting, NOW + 3)
    assert sorted(found(trusting)) == sorted(
        [("warning", "signer-not-valid", path), ("error", "signer-not-valid", late)]
    )


# What lies in the folders.


def test_names_folders_and_modes(trusting: Path) -> None:
    path = endorse(trusting, SUBJECT, BOB)
    data = (trusting / path).read_bytes()
    strangers = [
        "store/trust/x.json",
        "store/trust/01.json",
        "store/checkpoints/1.json",
        "store/attestations/readme",
        f"{path}.orig",
        "store/attestations/ab/notes/x.json",
    ]
    for each in strangers:
        place(trusting, each, b"x")
    wrong = place(trusting, f"store/attestations/ab/{SUBJECT.hex}/{Digest.of(data).hex}.json", data)
    (trusting / path).chmod(0o755)
    (trusting / "store/trust/2.json").symlink_to("1.json")
    expected = {("error", "unexpected-file", each) for each in [*strangers[:-1], "store/trust/2.json"]}
    expected |= {("error", "unexpected-file", "store/attestations/ab/notes"), ("error", "wrong-path", wrong)}
    assert set(found(trusting)) == expected | {("error", "bad-mode", path)}


@pytest.mark.parametrize("folder", ["attestations", "trust", "checkpoints"])
def test_a_file_in_place_of_a_folder(folder: str, registry: Path) -> None:
    place(registry, f"store/{folder}", b"x")
    assert ("error", "unexpected-file", f"store/{folder}") in found(registry)


def test_a_statement_about_nothing_that_is_here(trusting: Path) -> None:
    other = Digest.of(b"elsewhere")
    path = place_statement(trusting, other, statement_file(other, Retraction("x"), BOB))
    assert found(trusting) == [("error", "orphan-attestation", path)]


def test_what_a_statement_refers_to_may_be_elsewhere(trusting: Path) -> None:
    elsewhere = Sha256.of(Digest.of(b"elsewhere"))
    here = Sha256.of(Digest(ENVIRONMENT))
    paths = [
        place_statement(trusting, SUBJECT, statement_file(SUBJECT, predicate, BOB))
        for predicate in (
            Replication("reproduced", elsewhere),
            Supersession(elsewhere, "better"),
            Supersession(here, "better"),
            Replication("not-reproduced", here),
        )
    ]
    expected = sorted(("warning", "unresolved-reference", path) for path in paths[:2])
    assert sorted(found(trusting, code=0)) == expected
    assert sorted(found(trusting, "--strict", code=3)) == expected


def test_a_signed_file_that_is_gone_from_the_working_tree(trusting: Path) -> None:
    path = endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    (trusting / path).unlink()
    assert found(trusting, code=3) == [("warning", "uncommitted-change", path)]
    git(trusting, "restore", path)
    assert found(trusting, code=0) == []


# Signatures that are required.


def endorse_all(registry: Path, *keys: Key) -> list[Digest]:
    """Endorse every record."""
    records = [Digest("sha256:" + path.stem) for path in registry.glob("store/objects/*/*.json")]
    for each in records:
        endorse(registry, each, *keys)
    return records


def test_every_record_must_be_signed_where_that_is_wanted(trusting: Path) -> None:
    unsigned = kstore("--registry", trusting, "verify", "--require-signatures", "--json")
    assert [each["code"] for each in unsigned.json()["findings"]] == ["missing-signature"] * 13
    assert "kstore sign sha256:" in unsigned.json()["findings"][0]["message"]
    endorse_all(trusting, BOB)
    assert verified(trusting, "--require-signatures")["findings"] == []
    for path in trusting.glob(f"store/attestations/*/{SUBJECT.hex}/*"):
        path.unlink()
    place_statement(trusting, SUBJECT, statement_file(SUBJECT, Replication("reproduced"), BOB))
    assert found(trusting, "--require-signatures") == [
        ("error", "missing-signature", f"store/objects/{RUN[7:9]}/{RUN[7:]}.json")
    ]


def test_without_a_pin_nothing_can_be_required(trusting: Path, registry: Path) -> None:
    (trusting / ".git/kstore/trust").unlink()
    for args in (["--require-signatures"], ["--require-signatures", "--rev", "HEAD"]):
        ran = kstore("--registry", trusting, "verify", *args)
        assert (ran.code, ran.text) == (12, "")
        assert "kstore trust pin" in ran.err


def test_a_shallow_clone_cannot_tell_everything(trusting: Path, tmp_path: Path) -> None:
    endorse(trusting, SUBJECT, BOB)
    commit_at(trusting, NOW + 1)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{trusting}", str(clone))
    pin(clone, (trusting / "store/trust/1.json").read_bytes())
    ran: Ran = kstore("--registry", clone, "verify")
    assert (ran.code, ran.text) == (3, "")
    assert "may be older than they seem" in ran.err


def test_a_merge_brings_statements_with_their_own_time(registry: Path) -> None:
    entry = BOB.listed("bob", "signer", before=instant_of(NOW + DAY))
    (data,) = chain((policy(1, 1, ALICE.listed("alice"), entry), (ALICE,)))
    place_policies(registry, [data])
    commit_at(registry, NOW)
    pin(registry, data)
    git(registry, "switch", "--quiet", "--create", "side")
    endorse(registry, SUBJECT, BOB)
    commit_at(registry, NOW + 1)
    git(registry, "switch", "--quiet", "-")
    commit_at(registry, NOW + 3 * DAY)
    run_git(registry, "merge", "--quiet", "--no-edit", "side", env=at(NOW + 4 * DAY)).ok()
    assert verified(registry)["findings"] == []
