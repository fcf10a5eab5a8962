from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from kstore.attest.pin import Pin
from kstore.digest import Digest
from kstore.errors import KstoreError

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = Digest.of(b"one"), Digest.of(b"two")


def test_nothing_is_pinned_at_first(tmp_path: Path) -> None:
    assert Pin(tmp_path / "kstore").recall() is None
    assert list(tmp_path.iterdir()) == []


def test_what_was_pinned_last_is_remembered(tmp_path: Path) -> None:
    pin = Pin(tmp_path / "kstore")
    pin.keep(ONE)
    pin.keep(TWO)
    assert Pin(tmp_path / "kstore").recall() == TWO
    assert [path.name for path in (tmp_path / "kstore").iterdir()] == ["trust"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"\xff",
        b'{"format":2,"policy":{"sha256":"%s"}}' % (b"0" * 64),
        b'{"format":1,"policy":{"sha256":"%s"}}' % (b"0" * 63),
        b'{"format":1,"policy":{"sha256":"%s"},"more":1}' % (b"0" * 64),
    ],
)
def test_what_cannot_be_read_is_not_taken_for_nothing(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "trust").write_bytes(data)
    with pytest.raises(KstoreError, match="kstore trust pin"):
        Pin(tmp_path).recall()
    Pin(tmp_path).keep(ONE)
    assert Pin(tmp_path).recall() == ONE


def test_a_folder_in_its_place_is_no_pin(tmp_path: Path) -> None:
    (tmp_path / "trust").mkdir()
    with pytest.raises(KstoreError, match="cannot be read"):
        Pin(tmp_path).recall()
    with pytest.raises(KstoreError, match="cannot be pinned"):
        Pin(tmp_path).keep(ONE)
    assert [path.name for path in tmp_path.iterdir()] == ["trust"]


def test_whoever_reads_while_it_changes_sees_one_or_the_other(tmp_path: Path) -> None:
    pin, done, seen = Pin(tmp_path), threading.Event(), set()
    pin.keep(ONE)

    def change() -> None:
        for _ in range(50):
            pin.keep(TWO)
            pin.keep(ONE)
        done.set()

    writer = threading.Thread(target=change)
    writer.start()
    while not done.is_set():
        seen.add(pin.recall())
    writer.join()
    assert seen <= {ONE, TWO}
