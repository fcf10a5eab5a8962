"""A byte that is flipped, or a file that is cut, anywhere: something names it, and nothing fails otherwise.

`KSTORE_DAMAGES=N` tries N places of each kind of file instead of a few.
"""

from __future__ import annotations

import os
import random
from typing import TYPE_CHECKING

import pytest

from tests.registries import RUN, git, kstore, object_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PLACES = int(os.environ.get("KSTORE_DAMAGES", "8"))


def loose(registry: Path, revision: str) -> Path:
    oid = git(registry, "rev-parse", revision)
    return registry / ".git" / "objects" / oid[:2] / oid[2:]


def packed(registry: Path, suffix: str) -> Path:
    git(registry, "repack", "-adq")
    (path,) = (registry / ".git" / "objects" / "pack").glob(f"*.{suffix}")
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "record": lambda registry: object_path(registry, RUN),
    "metadata": lambda registry: object_path(registry, RUN, "metadata"),
    "blob": lambda registry: loose(registry, f"HEAD:store/objects/e8/{RUN[7:]}.json"),
    "metadata blob": lambda registry: loose(registry, f"HEAD:store/metadata/e8/{RUN[7:]}.json"),
    "tree": lambda registry: loose(registry, "HEAD:store/objects"),
    "root tree": lambda registry: loose(registry, "HEAD^{tree}"),
    "commit": lambda registry: loose(registry, "HEAD"),
    "first commit": lambda registry: loose(registry, "HEAD~"),
    "pack": lambda registry: packed(registry, "pack"),
    "pack's table": lambda registry: packed(registry, "idx"),
    "index": lambda registry: registry / ".git" / "index",
    "branch": lambda registry: registry / ".git" / "refs" / "heads" / "main",
    "HEAD": lambda registry: registry / ".git" / "HEAD",
    "settings": lambda registry: registry / "store" / "kstore.json",
}
LINE_ENDS = {"branch", "HEAD"}
"""Files that end with a line end, which git does not need."""


def damaged(data: bytes, source: random.Random, *, line_end: bool) -> Iterator[tuple[str, bytes]]:
    """Flip a bit at places spread over some bytes, their first and last among them, and cut them at others."""
    end = len(data) - line_end
    for place in range(PLACES):
        at = place * (end - 1) // max(1, PLACES - 1)
        yield f"flipped at {at}", data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]
        at = source.randrange(end)
        yield f"cut at {at}", data[:at]


@pytest.mark.parametrize("what", FILES)
def test_damage_is_named(what: str, registry: Path) -> None:
    path = FILES[what](registry)
    data = path.read_bytes()
    path.chmod(0o644)
    for how, bad in damaged(data, random.Random(what), line_end=what in LINE_ENDS):
        path.write_bytes(bad)
        ran = [
            kstore("--registry", registry, *command) for command in (["verify"], ["audit"], ["verify", "--rev=HEAD"])
        ]
        assert {each.code for each in ran} <= {0, 1, 3, 10}, how
        # Metadata that are still metadata may be an edit, of which there is a warning.
        assert all((each.code in {1, 10}) == ("error: " in each.text + each.err) for each in ran), how
        assert all((each.code == 3) <= ("uncommitted-change: " in each.text) for each in ran), how
        assert any(each.code for each in ran), how
        assert path.name in ran[0].text or what not in {"record", "metadata"}, how
        for command in (["list"], ["show", RUN], ["log"]):
            assert kstore("--registry", registry, *command).code in {0, 1, 10}, (how, command)
    path.write_bytes(data)
    kstore("--registry", registry, "verify").ok()
    kstore("--registry", registry, "audit").ok()
