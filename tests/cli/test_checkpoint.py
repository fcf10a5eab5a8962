from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from kstore.layout import checkpoint_path
from tests.checkpoints import root_at
from tests.histories import add_machine, head
from tests.registries import commits, git, kstore

if TYPE_CHECKING:
    from pathlib import Path

FIELDS = {"number", "path", "digest", "root", "gitCommit", "records", "createdAt", "previous", "signatures"}


@pytest.fixture
def key(tmp_path: Path, registry: Path) -> Path:
    """The key of the one maintainer of a registry."""
    kstore("key", "generate", "--no-passphrase", tmp_path / "alice").ok()
    kstore("--registry", registry, "trust", "init", "--name", "alice", "--key", tmp_path / "alice").ok()
    return tmp_path / "alice"


def create(registry: Path, *args: str | Path) -> Any:
    return kstore("--registry", registry, "checkpoint", "create", *args)


def test_a_checkpoint_is_made_and_shown(registry: Path, key: Path) -> None:
    made = create(registry, "--key", key, "--json").ok().json()
    assert made.keys() == {"status", "commit", "checkpoint"}
    assert (made["status"], made["commit"]) == ("added", head(registry))
    assert made["checkpoint"].keys() == FIELDS
    assert made["checkpoint"]["root"] == root_at(registry).hash.hex()
    for which in ([], ["latest"], ["1"]):
        assert kstore("--registry", registry, "checkpoint", "show", *which, "--json").ok().json() == made["checkpoint"]
    shown = kstore("--registry", registry, "checkpoint", "show").ok()
    for said in ("checkpoint 1 ", f"blake3:{made['checkpoint']['root']}", git(registry, "rev-parse", "HEAD^"), "alice"):
        assert said in shown.text
    assert shown.err == ""


def test_what_has_not_changed_needs_no_other(registry: Path, key: Path) -> None:
    create(registry, "--key", key).ok()
    before = commits(registry)
    again = create(registry, "--key", key, "--json").ok()
    assert (again.json()["status"], again.json()["commit"]) == ("present", None)
    assert "nothing has changed since checkpoint 1" in again.err
    assert create(registry, "--key", key, "--quiet").ok().err == ""
    assert commits(registry) == before


def test_a_dry_run_says_what_would_be(registry: Path, key: Path) -> None:
    before = commits(registry)
    ran = create(registry, "--key", key, "--dry-run").ok()
    assert "nothing was written (--dry-run)" in ran.err
    assert "checkpoint 1 " in ran.text
    assert commits(registry) == before


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_the_number_of_processes_does_not_matter(jobs: str, registry: Path, key: Path) -> None:
    made = create(registry, "--key", key, "--json", "--no-cache", "--jobs", jobs).ok().json()
    assert made["checkpoint"]["root"] == root_at(registry).hash.hex()


def test_each_failure_has_its_exit_code(registry: Path, tmp_path: Path) -> None:
    kstore("key", "generate", "--no-passphrase", tmp_path / "somebody").ok()
    assert create(registry, "--key", tmp_path / "somebody").code == 12
    assert create(registry).code == 2
    assert kstore("--registry", registry, "checkpoint").code == 2
    shown = kstore("--registry", registry, "checkpoint", "show")
    assert (shown.code, shown.out) == (1, b"")
    assert "this registry has no checkpoint" in shown.err


@pytest.mark.parametrize("number", ["0x1", "-1", "one", "1.0", "²", "12345678901", ""])
def test_what_is_no_number_is_wrong_usage(number: str, registry: Path) -> None:
    assert kstore("--registry", registry, "checkpoint", "show", "--", number).code == 2


def test_a_wrong_signature_is_shown_as_such(registry: Path, key: Path) -> None:
    create(registry, "--key", key).ok()
    file = registry / checkpoint_path(1)
    envelope = json.loads(file.read_bytes())
    signature = bytearray(base64.b64decode(envelope["signatures"][0]["sig"]))
    signature[0] ^= 1
    envelope["signatures"][0]["sig"] = base64.b64encode(signature).decode()
    file.write_bytes(json.dumps(envelope, separators=(",", ":"), sort_keys=True).encode())
    ran = kstore("--registry", registry, "checkpoint", "show")
    assert ran.code == 1
    assert "WRONG" in ran.text
    assert "is not right for what it signs" in ran.err


def test_a_key_that_nobody_lists_is_shown_as_unknown(registry: Path, key: Path) -> None:
    create(registry, "--key", key).ok()
    (registry / "store" / "trust" / "1.json").unlink()
    (registry / ".git" / "kstore" / "trust").unlink()
    ran = kstore("--registry", registry, "checkpoint", "show").ok()
    assert "unknown" in ran.text
    assert "no policy that is believed here lists the key" in ran.err


def test_the_second_follows_the_first(registry: Path, key: Path) -> None:
    first = create(registry, "--key", key, "--json").ok().json()["checkpoint"]
    add_machine(registry, "new")
    second = create(registry, "--key", key, "--json").ok().json()["checkpoint"]
    assert (second["number"], second["previous"]) == (2, first["digest"])
