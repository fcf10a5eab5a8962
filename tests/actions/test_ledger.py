"""The ledger says what was entered, and what was expected and never came."""

from __future__ import annotations

import pytest

from kstore.actions.ledger import Ledger


def test_what_was_expected_and_what_was_entered() -> None:
    ledger = Ledger()
    ledger.expect(b"a")
    ledger.expect(b"b")
    assert ledger.get(b"a") is None
    assert ledger.enter(b"a", b"\1said") is True
    assert ledger.enter(b"c", b"\2said") is False
    ledger.expect(b"c")
    assert [ledger.get(digest) for digest in (b"a", b"b", b"c", b"d")] == [b"\1said", None, b"\2said", None]
    assert dict(ledger.entered()) == {b"a": b"\1said", b"c": b"\2said"}
    assert list(ledger.only_expected()) == [b"b"]
    assert {digest: said for digest, said in ledger.entries().items() if said} == dict(ledger.entered())


def test_what_was_dropped_is_as_if_it_had_never_come() -> None:
    ledger = Ledger()
    ledger.enter(b"a", b"\1")
    ledger.drop(b"a")
    assert ledger.get(b"a") is None
    assert not list(ledger.entered())
    assert not list(ledger.only_expected())
    with pytest.raises(KeyError):
        ledger.drop(b"a")
