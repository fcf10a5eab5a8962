"""`kstore sign`, `attest`, `retract`, `supersede`, and `add --key`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.attest.private_key import generate
from tests.keys import NEEDS_SSH, ssh_add, ssh_agent, ssh_key, trusted
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    RUN_NAME,
    commits,
    environment,
    environments,
    git,
    kstore,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "some words"


@pytest.fixture(autouse=True)
def _no_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KSTORE_KEY_PASSPHRASE", raising=False)


@pytest.fixture
def key(registry: Path, tmp_path: Path) -> Path:
    """A key that the registry's first policy lists."""
    generate(tmp_path / "alice")
    return trusted(registry, tmp_path / "alice")


def test_sign_says_what_it_did(registry: Path, key: Path) -> None:
    done = kstore("sign", RUN, "sha256:a79e", "--key", key, cwd=registry).ok()
    first, second = done.text.splitlines()
    assert first == f"added    endorsement {RUN} {RUN_NAME}"
    assert second.startswith(f"added    endorsement {PROTOCOL} ")
    assert done.err.startswith("note: signed by alice (SHA256:")
    assert done.err.endswith(f"committed as {git(registry, 'rev-parse', 'HEAD')}\n")
    again = kstore("sign", RUN, "--key", key, cwd=registry).ok()
    assert again.text.startswith("present  endorsement ")
    assert again.err.endswith("all of it is there already; nothing to commit\n")


def test_json(registry: Path, key: Path) -> None:
    done = kstore("sign", RUN, "--key", key, "--json", "--quiet", cwd=registry).ok()
    found = done.json()
    assert found["commit"] == git(registry, "rev-parse", "HEAD")
    assert (found["signer"], found["key"]) == ("alice", kstore("key", "show", "--json", key).json()["id"])
    (row,) = found["statements"]
    assert (registry / row["path"]).is_file()
    assert {**row, "path": "", "statement": ""} == {
        "record": RUN,
        "name": RUN_NAME,
        "predicate": "endorsement",
        "statement": "",
        "path": "",
        "status": "added",
    }
    assert done.err == ""


def test_refs_come_from_standard_input(registry: Path, key: Path) -> None:
    listed = kstore("list", cwd=registry).ok().out
    before = commits(registry)
    done = kstore("sign", "-", "--key", key, "--json", cwd=registry, stdin=b"\n" + listed).ok()
    assert [row["record"] for row in done.json()["statements"]] == [
        line.split()[0].decode() for line in listed.splitlines()
    ]
    assert commits(registry) == before + 1
    nothing = kstore("sign", "-", "--key", key, cwd=registry)
    assert nothing.code == 2
    assert "at least one record" in nothing.err


def test_a_thousand_records_are_one_commit(empty: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environments(1000)), cwd=empty).ok()
    generate(tmp_path / "alice")
    trusted(empty, tmp_path / "alice")
    before = commits(empty)
    listed = kstore("list", cwd=empty).ok().out
    kstore("sign", "-", "--key", tmp_path / "alice", cwd=empty, stdin=listed).ok()
    assert commits(empty) == before + 1
    assert len(git(empty, "diff", "--name-only", "HEAD~1", "HEAD").splitlines()) == 1000
    assert git(empty, "status", "--porcelain") == ""


def test_dry_run_and_no_commit(registry: Path, key: Path) -> None:
    before = snapshot(registry)
    done = kstore("sign", RUN, "--key", key, "--dry-run", cwd=registry).ok()
    assert done.err.endswith("nothing was written (--dry-run)\n")
    assert snapshot(registry) == before
    done = kstore("sign", RUN, "--key", key, "--no-commit", cwd=registry).ok()
    assert done.err.endswith("written and staged; `git commit` commits it\n")
    assert git(registry, "status", "--porcelain").startswith("A  store/attestations/")


def test_a_message(registry: Path, key: Path) -> None:
    kstore("sign", RUN, "--key", key, "-m", "I was there", cwd=registry).ok()
    assert git(registry, "log", "-1", "--format=%s") == "I was there"


def test_without_trust_it_ends_with_12(registry: Path, tmp_path: Path) -> None:
    generate(tmp_path / "alice")
    for command in (
        ("sign", RUN),
        ("attest", RUN, "--result", "reproduced"),
        ("retract", RUN, "--reason", "Wrong."),
        ("supersede", RUN, RUN_NAME, "--reason", "Wrong."),
        ("add", save(tmp_path, environment())),
    ):
        done = kstore(*command, "--key", tmp_path / "alice", cwd=registry)
        if command[0] == "supersede":
            assert done.code == 2
        else:
            assert (done.code, done.out) == (12, b"")
            assert "kstore trust init --name NAME --key FILE" in done.err


