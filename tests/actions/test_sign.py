"""Signing records, and what all statements have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from securesystemslib.signer import CryptoSigner

import kstore as api
from kstore.actions.sign import sign
from kstore.attest.allowed import NotAllowedError
from kstore.attest.envelope import Envelope
from kstore.attest.key import KeyRefusedError, PublicKey
from kstore.attest.private_key import generate, public_key_in
from kstore.attest.signing import open_signer
from kstore.attest.statement import EndorsementStatement, read_statement
from kstore.digest import Digest
from kstore.errors import KstoreError, LockedError, NoTrustError, UsageError
from kstore.registry import Registry
from kstore.registry.errors import DamageError, NotFoundError
from tests.keys import trusted
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    RUN_NAME,
    assert_healthy,
    commits,
    environment,
    git,
    kstore,
    load,
    message,
    object_path,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path

PAST, FUTURE = "2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"


@pytest.fixture
def key(registry: Path, tmp_path: Path) -> Path:
    """A key that the registry's first policy lists."""
    generate(tmp_path / "alice")
    return trusted(registry, tmp_path / "alice")


def at_head(registry: Path, path: str) -> bytes:
    return git(registry, "cat-file", "blob", f"HEAD:{path}").encode()


def test_what_is_signed_is_the_record_and_its_metadata(shaped: Path, tmp_path: Path) -> None:
    public = generate(tmp_path / "alice")
    trusted(shaped, tmp_path / "alice")
    before = commits(shaped)
    with Registry.open(shaped) as opened:
        stated = sign(opened, [RUN_NAME, ENVIRONMENT[7:], "sha256:a79e"], open_signer(tmp_path / "alice"))
        fanout = opened.settings.fanout
        metadata = {digest: Digest.of(opened.get(digest).metadata_bytes) for digest in opened.digests()}
    assert commits(shaped) == before + 1
    assert stated.commit == git(shaped, "rev-parse", "HEAD")
    assert (stated.signer, stated.key) == ("alice", public.id)
    assert [row.record for row in stated.statements] == [RUN, ENVIRONMENT, PROTOCOL]
    assert {(row.predicate, row.status) for row in stated.statements} == {("endorsement", "added")}
    for row in stated.statements:
        folders = row.record[7:9] if fanout == 1 else f"{row.record[7:9]}/{row.record[9:11]}"
        assert row.path == f"store/attestations/{folders}/{row.record[7:]}/{row.statement[7:]}.json"
        data = at_head(shaped, row.path)
        assert Digest.of(data) == row.statement
        envelope = Envelope.from_bytes(data)
        (signature,) = envelope.signatures
        assert signature.keyid == public.id
        assert public.verifies(signature.sig, envelope.signed)
        statement = read_statement(envelope.payload)
        assert isinstance(statement, EndorsementStatement)
        assert (statement.subject[0].name, statement.subject[0].digest.digest) == (row.name, row.record)
        assert statement.predicate.metadata.digest == metadata[row.record]
    changed = git(shaped, "diff", "--name-status", "HEAD~1", "HEAD").splitlines()
    assert sorted(changed) == sorted(f"A\t{row.path}" for row in stated.statements)


