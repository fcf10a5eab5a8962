"""Statements that are forged, moved, or signed by somebody who may not: each is refused, by what it is."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from kstore.attest.policy import Listed, Policy
from kstore.attest.statement import Endorsement, Retraction, Sha256
from kstore.digest import Digest
from kstore.layout import attestation_path
from tests.hooked import run_git
from tests.registries import PROTOCOL, kstore
from tests.scenarios.people import RECORD, Person, Settle, one

if TYPE_CHECKING:
    from collections.abc import Callable

OTHER = Digest(PROTOCOL)


def refused(person: Person, code: str, path: str, *words: str) -> None:
    """Insist that verify finds it in the working tree, and audit and a hook once it is committed."""
    one(person.verify(code=1), code, path, *words)
    person.commit()
    one(person.verify(code=1), code, path, *words)
    one(person.audit(code=1), code, path, *words)
    kstore("--registry", person.world.central, "hook", "install").ok()
    first = Digest.of(person.file("store/trust/1.json").read_bytes())
    kstore("--registry", person.world.central, "trust", "pin", first).ok()
    before = person.git("ls-remote", "origin", "main")
    pushed = person.push()
    assert pushed.code != 0
    assert code in pushed.err, pushed.err
    assert person.git("ls-remote", "origin", "main") == before


def listing(person: Person, other: Person) -> Policy:
    """Give the policy that follows the second one, and lists somebody else."""
    last = person.policy(2)
    entry = Listed(other.name, str(other.public), ("signer",))
    signers = tuple(sorted((*last.signers, entry), key=lambda each: (each.name, each.key)))
    return msgspec.structs.replace(last, number=3, previous=person.previous(2), signers=signers)


def changed(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Change an envelope and spell it canonically again."""
    envelope = json.loads(data)
    change(envelope)
    return json.dumps(envelope, sort_keys=True, separators=(",", ":")).encode()