def test_a_key_that_is_not_listed_ends_with_1(registry: Path, key: Path, tmp_path: Path) -> None:
    generate(tmp_path / "mallory")
    done = kstore("sign", RUN, "--key", tmp_path / "mallory", cwd=registry)
    assert (done.code, done.out) == (1, b"")
    assert "ask one of the maintainers (alice)" in done.err


def test_the_other_statements(registry: Path, key: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    repeated = ("attest", RUN, "--result", "not-reproduced", "--value", "301 us", "--environment", "H100 PCIe")
    done = kstore(*repeated, "--note", "Twice.", "--key", key, cwd=registry).ok()
    assert done.text == f"added    replication {RUN} {RUN_NAME}\n"
    done = kstore("retract", RUN, "--reason", "The clocks.", "--key", key, cwd=registry).ok()
    assert done.text == f"added    retraction {RUN} {RUN_NAME}\n"
    done = kstore("supersede", ENVIRONMENT, "some-machine", "--reason", "Old.", "--key", key, cwd=registry).ok()
    assert done.text.startswith(f"added    supersession {ENVIRONMENT} ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sign",),
        ("sign", RUN),
        ("attest", RUN),
        ("attest", RUN, "--result", "perhaps"),
        ("retract", RUN),
        ("supersede", RUN, "--reason", "Old."),
        ("supersede", RUN, RUN, "--reason", "Old."),
        ("attest", RUN, "--result", "reproduced", "--run", RUN),
    ],
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...], registry: Path, key: Path) -> None:
    before = commits(registry)
    given = () if arguments == ("sign", RUN) else ("--key", str(key))
    assert kstore(*arguments, *given, cwd=registry).code == 2
    assert commits(registry) == before


def test_add_with_a_key(registry: Path, key: Path, tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    done = kstore("add", file, "--key", key, "--json", cwd=registry).ok().json()
    assert sorted(done) == ["commit", "records", "statements", "unresolved"]
    assert done["statements"][0]["record"] == done["records"][0]["digest"]
    again = kstore("add", file, "--key", key, cwd=registry).ok()
    assert "everything is there already" in again.err
    assert "statements" not in kstore("add", file, "--json", cwd=registry).ok().json()


@NEEDS_SSH
def test_an_encrypted_key_takes_its_passphrase_from_the_environment(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = ssh_key(tmp_path / "key", passphrase=WORDS)
    refused = kstore("trust", "init", "--name", "alice", "--key", file, cwd=registry)
    assert (refused.code, refused.out) == (1, b"")
    assert "KSTORE_KEY_PASSPHRASE" in refused.err
    monkeypatch.setenv("KSTORE_KEY_PASSPHRASE", WORDS)
    trusted(registry, file)
    kstore("sign", RUN, "--key", file, cwd=registry).ok()
    monkeypatch.setenv("KSTORE_KEY_PASSPHRASE", "other words")
    refused = kstore("sign", PROTOCOL, "--key", file, cwd=registry)
    assert refused.code == 1
    assert "the passphrase is wrong" in refused.err
    assert "other words" not in refused.err


@NEEDS_SSH
def test_a_key_in_an_agent(registry: Path, tmp_path: Path) -> None:
    file = ssh_key(tmp_path / "key")
    trusted(registry, file)
    by_file = kstore("sign", RUN, "--key", file, "--dry-run", "--json", cwd=registry).ok()
    with ssh_agent(tmp_path):
        ssh_add(file)
        file.unlink()
        by_agent = kstore("sign", RUN, "--key", f"{file}.pub", "--json", cwd=registry).ok()
    assert by_agent.json()["statements"] == by_file.json()["statements"]
    assert kstore("sign", RUN, "--key", f"{file}.pub", cwd=registry).code == 1


@pytest.mark.parametrize("command", ["sign", "attest", "retract", "supersede"])
def test_help_has_examples(command: str) -> None:
    assert "Examples:" in kstore(command, "--help").ok().text


@pytest.mark.parametrize("words", ["", "x" * 2001])
@pytest.mark.parametrize("option", ["--reason", "--note", "--value", "--environment"])
def test_words_that_are_none_or_too_many(option: str, words: str, registry: Path, key: Path) -> None:
    command = ("retract", RUN) if option == "--reason" else ("attest", RUN, "--result", "reproduced")
    done = kstore(*command, option, words, "--key", key, cwd=registry)
    assert (done.code, done.out) == (2, b"")
    assert f"{option}: expected 1 to 2,000 characters, found {len(words):,}" in done.err