def test_the_commit_says_what_was_signed(registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened:
        sign(opened, RUN, open_signer(key))
        assert message(registry) == f"Sign BenchmarkRun {RUN_NAME}\n\nKstore-Record: {RUN}"
        sign(opened, [PROTOCOL, ENVIRONMENT], open_signer(key), message="I was there")
    assert message(registry) == f"I was there\n\nKstore-Record: {PROTOCOL}\nKstore-Record: {ENVIRONMENT}"


def test_signing_again_changes_nothing(registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened:
        first = sign(opened, [RUN, PROTOCOL], open_signer(key))
        before = snapshot(registry / ".git", registry / "store")
        again = sign(opened, [RUN, RUN_NAME, PROTOCOL], open_signer(key))
        assert snapshot(registry / ".git", registry / "store") == before
        more = sign(opened, [RUN, ENVIRONMENT], open_signer(key))
    assert again.commit is None
    assert [(row.statement, row.status) for row in again.statements] == [
        (row.statement, "present") for row in first.statements
    ]
    assert [row.status for row in more.statements] == ["present", "added"]
    assert message(registry).startswith("Sign ExecutionEnvironment ")


def test_new_metadata_want_a_new_signature(registry: Path, key: Path, tmp_path: Path) -> None:
    with Registry.open(registry) as opened:
        sign(opened, RUN, open_signer(key))
        document = json.loads(opened.get(Digest(RUN)).document())
        document["metadata"]["title"] = "Another title"
    kstore("--registry", registry, "add", save(tmp_path, document)).ok()
    with Registry.open(registry) as opened:
        assert [row.status for row in sign(opened, RUN, open_signer(key)).statements] == ["added"]
        assert len(list(object_path(registry, RUN, "attestations").with_suffix("").iterdir())) == 2


def test_several_keys_sign_without_a_conflict(registry: Path, key: Path, tmp_path: Path) -> None:
    generate(tmp_path / "bob")
    kstore("--registry", registry, "trust", "add", "bob", tmp_path / "bob.pub", "--key", key).ok()
    branch = git(registry, "branch", "--show-current")
    for name in ("alice", "bob"):
        git(registry, "checkout", "--quiet", "-b", name, branch)
        with Registry.open(registry) as opened:
            assert sign(opened, RUN, open_signer(tmp_path / name)).signer == name
    git(registry, "merge", "--quiet", "--no-edit", "alice")
    assert len(list(object_path(registry, RUN, "attestations").with_suffix("").iterdir())) == 2


def test_any_signer_of_securesystemslib_signs(registry: Path, key: Path, tmp_path: Path) -> None:
    signer = CryptoSigner.generate_ed25519()
    public = PublicKey(bytes.fromhex(signer.public_key.keyval["public"]))
    kstore("--registry", registry, "trust", "add", "machine", str(public), "--key", key).ok()
    with Registry.open(registry) as opened:
        stated = api.sign(opened, RUN, signer)
        assert (stated.signer, stated.key) == ("machine", public.id)
        with pytest.raises(KeyRefusedError):
            api.sign(opened, RUN, CryptoSigner.generate_ecdsa())


def test_a_dry_run_writes_nothing(registry: Path, key: Path) -> None:
    before = snapshot(registry)
    with Registry.open(registry) as opened:
        tried = sign(opened, RUN, open_signer(key), dry_run=True)
        assert snapshot(registry) == before
        done = sign(opened, RUN, open_signer(key))
    assert tried.commit is None
    assert tried.statements == done.statements


def test_without_a_commit_the_files_are_staged(registry: Path, key: Path) -> None:
    before = commits(registry)
    with Registry.open(registry) as opened:
        stated = sign(opened, RUN, open_signer(key), commit=False)
    assert stated.commit is None
    assert commits(registry) == before
    assert git(registry, "status", "--porcelain") == f"A  {stated.statements[0].path}"
    with Registry.open(registry) as opened:
        assert sign(opened, RUN, open_signer(key), commit=False).statements[0].status == "present"


@pytest.mark.parametrize("missing", ["sha256:" + "0" * 64, "0000", "no-such-record"])
def test_all_or_nothing(missing: str, registry: Path, key: Path) -> None:
    before = snapshot(registry)
    with Registry.open(registry) as opened, pytest.raises(NotFoundError):
        sign(opened, [RUN, missing], open_signer(key))
    assert {path: was for path, was in snapshot(registry).items() if "/kstore" not in path} == {
        path: was for path, was in before.items() if "/kstore" not in path
    }


def test_a_damaged_record_is_not_signed(registry: Path, key: Path) -> None:
    path = object_path(registry, RUN)
    path.write_bytes(path.read_bytes().replace(b"275712", b"275713"))
    git(registry, "commit", "--quiet", "--all", "--no-verify", "-m", "Damage it")
    with Registry.open(registry) as opened, pytest.raises(DamageError, match="hash to"):
        sign(opened, RUN, open_signer(key))


def test_nothing_to_sign_is_a_mistake(registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened, pytest.raises(UsageError):
        sign(opened, [], open_signer(key))


def test_another_writer_is_waited_for(registry: Path, key: Path) -> None:
    with (
        Registry.open(registry) as opened,
        Registry.open(registry) as other,
        other.writing(0),
        pytest.raises(LockedError),
    ):
        sign(opened, RUN, open_signer(key), wait=0)


class TestWhoMay:
    def test_without_a_policy_it_says_how_to_make_one(self, registry: Path, tmp_path: Path) -> None:
        generate(tmp_path / "alice")
        with Registry.open(registry) as opened, pytest.raises(NoTrustError, match="kstore trust init"):
            sign(opened, RUN, open_signer(tmp_path / "alice"))

    @pytest.mark.usefixtures("key")
    def test_a_key_that_is_not_listed_is_told_whom_to_ask(self, registry: Path, tmp_path: Path) -> None:
        public = generate(tmp_path / "mallory")
        with Registry.open(registry) as opened, pytest.raises(NotAllowedError) as raised:
            sign(opened, RUN, open_signer(tmp_path / "mallory"))
        assert "store/trust/1.json" in str(raised.value)
        assert "maintainers (alice)" in str(raised.value)
        assert f"kstore trust add NAME '{public}'" in str(raised.value)

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--valid-after", FUTURE), f"is valid from {FUTURE} on, not before"),
            (("--valid-before", PAST), f"was valid until {PAST}"),
            (("--valid-after", PAST, "--valid-before", FUTURE), None),
        ],
    )
    def test_a_key_signs_within_its_window(
        self, options: tuple[str, ...], said: str | None, registry: Path, key: Path, tmp_path: Path
    ) -> None:
        generate(tmp_path / "bob")
        kstore("--registry", registry, "trust", "add", "bob", tmp_path / "bob.pub", *options, "--key", key).ok()
        with Registry.open(registry) as opened:
            if said is None:
                assert sign(opened, RUN, open_signer(tmp_path / "bob")).signer == "bob"
            else:
                with pytest.raises(NotAllowedError, match=said):
                    sign(opened, RUN, open_signer(tmp_path / "bob"))

    def test_a_revoked_key_does_not_sign(self, registry: Path, key: Path, tmp_path: Path) -> None:
        generate(tmp_path / "bob")
        kstore("--registry", registry, "trust", "add", "bob", tmp_path / "bob.pub", "--key", key).ok()
        kstore("--registry", registry, "trust", "revoke", "bob", "--from", PAST, "--key", key).ok()
        with Registry.open(registry) as opened:
            with pytest.raises(NotAllowedError, match=f"of bob is revoked from {PAST} on"):
                sign(opened, RUN, open_signer(tmp_path / "bob"))
            assert sign(opened, RUN, open_signer(key)).signer == "alice"

    def test_a_policy_that_is_not_committed_is_no_authority(self, registry: Path, key: Path, tmp_path: Path) -> None:
        generate(tmp_path / "bob")
        kstore("--registry", registry, "trust", "add", "bob", tmp_path / "bob.pub", "--key", key).ok()
        git(registry, "reset", "--quiet", "--soft", "HEAD~1")
        assert (registry / "store/trust/2.json").exists()
        for commit in (True, False):
            with Registry.open(registry) as opened, pytest.raises(NotAllowedError, match="does not list"):
                sign(opened, RUN, open_signer(tmp_path / "bob"), commit=commit)

    def test_a_damaged_policy_is_named(self, registry: Path, key: Path) -> None:
        path = registry / "store/trust/1.json"
        path.write_bytes(path.read_bytes() + b"\n")
        git(registry, "commit", "--quiet", "--all", "--no-verify", "-m", "Damage it")
        with Registry.open(registry) as opened, pytest.raises(KstoreError, match=r"^store/trust/1\.json: .*verify"):
            sign(opened, RUN, open_signer(key))


class TestAddAndSign:
    def test_both_are_one_commit(self, registry: Path, key: Path, tmp_path: Path) -> None:
        document = load(save(tmp_path, environment()))
        with Registry.open(registry) as opened:
            added = api.add(opened, [document], signer=open_signer(key))
        (record,), (statement,) = added.records, added.statements
        assert (record.status, statement.status, statement.record) == ("added", "added", record.digest)
        names = git(registry, "diff", "--name-only", "HEAD~1", "HEAD").splitlines()
        assert len(names) == 3
        assert statement.path in names
        assert message(registry).startswith("Add ExecutionEnvironment some-machine\n")
        with Registry.open(registry) as opened:
            again = api.add(opened, [document], signer=open_signer(key))
            assert (again.commit, again.records[0].status, again.statements[0].status) == (None, "present", "present")
            # What `add` signed is what `sign` would have signed.
            assert sign(opened, record.digest, open_signer(key)).commit is None

    def test_what_is_there_already_is_signed(self, registry: Path, key: Path, tmp_path: Path) -> None:
        file = save(tmp_path, environment())
        kstore("--registry", registry, "add", file).ok()
        with Registry.open(registry) as opened:
            added = api.add(opened, file, signer=open_signer(key))
        assert added.records[0].status == "present"
        assert message(registry).startswith("Sign ExecutionEnvironment some-machine\n")
        assert_no_change(registry)

    @pytest.mark.usefixtures("key")
    def test_a_key_that_may_not_sign_adds_nothing(self, registry: Path, tmp_path: Path) -> None:
        generate(tmp_path / "mallory")
        before = commits(registry)
        with Registry.open(registry) as opened, pytest.raises(NotAllowedError):
            api.add(opened, [environment()], signer=open_signer(tmp_path / "mallory"))
        assert commits(registry) == before
        assert_no_change(registry)

    def test_without_a_commit(self, registry: Path, key: Path) -> None:
        with Registry.open(registry) as opened:
            added = api.add(opened, [environment()], signer=open_signer(key), commit=False)
        assert added.commit is None
        assert len(git(registry, "status", "--porcelain").splitlines()) == 3


def assert_no_change(registry: Path) -> None:
    assert git(registry, "status", "--porcelain") == ""


def test_the_registry_stays_sound(registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened:
        sign(opened, list(opened.digests()), open_signer(key))
    assert_healthy(registry)
    assert public_key_in(key).id in kstore("--registry", registry, "trust", "list").ok().text
