"""Trust as people change it: begun, handed on, shared between several, and refused where it would be nobody's."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple

import pytest
from msgspec import UNSET

from kstore.actions.trust.amend import amend_trust
from kstore.actions.trust.cosign import cosign_trust
from kstore.actions.trust.export import export_allowed_signers
from kstore.actions.trust.init import init_trust
from kstore.actions.trust.list_ import list_trust
from kstore.actions.trust.pin import candidate, pin_trust
from kstore.attest.amend import listed, with_key, with_required, with_revoked, with_threshold
from kstore.attest.envelope import Envelope
from kstore.attest.instant import instant_of, now
from kstore.attest.pin import Pin
from kstore.attest.policy import read_policy
from kstore.attest.private_key import generate
from kstore.attest.signing import open_signer
from kstore.attest.trusted import trust_of
from kstore.digest import Digest
from kstore.errors import KstoreError, LockedError, NoTrustError, UsageError
from kstore.layout import policy_path
from kstore.registry import Registry
from tests.registries import assert_healthy, commits, git, message, snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from securesystemslib.signer import Signer

    from kstore.actions.trust.publish import Published
    from kstore.attest.amend import Amendment
    from kstore.attest.key import PublicKey
    from kstore.attest.policy import Policy, Role


class Person(NamedTuple):
    """Somebody with a key in a file."""

    name: str
    key: Path
    public: PublicKey

    @property
    def signer(self) -> Signer:
        return open_signer(self.key, None)

    def entry(self, *roles: Role, name: str | None = None) -> Amendment:
        return with_key(listed(name or self.name, self.public, roles or ("signer",)))


class People(NamedTuple):
    """Everybody."""

    alice: Person
    bob: Person
    carol: Person
    mallory: Person


@pytest.fixture
def people(tmp_path: Path) -> People:
    names = ("alice", "bob", "carol", "mallory")
    return People(*(Person(name, tmp_path / name, generate(tmp_path / name)) for name in names))


@pytest.fixture
def begun(empty: Path, people: People) -> Path:
    """A registry that alice has begun to trust."""
    begin(empty, people)
    return empty


def begin(path: Path, people: People) -> None:
    with Registry.open(path) as registry:
        init_trust(registry, "alice", people.alice.signer)


def amend(path: Path, amendment: Amendment, *signers: Person, propose: bool = False) -> Published:
    with Registry.open(path) as registry:
        return amend_trust(registry, amendment, [each.signer for each in signers], propose=propose)


def cosign(path: Path, proposal: bytes, *signers: Person, dry_run: bool = False) -> Published:
    with Registry.open(path) as registry:
        return cosign_trust(registry, proposal, [each.signer for each in signers], dry_run=dry_run)


def latest(path: Path) -> Policy:
    """Give the last policy, which must follow from the pinned one."""
    with Registry.open(path) as registry:
        trust = trust_of(registry)
    assert trust.pinned
    assert trust.problems == ()
    assert trust.latest is not None
    return trust.latest


def shared(path: Path, people: People) -> None:
    """Let alice and bob be maintainers, both of whom are needed."""
    amend(path, people.bob.entry("maintainer"), people.alice)
    amend(path, with_threshold(2), people.alice, people.bob)


def test_trust_begins_with_one_key_which_is_pinned_here(any_empty: Path, people: People) -> None:
    with Registry.open(any_empty) as registry:
        published = init_trust(registry, "alice", people.alice.signer)
        assert Pin(registry.derived).recall() == published.digest
        data = registry.at_head().files.read(policy_path(1))
    assert data == published.envelope
    assert Digest.of(data) == published.digest
    assert read_policy(data)[1] == latest(any_empty)
    (entry,) = latest(any_empty).signers
    assert (entry.name, entry.public_key, entry.roles) == ("alice", people.alice.public, ("maintainer", "signer"))
    assert git(any_empty, "rev-parse", "HEAD") == published.commit
    assert message(any_empty) == (
        f"Trust policy 1\n\n- add alice {people.alice.public.id} (maintainer, signer)\n- need 1 maintainer"
    )


def test_trust_begins_once(begun: Path, people: People) -> None:
    before = snapshot(begun)
    for dry_run in (False, True):
        with Registry.open(begun) as registry, pytest.raises(KstoreError, match="has a trust policy already"):
            init_trust(registry, "mallory", people.mallory.signer, dry_run=dry_run)
    assert snapshot(begun) == before


def test_a_registry_that_lost_its_policies_does_not_begin_anew(begun: Path, people: People) -> None:
    git(begun, "reset", "--quiet", "--hard", "HEAD~1")
    with Registry.open(begun) as registry, pytest.raises(KstoreError, match="rolled back"):
        init_trust(registry, "mallory", people.mallory.signer)


def test_a_dry_run_writes_nothing(any_empty: Path, people: People) -> None:
    before = snapshot(any_empty)
    with Registry.open(any_empty) as registry:
        published = init_trust(registry, "alice", people.alice.signer, dry_run=True)
    assert published.commit is None
    assert published.changes
    assert snapshot(any_empty) == before


def test_each_change_is_one_commit(any_empty: Path, people: People) -> None:
    begun = any_empty
    begin(begun, people)
    before = commits(begun)
    published = amend(begun, people.bob.entry(), people.alice)
    assert commits(begun) == before + 1
    assert published.commit == git(begun, "rev-parse", "HEAD")
    assert message(begun) == f"Trust policy 2: add bob {people.bob.public.id} (signer)"
    assert [each.name for each in latest(begun).signers] == ["alice", "bob"]
    changed = git(begun, "show", "--format=", "--name-status", "HEAD")
    assert changed.split() == ["A", "store/trust/2.json"]


def test_a_change_that_changes_nothing_makes_no_commit(begun: Path, people: People) -> None:
    first = amend(begun, people.bob.entry(), people.alice)
    again = amend(begun, people.bob.entry(), people.alice)
    assert (again.number, again.digest, again.commit, again.changes) == (2, first.digest, None, ())
    assert latest(begun).number == 2


def test_a_dry_run_of_a_change_writes_nothing(begun: Path, people: People) -> None:
    before = snapshot(begun / "store", begun / ".git" / "refs")
    with Registry.open(begun) as registry:
        published = amend_trust(registry, people.bob.entry(), [people.alice.signer], dry_run=True)
    assert published.commit is None
    assert published.number == 2
    assert snapshot(begun / "store", begun / ".git" / "refs") == before


def test_a_key_is_rotated(begun: Path, people: People) -> None:
    new = people.bob
    amend(begun, new.entry("maintainer", "signer", name="alice"), people.alice)
    amend(begun, with_revoked(people.alice.public.id, instant_of(now())), new)
    states = {each.id: each.state(now()) for each in latest(begun).signers}
    assert states == {people.alice.public.id: "revoked", new.public.id: "valid"}
    with pytest.raises(KstoreError, match="is revoked; sign with another"):
        amend(begun, with_required(True), people.alice)
    amend(begun, with_required(True), new)


def test_a_lost_key_while_the_threshold_is_still_met(begun: Path, people: People) -> None:
    shared(begun, people)
    amend(begun, people.carol.entry("maintainer"), people.alice, people.bob)
    amend(begun, with_revoked("bob", instant_of(now())), people.alice, people.carol)
    assert latest(begun).lasting == ("alice", "carol")
    with pytest.raises(KstoreError, match="nobody could change it any more"):
        amend(begun, with_revoked("carol", instant_of(now())), people.alice, people.carol)


def test_too_few_signatures(begun: Path, people: People) -> None:
    shared(begun, people)
    before = commits(begun)
    with pytest.raises(KstoreError, match=r"policy 3 needs 2 of its maintainers, 1 has signed: alice; 1 of bob must"):
        amend(begun, with_threshold(1), people.alice)
    with pytest.raises(UsageError, match="needs a signature"):
        amend(begun, with_threshold(1))
    assert commits(begun) == before


def test_two_keys_of_one_maintainer_are_one(begun: Path, people: People) -> None:
    shared(begun, people)
    amend(begun, people.carol.entry("maintainer", name="alice"), people.alice, people.bob)
    with pytest.raises(KstoreError, match="1 has signed: alice"):
        amend(begun, with_threshold(1), people.alice, people.carol)


def test_only_maintainers_sign_policies(begun: Path, people: People) -> None:
    amend(begun, people.bob.entry(), people.alice)
    with pytest.raises(KstoreError, match="the key of bob, who is no maintainer"):
        amend(begun, with_required(True), people.alice, people.bob)
    with pytest.raises(KstoreError, match="the key of nobody whom a policy lists"):
        amend(begun, with_required(True), people.mallory)


def test_whoever_is_listed_first_by_this_very_policy_cannot_carry_it_alone(begun: Path, people: People) -> None:
    with pytest.raises(KstoreError, match="policy 1 needs 1 of its maintainers, 0 have signed"):
        amend(begun, people.mallory.entry("maintainer"), people.mallory)


def test_maintainers_sign_one_after_another(any_empty: Path, people: People) -> None:
    begun = any_empty
    begin(begun, people)
    shared(begun, people)
    before = commits(begun)
    proposed = amend(begun, people.carol.entry("maintainer"), people.alice, propose=True)
    assert (proposed.commit, proposed.digest) == (None, None)
    assert [(each.policy, each.needed, each.signed, each.others) for each in proposed.missing] == [
        (3, 2, ("alice",), ("bob",)),
        (4, 2, ("alice",), ("bob", "carol")),
    ]
    assert commits(begun) == before
    looked_at = cosign(begun, proposed.envelope, dry_run=True)
    assert looked_at.changes == (f"add carol {people.carol.public.id} (maintainer)",)
    halfway = cosign(begun, proposed.envelope, people.carol)
    assert halfway.commit is None
    assert [each.policy for each in halfway.missing] == [3]
    done = cosign(begun, halfway.envelope, people.bob)
    assert done.missing == ()
    assert done.commit == git(begun, "rev-parse", "HEAD")
    assert len(Envelope.from_bytes(done.envelope).signatures) == 3
    assert latest(begun).lasting == ("alice", "bob", "carol")


def test_a_proposal_that_has_enough_is_committed_without_a_further_key(begun: Path, people: People) -> None:
    proposed = amend(begun, people.bob.entry(), people.alice, propose=True)
    assert proposed.missing == ()
    assert latest(begun).number == 1
    assert cosign(begun, proposed.envelope).commit is not None
    assert latest(begun).number == 2


def test_a_proposal_for_a_registry_that_went_on(begun: Path, people: People) -> None:
    proposed = amend(begun, people.bob.entry(), people.alice, propose=True)
    amend(begun, people.carol.entry(), people.alice)
    with pytest.raises(KstoreError, match="does not follow policy 2"):
        cosign(begun, proposed.envelope, people.alice)


def test_proposals_that_are_none_or_were_tampered_with(begun: Path, people: People) -> None:
    shared(begun, people)
    proposed = amend(begun, people.carol.entry(), people.alice, propose=True).envelope
    for data in (b"", b"{}", proposed[:-1], proposed + b"\n"):
        with pytest.raises(KstoreError, match="no proposal of a trust policy"):
            cosign(begun, data, people.bob)
    envelope = Envelope.from_bytes(proposed)
    (signature,) = envelope.signatures
    forged = Envelope(envelope.payload.replace(b'"threshold":2', b'"threshold":1'), envelope.payload_type, (signature,))
    with pytest.raises(KstoreError, match=r"signature of .* is wrong"):
        cosign(begun, forged.to_bytes(), people.bob)


def test_another_clone_trusts_nothing_until_its_reader_pins(begun: Path, people: People, tmp_path: Path) -> None:
    amend(begun, people.bob.entry(), people.alice)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(begun), str(clone))
    with pytest.raises(NoTrustError, match="no policy is pinned in this clone") as raised:
        amend(clone, people.carol.entry(), people.alice)
    assert raised.value.exit_code == 12
    with Registry.open(clone) as registry:
        with pytest.raises(NoTrustError):
            export_allowed_signers(registry)
        said = list_trust(registry)
        assert (said.pinned, said.trusted, len(said.policies), said.problems) == (None, False, 2, ())
        policy, digest = candidate(registry)
        assert (policy.number, digest) == (2, said.policies[1].digest)
        with pytest.raises(KstoreError, match="nothing was pinned"):
            pin_trust(registry, Digest.of(b"another"))
        assert Pin(registry.derived).recall() is None
        pinned = pin_trust(registry, said.policies[0].digest)
        assert (pinned.number, pinned.before, pinned.latest, pinned.problems) == (1, None, 2, ())
        assert pin_trust(registry, digest).before == said.policies[0].digest
    amend(clone, people.carol.entry(), people.alice)
    assert latest(clone).number == 3


def test_a_registry_without_policies(any_empty: Path, people: People) -> None:
    with Registry.open(any_empty) as registry:
        for call in (candidate, export_allowed_signers, lambda each: pin_trust(each, Digest.of(b""))):
            with pytest.raises(NoTrustError, match="no trust policy"):
                call(registry)
        said = list_trust(registry)
    assert (said.policies, said.threshold, said.signers, said.requires_signature) == ((), None, (), False)
    with pytest.raises(NoTrustError, match="kstore trust init"):
        amend(any_empty, people.bob.entry(), people.alice)


def test_nothing_is_built_on_a_policy_that_is_not_to_be_believed(begun: Path, people: People) -> None:
    shutil.copy(begun / policy_path(1), begun / policy_path(2))
    git(begun, "add", "--all")
    git(begun, "commit", "--quiet", "-m", "policy")
    with pytest.raises(KstoreError, match="expected number 2"):
        amend(begun, people.bob.entry(), people.alice)
    with Registry.open(begun) as registry:
        with pytest.raises(KstoreError, match="expected number 2"):
            export_allowed_signers(registry)
        said = list_trust(registry)
        assert [each.code for each in said.problems] == ["invalid-policy"]
        assert [each.number for each in said.policies] == [1]
        assert pin_trust(registry, said.policies[0].digest).problems


def test_a_list_says_what_every_key_is(begun: Path, people: People) -> None:
    amend(begun, with_key(listed("bob", people.bob.public, ["signer"], UNSET, "2020-01-01T00:00:00Z")), people.alice)
    amend(begun, with_key(listed("carol", people.carol.public, ["signer"], "2999-01-01T00:00:00Z")), people.alice)
    amend(begun, people.mallory.entry(), people.alice)
    amend(begun, with_revoked("mallory", "2020-02-01T00:00:00Z"), people.alice)
    with Registry.open(begun) as registry:
        said = list_trust(registry)
        lines = export_allowed_signers(registry)
    assert said.trusted
    assert [each.pinned for each in said.policies] == [True, False, False, False, False]
    assert [(each.name, each.keyid, each.state) for each in said.signers] == [
        ("alice", people.alice.public.id, "valid"),
        ("bob", people.bob.public.id, "no longer valid"),
        ("carol", people.carol.public.id, "not yet valid"),
        ("mallory", people.mallory.public.id, "revoked"),
    ]
    assert said.signers[3].revoked_from == "2020-02-01T00:00:00Z"
    assert [line.split()[0] for line in lines] == ["#", "alice", "bob", "carol", "#"]


def test_another_writer_is_waited_for(begun: Path, people: People) -> None:
    with (
        Registry.open(begun) as other,
        other.writing(0),
        Registry.open(begun) as registry,
        pytest.raises(LockedError),
    ):
        amend_trust(registry, people.bob.entry(), [people.alice.signer], wait=0.1)


def test_what_is_left_is_a_sound_registry(registry: Path, people: People) -> None:
    begin(registry, people)
    shared(registry, people)
    assert_healthy(registry)
