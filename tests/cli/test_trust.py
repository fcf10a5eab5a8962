from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kstore.digest import Digest
from kstore.layout import policy_path
from tests.registries import Ran, commits, git, kstore

PIN = re.compile(r"sha256:[0-9a-f]{64}")


class Trusting:
    """A registry with keys beside it."""

    def __init__(self, top: Path, registry: Path) -> None:
        self.top = top
        self.registry = registry
        for name in ("alice", "bob", "carol"):
            kstore("key", "generate", self.key(name)).ok()

    def key(self, name: str) -> Path:
        return self.top / f"{name}.key"

    def public(self, name: str) -> str:
        return Path(f"{self.key(name)}.pub").read_text().strip()

    def trust(self, *args: str | Path, keys: str = "", stdin: bytes = b"") -> Ran:
        signing = [word for name in keys.split() for word in ("--key", self.key(name))]
        return kstore("trust", *args, *signing, cwd=self.registry, stdin=stdin)

    def list(self) -> Any:
        return self.trust("list", "--json").ok().json()


@pytest.fixture
def trusting(empty: Path, tmp_path: Path) -> Trusting:
    made = Trusting(tmp_path, empty)
    made.trust("init", "--name", "alice", keys="alice").ok()
    return made


def test_init_says_what_to_pin_elsewhere(empty: Path, tmp_path: Path) -> None:
    made = Trusting(tmp_path, empty)
    dry = made.trust("init", "--name", "alice", "--dry-run", keys="alice").ok()
    assert "nothing was written" in dry.err
    assert commits(empty) == 1
    done = made.trust("init", "--name", "alice", keys="alice").ok()
    digest = Digest.of((empty / policy_path(1)).read_bytes())
    assert f"kstore trust pin {digest}" in done.err
    assert done.text.splitlines()[-1] == f"policy 1 {digest}"
    again = made.trust("init", "--name", "alice", keys="alice")
    assert (again.code, "already" in again.err) == (1, True)


def test_json_is_one_document_and_quiet_is_quiet(trusting: Trusting) -> None:
    done = trusting.trust("add", "bob", trusting.public("bob"), "--json", "--quiet", keys="alice").ok()
    assert done.err == ""
    digest = Digest.of((trusting.registry / policy_path(2)).read_bytes())
    assert done.json() == {
        "number": 2,
        "digest": digest,
        "commit": git(trusting.registry, "rev-parse", "HEAD"),
        "changes": done.json()["changes"],
        "missing": [],
        "proposal": None,
    }


def test_keys_are_added_from_files_and_as_text(trusting: Trusting) -> None:
    trusting.trust("add", "bob", f"{trusting.key('bob')}.pub", keys="alice").ok()
    trusting.trust(
        *("add", "carol", trusting.public("carol") + " carol@example.org", "--role", "maintainer", "--role", "signer"),
        *("--valid-after", "2026-03-01", "--valid-before", "2999-03-01T12:00Z"),
        keys="alice",
    ).ok()
    signers = trusting.list()["signers"]
    assert [(each["name"], each["roles"]) for each in signers] == [
        ("alice", ["maintainer", "signer"]),
        ("bob", ["signer"]),
        ("carol", ["maintainer", "signer"]),
    ]
    assert (signers[2]["validAfter"], signers[2]["validBefore"]) == ("2026-03-01T00:00:00Z", "2999-03-01T12:00Z")
    assert signers[2]["key"] == trusting.public("carol")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["add", "bob", "ssh-rsa AAAA"], 1, "only Ed25519"),
        (["add", "bob", "nowhere.pub"], 1, "nowhere.pub"),
        (["add", "bob", "{bob}"], 1, "found a private one"),
        (["add", "bob", "{bob}.pub", "--role", "king"], 2, "the roles are maintainer, signer"),
        (["add", "bob", "{bob}.pub", "--valid-after", "soon"], 2, "an instant in UTC"),
        (["add", "Bob", "{bob}.pub"], 2, "a signer's name"),
        (["add", "mallory", "{alice}.pub"], 1, "is the key of alice already"),
        (["revoke", "bob"], 1, "no signer is named 'bob'"),
        (["revoke", "alice"], 1, "nobody could change it any more"),
        (["threshold", "2"], 1, "nobody could change it any more"),
        (["threshold", "0"], 2, "0 is not in the range"),
        (["require"], 2, "one of the three"),
        (["require", "BenchmarkRun", "--all"], 2, "one of the three"),
        (["require", "Nothing"], 2, "there is no kind"),
        (["sign", "nowhere.json"], 1, "nowhere.json"),
        (["sign", "-"], 1, "no proposal"),
        (["sign", "-", "--json"], 2, "exclude each other"),
        (["threshold", "1", "--propose", "-", "--json"], 2, "exclude each other"),
    ],
)
def test_what_cannot_be_is_refused(arguments: list[str], code: int, said: str, trusting: Trusting) -> None:
    before = commits(trusting.registry)
    files = {name: str(trusting.key(name)) for name in ("alice", "bob")}
    refused = trusting.trust(*(each.format(**files) for each in arguments), keys="alice")
    assert (refused.code, said in refused.err) == (code, True), refused.err
    assert "PRIVATE" not in refused.err
    assert commits(trusting.registry) == before


