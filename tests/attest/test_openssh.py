"""What is exported is read by OpenSSH and git themselves."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from kstore.attest.instant import seconds_of
from kstore.attest.key import PublicKey
from kstore.attest.openssh import allowed_signers
from kstore.attest.policy import Listed, Policy
from tests.attest.policies import ALICE, BOB, CAROL, DORA, policy
from tests.hooked import run_git

if TYPE_CHECKING:
    from pathlib import Path

needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen here")

MARCH = "2026-03-01T00:00:00Z"
NOW = seconds_of("2026-06-01T00:00:00Z")


def test_each_key_is_a_line_and_what_does_not_count_is_a_comment() -> None:
    made = policy(
        7,
        1,
        ALICE.listed("alice", "maintainer", "signer"),
        BOB.listed("bob", after=MARCH, before="2027-03-01T00:00:00Z"),
        CAROL.listed("carol", revoked=MARCH),
        DORA.listed("dora", before="2027-03-01T00:00:00.5Z", revoked="2026-09-01T00:00:00Z"),
    )
    assert list(allowed_signers(made, NOW)) == [
        "# The signers of trust policy 7, as `kstore trust export --allowed-signers` wrote them.",
        f'alice namespaces="git,file" {ALICE.public}',
        f'bob namespaces="git,file",valid-after="20260301000000Z",valid-before="20270228235959Z" {BOB.public}',
        f"# revoked from {MARCH}: carol {CAROL.id}",
        f'dora namespaces="git,file",valid-before="20260831235959Z" {DORA.public}',
    ]


def test_times_before_1970_which_openssh_does_not_know() -> None:
    made = policy(
        1,
        1,
        ALICE.listed("alice", after="1960-01-01T00:00:00Z"),
        BOB.listed("bob", before="1960-01-01T00:00:00Z"),
        CAROL.listed("carol", before="1970-01-01T00:00:01Z"),
    )
    _, alice, bob, carol = allowed_signers(made, NOW)
    assert alice == f'alice namespaces="git,file" {ALICE.public}'
    assert bob.startswith("# never valid: bob ")
    assert carol.startswith("# never valid: carol ")


class Ssh:
    """Somebody with a real key, made by `ssh-keygen`, a message signed with it, and a commit."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self.key = top / "id_ed25519"
        self._run("-q", "-t", "ed25519", "-N", "", "-f", str(self.key))
        self.public = PublicKey.parse(self.key.with_suffix(".pub").read_text())
        (top / "message").write_text("hello")
        self._run("-Y", "sign", "-f", str(self.key), "-n", "file", str(top / "message"))

    def policy(self, **fields: str) -> Policy:
        entry = Listed("alice", str(self.public), ("maintainer", "signer"), **fields)
        return policy(1, 1, entry, BOB.listed("bob"))

    def verifies(self, lines: list[str], *, at: str, principal: str = "alice", namespace: str = "file") -> bool:
        signers = self.top / "allowed"
        signers.write_text("".join(f"{line}\n" for line in lines))
        done = self._run(
            *("-Y", "verify", "-f", str(signers), "-I", principal, "-n", namespace),
            *("-s", str(self.top / "message.sig"), "-O", f"verify-time={at}Z"),
            stdin=b"hello",
            check=False,
        )
        assert done.returncode in (0, 255), done.stderr
        return done.returncode == 0

    def _run(self, *args: str, stdin: bytes = b"", check: bool = True) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(["ssh-keygen", *args], input=stdin, capture_output=True, check=check)


@pytest.fixture
def ssh(tmp_path: Path) -> Ssh:
    return Ssh(tmp_path)


@needs_ssh_keygen
def test_ssh_keygen_verifies_within_the_window_and_not_outside(ssh: Ssh) -> None:
    lines = list(allowed_signers(ssh.policy(valid_after=MARCH, valid_before="2026-04-01T00:00:00Z"), NOW))
    assert not ssh.verifies(lines, at="20260228235959")
    assert ssh.verifies(lines, at="20260301000000")
    assert ssh.verifies(lines, at="20260331235959")
    assert not ssh.verifies(lines, at="20260401000000")


@needs_ssh_keygen
def test_ssh_keygen_takes_the_name_and_the_namespace_seriously(ssh: Ssh) -> None:
    lines = list(allowed_signers(ssh.policy(), NOW))
    assert ssh.verifies(lines, at="20260301000000")
    assert not ssh.verifies(lines, at="20260301000000", principal="bob")
    assert not ssh.verifies(lines, at="20260301000000", namespace="git")


@needs_ssh_keygen
def test_ssh_keygen_does_not_verify_what_a_revoked_key_signed(ssh: Ssh) -> None:
    made = ssh.policy(revoked_from=MARCH)
    for at in ("20200101000000", "20260228235959", "20260301000000"):
        assert not ssh.verifies(list(allowed_signers(made, NOW)), at=at)
    coming = list(allowed_signers(made, seconds_of("2026-02-01T00:00:00Z")))
    assert ssh.verifies(coming, at="20260228235959")
    assert not ssh.verifies(coming, at="20260301000000")


@needs_ssh_keygen
def test_git_verifies_commits_of_who_is_trusted_and_of_no_other(ssh: Ssh) -> None:
    repository = ssh.top / "repository"
    run_git(ssh.top, "init", "--quiet", str(repository)).ok()
    signers = ssh.top / "allowed"
    for name, value in (
        ("gpg.format", "ssh"),
        ("user.signingKey", str(ssh.key)),
        ("gpg.ssh.allowedSignersFile", str(signers)),
    ):
        run_git(repository, "config", name, value).ok()
    date = {"GIT_COMMITTER_DATE": "2026-02-15T00:00:00Z"}
    run_git(repository, "commit", "--quiet", "--allow-empty", "-S", "-m", "signed", env=date).ok()

    def verified(made: Policy, time: int = NOW) -> bool:
        signers.write_text("\n".join(allowed_signers(made, time)) + "\n")
        return run_git(repository, "verify-commit", "HEAD").code == 0

    assert verified(ssh.policy())
    assert verified(ssh.policy(valid_after="2026-02-15T00:00:00Z"))
    assert not verified(ssh.policy(valid_after="2026-02-15T00:00:01Z"))
    assert not verified(ssh.policy(valid_before="2026-02-15T00:00:00Z"))
    # Git goes by the date that the commit states, which its maker chose: hence revoked keys are left out.
    assert verified(ssh.policy(revoked_from=MARCH), seconds_of(MARCH) - 1)
    assert not verified(ssh.policy(revoked_from=MARCH), seconds_of(MARCH))
    assert not verified(policy(1, 1, BOB.listed("alice")))