def test_a_signed_record_is_sound_for_everybody_who_trusts(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    alice.do("sign", RECORD)
    alice.push().ok()
    bob.pull()
    bob.do("attest", RECORD, "--result", "reproduced")
    assert bob.verify() == []
    assert bob.audit() == []
    shown = bob.run("show", RECORD).ok()
    assert "signed by alice\n" in shown.err
    assert "reproduced by bob\n" in shown.err
    bob.push().ok()


def test_a_flipped_bit_anywhere_in_an_envelope(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    alice.do("sign", RECORD)
    (path,) = alice.statements()
    data = alice.file(path).read_bytes()
    flipped = [data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :] for at in range(len(data)) for bit in range(8)]
    # Each under its own name, so that the name gives nothing away.
    paths = {alice.put(each) for each in flipped}
    assert len(paths) == 8 * len(data)
    found = {each.path: each.code for each in alice.verify(code=1)}
    assert paths - found.keys() == set()
    assert path not in found
    assert set(found.values()) == {"bad-signature", "unknown-signer"}


def test_a_flipped_bit_under_the_old_name(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    alice.do("sign", RECORD)
    (path,) = alice.statements()
    data = bytearray(alice.file(path).read_bytes())
    data[len(data) // 2] ^= 1
    alice.write(path, bytes(data))
    one(alice.verify(code=1), "bad-signature", path)


def test_a_statement_moved_to_another_record(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    refused(bob, "bad-signature", bob.put(alice.statement(), OTHER), RECORD, OTHER)


def test_a_payload_swapped_between_records(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    mine, other = alice.statement(), alice.statement(record=OTHER, name="protocol")
    payload = json.loads(other)["payload"]
    swapped = changed(mine, lambda envelope: envelope.update(payload=payload))
    refused(bob, "bad-signature", bob.put(swapped, OTHER), "signature", alice.public.id)


def test_a_payload_type_that_was_not_signed(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    other = changed(alice.statement(), lambda envelope: envelope.update(payloadType="application/json"))
    refused(bob, "bad-signature", bob.put(other), "application/json")


def test_a_signature_of_a_payload_of_another_type(settle: Settle) -> None:
    """A policy that somebody signed is no statement, whatever a file calls it."""
    alice, bob = settle("alice", "bob")
    payload = base64.b64decode(json.loads(alice.statement())["payload"])
    signed = alice.sealed("application/vnd.kstore.trust+json", payload)
    renamed = changed(signed, lambda envelope: envelope.update(payloadType="application/vnd.in-toto+json"))
    refused(bob, "bad-signature", bob.put(renamed), alice.public.id)


def test_an_unknown_key(settle: Settle) -> None:
    _, bob = settle("alice", "bob")
    mallory = bob.world.person("mallory")
    refused(bob, "unknown-signer", bob.put(mallory.statement()), mallory.public.id)


def test_a_key_that_claims_another_ones_id(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    mallory = bob.world.person("mallory")
    claimed = changed(mallory.statement(), lambda envelope: envelope["signatures"][0].update(keyid=alice.public.id))
    refused(bob, "bad-signature", bob.put(claimed), alice.public.id)


def test_a_good_signature_does_not_carry_a_bad_one(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    both = alice.statement(other=bob)

    def spoil(envelope: dict[str, Any]) -> None:
        (spoilt,) = (each for each in envelope["signatures"] if each["keyid"] == bob.public.id)
        spoilt["sig"] = envelope["signatures"][0 if spoilt is envelope["signatures"][1] else 1]["sig"]

    refused(bob, "bad-signature", bob.put(changed(both, spoil)), bob.public.id)


def test_a_statement_about_nothing(settle: Settle) -> None:
    _, bob = settle("alice", "bob")
    nothing = Digest.of(b"no record")
    endorsement = Endorsement(Sha256.of(nothing))
    refused(bob, "orphan-attestation", bob.put(bob.statement(endorsement, nothing, "nothing"), nothing))


@pytest.mark.parametrize(("day", "sound"), [(1, False), (3, True), (9, False)])
def test_a_signer_before_within_and_after_its_window(settle: Settle, day: int, sound: bool) -> None:
    alice, bob = settle("alice", "bob")
    eve = alice.world.person("eve")
    window = ("--valid-after", alice.world.instant(2), "--valid-before", alice.world.instant(5))
    alice.do("trust", "add", "eve", f"{eve.key}.pub", *window)
    alice.push().ok()
    bob.pull()
    bob.world.sleep(day)
    path = bob.put(eve.statement())
    bob.commit()
    if sound:
        assert bob.verify() == []
        assert bob.audit() == []
    else:
        one(bob.verify(code=1), "signer-not-valid", path, "eve")
        one(bob.audit(code=1), "signer-not-valid", path, "eve")


def test_a_statement_by_a_key_that_the_same_commit_adds(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    eve = alice.world.person("eve")
    alice.put_policy(listing(alice, eve))
    refused(alice, "unknown-signer", alice.put(eve.statement()), eve.public.id, "policy 3")


def test_a_statement_after_the_policy_that_adds_its_key_is_sound(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    eve = alice.world.person("eve")
    alice.do("trust", "add", "eve", f"{eve.key}.pub")
    alice.put(eve.statement())
    alice.commit()
    assert alice.verify() == []


def test_a_backdated_commit(settle: Settle) -> None:
    """A committer's clock may lie, but a commit is not older than what it builds on."""
    alice, bob = settle("alice", "bob")
    eve = alice.world.person("eve")
    end = alice.world.time + 2 * 86_400
    alice.do("trust", "add", "eve", f"{eve.key}.pub", "--valid-before", alice.world.instant(2))
    alice.world.sleep(5)
    alice.do("retract", RECORD, "--reason", "the clock was wrong")
    path = alice.put(eve.statement())
    alice.commit(time=end - 3600)
    one(alice.verify(code=1), "signer-not-valid", path, "eve")
    one(alice.audit(code=1), "signer-not-valid", path, "eve")
    del bob


def test_a_backdated_commit_on_a_branch_of_its_own(settle: Settle) -> None:
    """What builds on old commits only is shown to be new by a checkpoint that does not have it."""
    alice, bob = settle("alice", "bob")
    eve = alice.world.person("eve")
    end = alice.world.time + 2 * 86_400
    alice.do("trust", "add", "eve", f"{eve.key}.pub", "--valid-before", alice.world.instant(2))
    alice.world.sleep(5)
    alice.checkpoint()
    alice.git("checkout", "--quiet", "-b", "side", "HEAD~")
    path = alice.put(eve.statement())
    alice.commit(time=end - 3600)
    alice.git("checkout", "--quiet", "main")
    alice.git("merge", "--quiet", "--no-edit", "side")
    one(alice.verify(code=1), "signer-not-valid", path, "eve")
    one(alice.audit(code=1), "signer-not-valid", path, "eve")
    del bob


def test_a_revoked_key(settle: Settle) -> None:
    """A stolen key signs nothing any more; what a checkpoint has from before the theft stays good, and only that."""
    alice, bob = settle("alice", "bob")
    before = alice.put(bob.statement())
    alice.commit()
    alice.world.sleep(1)
    alice.checkpoint()
    alice.world.sleep(1)
    unproven = alice.put(bob.statement(Retraction("I take it back")))
    alice.commit()
    alice.world.sleep(1)
    alice.do("trust", "revoke", "bob", "--from", alice.world.instant())
    found = alice.verify()
    one(found, "signer-not-valid", unproven, "bob")
    assert before not in {each.path for each in found}
    alice.world.sleep(1)
    late = alice.put(bob.statement(Retraction("it is all wrong")))
    alice.commit()
    one(alice.verify(code=1), "signer-not-valid", late, "bob")
    shown = alice.run("show", RECORD).ok()
    assert "signed by bob\n" in shown.err
    assert "2 statements do not count: `kstore verify` says why\n" in shown.err


def test_the_hook_refuses_a_forgery_before_it_is_committed(settle: Settle) -> None:
    _, bob = settle("alice", "bob")
    bob.run("hook", "install").ok()
    mallory = bob.world.person("mallory")
    path = bob.put(mallory.statement())
    bob.git("add", "--all")
    refused = run_git(bob.clone, "commit", "--quiet", "--message", "Forged")
    assert refused.code != 0
    assert f"unknown-signer: {path}" in refused.err
    bob.git("reset", "--quiet", "--hard")
    bob.put(bob.statement())
    bob.git("add", "--all")
    bob.git("commit", "--quiet", "--message", "Signed")


def test_a_statement_in_a_wrong_folder(settle: Settle) -> None:
    alice, bob = settle("alice", "bob")
    data = alice.statement()
    path = attestation_path(RECORD, Digest.of(data), 2)
    bob.write(path, data)
    assert any(path.startswith(each.path) for each in bob.verify(code=1))


def test_without_a_pin_nothing_is_believed(settle: Settle) -> None:
    alice, _ = settle("alice", "bob")
    alice.do("sign", RECORD)
    alice.do("retract", RECORD, "--reason", "the clock was wrong")
    alice.push().ok()
    stranger = alice.world.person("stranger")
    assert stranger.run("verify").code == 3
    assert stranger.run("audit").code == 3
    assert stranger.run("verify", "--require-signatures").code == 12
    shown = stranger.run("show", RECORD).ok()
    assert f"signed by key {alice.public.id} (not trusted here: pin a policy with `kstore trust pin`)" in shown.err
    assert f"warning: {RECORD}: retracted by key {alice.public.id} (not trusted here" in shown.err
    assert "signed by alice" not in shown.err
    stranger.pin()
    assert stranger.verify() == []
    assert "signed by alice\n" in stranger.run("show", RECORD).ok().err
