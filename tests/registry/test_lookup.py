"""A record is found by its digest, the start of one, or its name; nothing is guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.errors import KstoreError
from kstore.registry import Registry
from kstore.registry.errors import NotFoundError
from kstore.registry.lookup import lookup_all, record_of, records_of
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    RUN_NAME,
    environment,
    environments,
    kstore,
    object_path,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from pathlib import Path


def shown(registry: Path, ref: str) -> str:
    """Give the name of the record that a REF leads to."""
    return str(kstore("--registry", registry, "show", ref).ok().json()["metadata"]["name"])


def refused(registry: Path, ref: str) -> str:
    """Give what is said of a REF that leads nowhere."""
    before = snapshot(registry)
    ran = kstore("--registry", registry, "show", "--", ref)
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err.startswith("error: ")
    assert snapshot(registry) == before
    return ran.err


@pytest.mark.parametrize("ref", [RUN, RUN[7:], RUN[:11], RUN[7:11], RUN[7:70], RUN[:-1], RUN_NAME])
def test_every_form_of_a_reference(ref: str, shaped: Path) -> None:
    assert shown(shaped, ref) == RUN_NAME


@pytest.mark.parametrize(
    "ref",
    [
        RUN[7:10],
        RUN[:10],
        "sha256:",
        "",
        "-",
        "0" * 4,
        "sha256:" + "0" * 64,
        "f" * 64,
        RUN[7:].upper(),
        RUN + "0",
        RUN + "\n",
        f"sha256:{RUN_NAME}",
        RUN_NAME.upper(),
        RUN_NAME[:-1],
        "../../kstore",
        '","title":"',
        "\x1b[31m",
        "caf\udce9",
        "n" * 100_000,
    ],
)
def test_what_is_no_reference_to_a_record(ref: str, registry: Path) -> None:
    said = refused(registry, ref)
    assert "no record here is called" in said or "is not in this registry" in said
    assert "\x1b" not in said


def test_an_ambiguous_name_lists_the_candidates(registry: Path, tmp_path: Path) -> None:
    documents = environments(2)
    for document in documents:
        document["metadata"]["name"] = "twice"
    added = kstore("add", save(tmp_path, documents), "--json", cwd=registry).ok().json()
    said = refused(registry, "twice")
    for record in added["records"]:
        assert f"{record['digest']} ExecutionEnvironment twice" in said


def test_more_candidates_than_fit_are_counted(registry: Path, tmp_path: Path) -> None:
    documents = environments(15)
    for document in documents:
        document["metadata"]["name"] = "often"
    kstore("add", save(tmp_path, documents), cwd=registry).ok()
    said = refused(registry, "often")
    assert said.count("ExecutionEnvironment often") == 10
    assert "5 more" in said


def test_an_ambiguous_prefix_lists_the_candidates(registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environments(600)), cwd=registry).ok()
    digests = [row["digest"] for row in kstore("list", "--json", cwd=registry).json()]
    starts = [digest[:11] for digest in digests]
    double = next(start for start in starts if starts.count(start) > 1)
    candidates = [digest for digest in digests if digest.startswith(double)]
    for ref in (double, double.removeprefix("sha256:")):
        said = refused(registry, ref)
        assert all(candidate in said for candidate in candidates)
    assert kstore("show", candidates[0], cwd=registry).code == 0


def test_a_damaged_candidate_is_listed_too(registry: Path, tmp_path: Path) -> None:
    documents = environments(2)
    for document in documents:
        document["metadata"]["name"] = "twice"
    added = kstore("add", save(tmp_path, documents), "--json", cwd=registry).ok().json()
    digests = [record["digest"] for record in added["records"]]
    object_path(registry, digests[0]).write_bytes(b"damaged")
    said = refused(registry, "twice")
    assert all(digest in said for digest in digests)


def test_a_name_that_is_the_start_of_another_records_digest(registry: Path, tmp_path: Path) -> None:
    document = environment()
    document["metadata"]["name"] = PROTOCOL[7:15]
    (record,) = kstore("add", save(tmp_path, document), "--json", cwd=registry).ok().json()["records"]
    said = refused(registry, PROTOCOL[7:15])
    assert PROTOCOL in said
    assert record["digest"] in said
    assert shown(registry, PROTOCOL[:15]) == "liger-bench-do-bench-forward"
    assert shown(registry, record["digest"]) == PROTOCOL[7:15]


def test_a_name_that_is_the_start_of_its_own_digest_is_not_ambiguous(registry: Path, tmp_path: Path) -> None:
    document = environment()
    digest = kstore("digest", save(tmp_path, document)).text.split()[0]
    document["metadata"]["name"] = digest[7:15]
    kstore("add", save(tmp_path, document), cwd=registry).ok()
    assert shown(registry, digest[7:15]) == digest[7:15]
    assert kstore("show", "--canonical", digest[7:15], cwd=registry).ok().out


def test_a_name_of_hexadecimal_digits_only(registry: Path, tmp_path: Path) -> None:
    document = environment()
    document["metadata"]["name"] = "deadbeef"
    kstore("add", save(tmp_path, document), cwd=registry).ok()
    assert shown(registry, "deadbeef") == "deadbeef"


def test_a_record_is_read_by_whatever_names_it(registry: Path) -> None:
    with Registry.open(registry) as opened:
        for ref in (RUN, RUN[7:], RUN[:20], RUN_NAME):
            assert record_of(opened, ref).digest == RUN
        for ref in ("sha256:" + "0" * 64, "0" * 64, "0000", "no-such-record"):
            with pytest.raises(NotFoundError):
                record_of(opened, ref)


def test_many_are_found_together_as_each_alone(registry: Path) -> None:
    refs = [RUN_NAME, PROTOCOL, ENVIRONMENT[7:12], RUN_NAME, RUN]
    found = [RUN, PROTOCOL, ENVIRONMENT, RUN, RUN]
    with Registry.open(registry) as opened:
        assert lookup_all(opened, refs) == found
        assert [record.digest for record in records_of(opened, refs)] == found
        assert lookup_all(opened, []) == []
        for wrong in ("no-such-record", "sha256:" + "0" * 64):
            with pytest.raises(NotFoundError, match=wrong):
                lookup_all(opened, [*refs, wrong])


def test_a_name_of_many_that_two_records_have_is_refused(registry: Path, tmp_path: Path) -> None:
    document = environment()
    document["metadata"]["name"] = RUN_NAME
    kstore("add", save(tmp_path, document), cwd=registry).ok()
    with Registry.open(registry) as opened, pytest.raises(KstoreError, match="names 2 records"):
        records_of(opened, [PROTOCOL, RUN_NAME])
