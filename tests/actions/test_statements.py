"""Replications, retractions and supersessions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import UNSET

import kstore as api
from kstore.attest.allowed import NotAllowedError
from kstore.attest.envelope import Envelope
from kstore.attest.private_key import generate
from kstore.attest.signing import open_signer
from kstore.attest.statement import Replication, Retraction, Sha256, StatementError, Supersession, read_statement
from kstore.digest import Digest
from kstore.errors import NoTrustError, UsageError
from kstore.registry import Registry
from kstore.registry.errors import NotFoundError
from tests.keys import trusted
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    RUN_NAME,
    TVD,
    assert_healthy,
    commits,
    kstore,
    load,
    message,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from kstore.actions.state import Stated
    from kstore.attest.statement import Predicate


@pytest.fixture
def key(registry: Path, tmp_path: Path) -> Path:
    """A key that the registry's first policy lists."""
    generate(tmp_path / "alice")
    return trusted(registry, tmp_path / "alice")


@pytest.fixture
def other(registry: Path, tmp_path: Path) -> str:
    """Another run than the reference's, in the registry."""
    bundle = load(TVD)
    run = next(document for document in bundle.values() if document["kind"] == "BenchmarkRun")
    run["metadata"]["name"] = "other-run"
    run["spec"]["observedAt"] = "2026-03-05T00:00:00Z"
    added = kstore("--registry", registry, "add", "--json", save(tmp_path, run)).ok().json()
    digest: str = added["records"][0]["digest"]
    return digest


def said(registry: Path, stated: Stated) -> Predicate:
    (row,) = stated.statements
    statement = read_statement(Envelope.from_bytes((registry / row.path).read_bytes()).payload)
    assert statement.kind == row.predicate
    assert statement.subject[0].digest.digest == row.record
    return statement.predicate


def test_a_replication_with_a_run(registry: Path, key: Path, other: str) -> None:
    with Registry.open(registry) as opened:
        stated = api.attest_replication(
            opened, RUN_NAME, open_signer(key), result="reproduced", run="other-run", note="Twice."
        )
    assert said(registry, stated) == Replication("reproduced", Sha256.of(Digest(other)), note="Twice.")
    assert message(registry) == f"Attest BenchmarkRun {RUN_NAME}\n\nKstore-Record: {RUN}"
    assert_healthy(registry)


def test_a_replication_in_words(registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened:
        stated = api.attest_replication(
            opened, RUN, open_signer(key), result="not-reproduced", value="301 us", environment="an H100 PCIe"
        )
    assert said(registry, stated) == Replication("not-reproduced", UNSET, "301 us", "an H100 PCIe")


def test_a_retraction(registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened:
        stated = api.retract(opened, RUN, open_signer(key), reason="The clocks were not locked.")
    assert said(registry, stated) == Retraction("The clocks were not locked.")
    assert message(registry).startswith(f"Retract BenchmarkRun {RUN_NAME}\n")


def test_a_supersession(registry: Path, key: Path, other: str) -> None:
    with Registry.open(registry) as opened:
        stated = api.supersede(opened, RUN, other, open_signer(key), reason="Measured again.")
    assert said(registry, stated) == Supersession(Sha256.of(Digest(other)), "Measured again.")
    assert message(registry).startswith(f"Supersede BenchmarkRun {RUN_NAME}\n")
    assert_healthy(registry)


ACTIONS: dict[str, Callable[..., Stated]] = {
    "attest": lambda registry, signer, **options: api.attest_replication(
        registry, RUN, signer, result="reproduced", **options
    ),
    "retract": lambda registry, signer, **options: api.retract(registry, RUN, signer, reason="Wrong.", **options),
    "supersede": lambda registry, signer, **options: api.supersede(
        registry, RUN, "other-run", signer, reason="Better.", **options
    ),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_the_options_that_every_statement_has(name: str, registry: Path, key: Path, other: str) -> None:
    before, count = snapshot(registry), commits(registry)
    with Registry.open(registry) as opened:
        act = partial(ACTIONS[name], opened, open_signer(key))
        assert act(dry_run=True).statements[0].status == "added"
        assert snapshot(registry) == before
        staged = act(commit=False)
        assert (staged.commit, commits(registry)) == (None, count)
        made = act(message="My words", wait=1)
        assert made.statements == staged.statements
        assert commits(registry) == count + 1
        assert message(registry).startswith("My words\n")
        again = act()
        assert (again.commit, again.statements[0].status) == (None, "present")


@pytest.mark.parametrize("name", ACTIONS)
def test_whoever_is_not_listed_may_not(name: str, registry: Path, other: str, tmp_path: Path) -> None:
    generate(tmp_path / "mallory")
    with Registry.open(registry) as opened, pytest.raises(NoTrustError):
        ACTIONS[name](opened, open_signer(tmp_path / "mallory"))
    generate(tmp_path / "alice")
    trusted(registry, tmp_path / "alice")
    with Registry.open(registry) as opened, pytest.raises(NotAllowedError):
        ACTIONS[name](opened, open_signer(tmp_path / "mallory"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"run": RUN}, "no replication of itself"),
        ({"run": PROTOCOL}, "expected the run that repeated it, found a record of BenchmarkProtocol"),
    ],
)
def test_what_repeated_a_run_is_another_run(options: dict[str, Any], said: str, registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened, pytest.raises(UsageError, match=said):
        api.attest_replication(opened, RUN, open_signer(key), result="reproduced", **options)


@pytest.mark.parametrize(
    ("new", "said"),
    [(RUN, "does not take its own place"), (PROTOCOL, "is replaced by one of its kind")],
)
def test_what_replaces_a_record_is_another_of_its_kind(new: str, said: str, registry: Path, key: Path) -> None:
    with Registry.open(registry) as opened, pytest.raises(UsageError, match=said):
        api.supersede(opened, RUN, new, open_signer(key), reason="Better.")


def test_what_is_named_is_there(registry: Path, key: Path) -> None:
    signer = open_signer(key)
    with Registry.open(registry) as opened:
        for act in (
            partial(api.attest_replication, opened, RUN, signer, result="reproduced", run="nowhere"),
            partial(api.attest_replication, opened, "nowhere", signer, result="reproduced"),
            partial(api.retract, opened, "nowhere", signer, reason="Wrong."),
            partial(api.supersede, opened, ENVIRONMENT, "nowhere", signer, reason="Wrong."),
        ):
            with pytest.raises(NotFoundError):
                act()


@pytest.mark.parametrize("text", ["", "x" * 2001])
def test_words_are_neither_empty_nor_endless(text: str, registry: Path, key: Path, other: str) -> None:
    signer = open_signer(key)
    before = commits(registry)
    with Registry.open(registry) as opened:
        for act in (
            partial(api.attest_replication, opened, RUN, signer, result="reproduced", value=text),
            partial(api.retract, opened, RUN, signer, reason=text),
            partial(api.supersede, opened, RUN, other, signer, reason=text),
        ):
            with pytest.raises(StatementError, match="length"):
                act()
    assert commits(registry) == before
