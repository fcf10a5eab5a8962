"""Diffs of records are readable, and never hide a difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.hooked import edit, indented, install, stage_all
from tests.registries import RUN, git, kstore, object_path, process

if TYPE_CHECKING:
    from pathlib import Path


def test_git_shows_yaml(registry: Path) -> None:
    install(registry)
    assert "\n+      median: 275712\n" in git(registry, "log", "-p", "--", "store/objects")
    edit(registry, RUN, lambda data: data.replace(b"Total", b"Whole"), "metadata")
    changed = [
        line for line in git(registry, "diff").splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")
    ]
    assert [line.replace("Whole", "Total")[1:] for line in changed] == [changed[0][1:]] * 2
    assert changed[0].startswith("-title: Total variation distance loss")


def test_what_is_damaged_is_shown_as_it_is(registry: Path) -> None:
    install(registry)
    edit(registry, RUN, indented)
    shown = git(registry, "diff")
    assert '+      "latencyNs": {' in shown
    assert "-  timing:" in shown
    stage_all(registry)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00\xff\r\n",
        b"[1]",
        b'{"a":1,"a":1}',
        b'{"a": 1}',
        b'{"a":1}\n',
        b'{"a":null}',
        b'{"a":"\\ud800"}',
        b"[" * 100_000,
        b" " * 3_000_000,
    ],
    ids=["empty", "binary", "array", "twice", "space", "newline", "null", "surrogate", "deep", "huge"],
)
def test_what_is_no_canonical_object_comes_out_as_it_is(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert process("textconv", path).ok().out == data


def test_what_could_take_the_terminal_over_is_escaped(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes('{"a":"\u202e\x9b31m"}'.encode())
    assert kstore("textconv", path).ok().out == b'a: "\\u202e\\x9B31m"\n'


def test_two_objects_never_look_the_same(registry: Path) -> None:
    shown = set()
    body = object_path(registry, RUN).read_bytes()
    others = [body, body.replace(b"275712", b'"275712"'), body.replace(b"275712", b"275712.5"), indented(body)]
    for number, data in enumerate(others):
        path = registry.parent / str(number)
        path.write_bytes(data)
        shown.add(kstore("textconv", path).ok().out)
    assert len(shown) == len(others)