def test_what_needs_a_key_says_so(trusting: Trusting) -> None:
    refused = trusting.trust("require", "--all")
    assert (refused.code, "--key FILE" in refused.err) == (2, True)


def test_revoking_twice_changes_nothing(trusting: Trusting) -> None:
    trusting.trust("add", "bob", trusting.public("bob"), keys="alice").ok()
    trusting.trust("revoke", "bob", "--from", "2026-03-01", keys="alice").ok()
    again = trusting.trust("revoke", "bob", keys="alice").ok()
    assert "says that already" in again.err
    assert [each["revokedFrom"] for each in trusting.list()["signers"]] == [None, "2026-03-01T00:00:00Z"]


def test_what_must_be_signed(trusting: Trusting) -> None:
    for arguments, required in (
        (["ServingRun", "BenchmarkRun"], ["BenchmarkRun", "ServingRun"]),
        (["--all"], True),
        (["--nothing"], False),
    ):
        trusting.trust("require", *arguments, keys="alice").ok()
        assert trusting.list()["requiresSignature"] == required


def test_a_proposal_goes_from_hand_to_hand(trusting: Trusting, tmp_path: Path) -> None:
    trusting.trust("add", "bob", trusting.public("bob"), "--role", "maintainer", keys="alice").ok()
    trusting.trust("threshold", "2", keys="alice bob").ok()
    file = tmp_path / "proposal.json"
    refused = trusting.trust("require", "--all", keys="alice")
    assert (refused.code, "--propose FILE" in refused.err) == (1, True)
    dry = trusting.trust("require", "--all", "--propose", file, "--dry-run", keys="alice").ok()
    assert not file.exists()
    assert "1 of bob must sign too" in dry.err
    trusting.trust("require", "--all", "--propose", file, keys="alice").ok()
    proposed = file.read_bytes()
    seen = trusting.trust("sign", file, "--dry-run").ok()
    assert seen.text == "require signatures of all records\n"
    unchanged = trusting.trust("sign", file, keys="alice").ok()
    assert "1 of bob must sign too" in unchanged.err
    assert file.read_bytes() == proposed
    done = trusting.trust("sign", file, "--json", keys="bob").ok()
    assert done.json()["commit"] == git(trusting.registry, "rev-parse", "HEAD")
    assert trusting.list()["requiresSignature"] is True


def test_a_proposal_through_pipes(trusting: Trusting) -> None:
    trusting.trust("add", "bob", trusting.public("bob"), "--role", "maintainer", keys="alice").ok()
    trusting.trust("threshold", "2", keys="alice bob").ok()
    proposed = trusting.trust("threshold", "1", "--propose", "-", keys="alice").ok()
    assert json.loads(proposed.out)["payloadType"] == "application/vnd.kstore.trust+json"
    again = trusting.trust("sign", "-", keys="alice", stdin=proposed.out).ok()
    assert again.out == proposed.out
    trusting.trust("sign", "-", keys="bob", stdin=again.out).ok()
    assert trusting.list()["threshold"] == 1


