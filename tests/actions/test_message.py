"""Messages of commits say what came, of which kinds, and name up to a hundred records."""

from __future__ import annotations

from collections import Counter

import pytest

from kstore.actions.message import TRAILERS, commit_message, import_message
from kstore.digest import Digest
from kstore.errors import UsageError
from kstore.schema import Record, check
from tests.registries import environments

DIGESTS = [Digest.of(b"%d" % number) for number in range(TRAILERS + 1)]


def records(count: int) -> list[Record]:
    return [check(document) for document in environments(count)]


def trailers(digests: list[Digest]) -> str:
    return "".join(f"Kstore-Record: {digest}\n" for digest in digests)


def test_one_import_of_new_records_and_new_metadata() -> None:
    new, updated = Counter({"WorkloadCase": 2, "BenchmarkRun": 1}), Counter({"BenchmarkRun": 4})
    assert import_message(new, updated, DIGESTS[:7]) == (
        "Add 3 records and update the metadata of 4\n\n"
        "1 BenchmarkRun added\n2 WorkloadCase added\n4 BenchmarkRun with new metadata\n\n" + trailers(DIGESTS[:7])
    )
    assert import_message(Counter(), updated, DIGESTS[:4]).startswith("Update the metadata of 4\n\n")
    assert import_message(Counter({"BenchmarkRun": 1}), Counter(), DIGESTS[:1]) == (
        "Add 1 record\n\n1 BenchmarkRun added\n\n" + trailers(DIGESTS[:1])
    )


def test_more_than_a_hundred_records_are_not_all_named() -> None:
    assert "Too many" not in import_message(Counter(a=99), Counter(b=1), DIGESTS[:TRAILERS])
    text = import_message(Counter(a=100), Counter(b=1), DIGESTS[:TRAILERS])
    assert "Too many records to name here: 101 in all, of which the first 100 follow.\n\n" in text
    assert text.endswith("\n\n" + trailers(DIGESTS[:TRAILERS]))


def test_what_a_person_says_takes_the_place_of_subject_and_body() -> None:
    assert import_message(Counter(a=1), Counter(), DIGESTS[:1], " Why\n\nBecause. \n") == (
        "Why\n\nBecause.\n\n" + trailers(DIGESTS[:1])
    )
    assert import_message(Counter(a=1), Counter(), DIGESTS[:1], " \n") == import_message(
        Counter(a=1), Counter(), DIGESTS[:1]
    )
    with pytest.raises(UsageError, match="expected UTF-8 text"):
        import_message(Counter(a=1), Counter(), DIGESTS[:1], "\udcff")


def test_few_records_are_named_in_the_subject() -> None:
    one, two = records(2)
    assert commit_message([one], []) == f"Add ExecutionEnvironment machine-0\n\n{trailers([one.digest])}"
    assert commit_message([], [two]).startswith("Update the metadata of ExecutionEnvironment machine-1\n\n")
    assert commit_message([one], [two]) == (
        "Add 1 record and update the metadata of 1\n\n"
        "1 ExecutionEnvironment added\n1 ExecutionEnvironment with new metadata\n\n"
        + trailers([one.digest, two.digest])
    )
    many = records(TRAILERS + 1)
    assert commit_message(many, []).count("Kstore-Record: ") == TRAILERS
