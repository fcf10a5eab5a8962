"""A damaged index is named, and one that is sound, absent or without a checksum is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.registries import git, kstore

if TYPE_CHECKING:
    from pathlib import Path


def codes(registry: Path, *arguments: str) -> list[tuple[str, str]]:
    findings = kstore("verify", "--json", *arguments, cwd=registry).json()["findings"]
    return [(finding["code"], finding["path"]) for finding in findings]


@pytest.mark.parametrize("data", [b"", b"DIRC", b"nothing of the kind" * 9])
def test_what_is_no_index(data: bytes, registry: Path) -> None:
    (registry / ".git" / "index").write_bytes(data)
    assert codes(registry) == [("damaged-index", ".git/index")]
    assert codes(registry, "--rev", "HEAD") == []


def test_one_flipped_bit_and_what_makes_it_good_again(registry: Path) -> None:
    path = registry / ".git" / "index"
    data = path.read_bytes()
    path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    assert codes(registry) == [("damaged-index", ".git/index")]
    path.unlink()
    assert codes(registry) == []
    git(registry, "reset", "-q")
    assert codes(registry) == []
    assert git(registry, "status", "--porcelain") == ""


def test_a_checksum_may_be_left_out(registry: Path) -> None:
    path = registry / ".git" / "index"
    path.write_bytes(path.read_bytes()[:-20] + bytes(20))
    assert codes(registry) == []


def test_an_index_of_more_than_one_block(registry: Path) -> None:
    for number in range(9):
        (registry / f"{number}{'x' * 200}").write_bytes(b"")
    git(registry, "add", "--all", ".")
    git(registry, "update-index", "--index-version", "2")
    listed = git(registry, "ls-files", "--stage").splitlines()
    blob = listed[-1].split()[1]
    many = "".join(f"100644 {blob}\tfolder/{number:04}{'y' * 200}\n" for number in range(5000))
    git(registry, "update-index", "--index-info", stdin=many.encode())
    assert (registry / ".git" / "index").stat().st_size > 1 << 20
    assert codes(registry) == []