def test_a_list_for_people(trusting: Trusting) -> None:
    trusting.trust("add", "bob", trusting.public("bob"), "--valid-before", "2020-01-01", keys="alice").ok()
    listed = trusting.trust("list").ok()
    first, second, threshold, required, alice, bob = listed.text.splitlines()
    assert first == f"policy 1 {Digest.of((trusting.registry / policy_path(1)).read_bytes())}  pinned"
    assert second.startswith("policy 2 sha256:")
    assert (threshold, required) == ("threshold 1 of 1 maintainers", "signature required for nothing")
    assert re.fullmatch(r"valid +alice SHA256:\S{43} maintainer\+signer", alice)
    assert re.fullmatch(r"no longer valid bob SHA256:\S{43} signer  before 2020-01-01T00:00:00Z", bob)
    assert listed.err == ""


def test_a_list_where_nothing_is_pinned_or_nothing_is_there(trusting: Trusting, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(trusting.registry), str(clone))
    assert "nothing is pinned in this clone" in kstore("trust", "list", cwd=clone).ok().err
    kstore("init", tmp_path / "other").ok()
    other = kstore("trust", "list", cwd=tmp_path / "other").ok()
    assert (other.out, "no trust policy" in other.err) == (b"", True)


def test_a_list_names_what_is_not_to_be_believed(trusting: Trusting) -> None:
    (trusting.registry / policy_path(2)).write_bytes(b"{}")
    listed = trusting.trust("list")
    assert listed.code == 1
    assert "invalid-policy: store/trust/2.json" in listed.err
    assert trusting.trust("list", "--json").json()["problems"][0]["code"] == "invalid-policy"


def test_a_clone_pins_and_is_never_asked_without_a_terminal(trusting: Trusting, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(trusting.registry), str(clone))
    asked = kstore("trust", "pin", cwd=clone, stdin=b"yes\n")
    assert (asked.code, "kstore trust pin sha256:<hex>" in asked.err) == (2, True)
    assert kstore("trust", "export", "--allowed-signers", cwd=clone).code == 12
    assert kstore("trust", "require", "--all", "--key", trusting.key("alice"), cwd=clone).code == 12
    assert kstore("trust", "pin", "sha256:abc", cwd=clone).code == 2
    wrong = kstore("trust", "pin", "sha256:" + "0" * 64, cwd=clone)
    assert (wrong.code, "nothing was pinned" in wrong.err) == (1, True)
    digest = Digest.of((clone / policy_path(1)).read_bytes())
    pinned = kstore("trust", "pin", digest.hex, "--json", cwd=clone).ok().json()
    assert pinned == {"number": 1, "digest": digest, "before": None, "latest": 1, "problems": []}
    assert kstore("trust", "list", "--json", cwd=clone).json()["trusted"] is True
    assert git(clone, "status", "--porcelain", "--ignored") == ""


def test_nothing_can_be_pinned_where_nothing_is(empty: Path) -> None:
    assert kstore("trust", "pin", "0" * 64, cwd=empty).code == 12


@pytest.mark.parametrize(("answer", "code"), [("yes", 0), ("y", 1), ("", 1), ("no", 1)])
def test_a_person_at_a_terminal_is_asked(answer: str, code: int, trusting: Trusting, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(trusting.registry), str(clone))
    digest = Digest.of((clone / policy_path(1)).read_bytes())
    ended, said = at_terminal(clone, answer, "trust", "pin")
    assert str(digest) in said
    assert "add alice SHA256:" in said
    assert ended == code
    assert kstore("trust", "list", "--json", cwd=clone).json()["pinned"] == (digest if code == 0 else None)


def at_terminal(folder: Path, answer: str, *arguments: str) -> tuple[int, str]:
    """Run kstore at a terminal of its own, type an answer when it asks, and give its exit code and what it showed."""
    terminal, its_end = pty.openpty()
    program = [sys.executable, "-m", "kstore", *arguments]
    running = subprocess.Popen(program, cwd=folder, stdin=its_end, stdout=its_end, stderr=its_end)
    os.close(its_end)
    said, answered = b"", False
    while select.select([terminal], [], [], 60)[0]:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        said += piece
        if not answered and b"Type yes" in said:
            answered = True
            os.write(terminal, f"{answer}\n".encode())
    os.close(terminal)
    return running.wait(60), said.decode()


def test_export_is_for_openssh(trusting: Trusting) -> None:
    exported = trusting.trust("export", "--allowed-signers").ok()
    comment, line = exported.text.splitlines()
    assert comment.startswith("# The signers of trust policy 1")
    assert line == f'alice namespaces="git,file" {trusting.public("alice")}'
    assert trusting.trust("export").code == 2
