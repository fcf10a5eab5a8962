"""Nothing that was read from a registry takes a terminal over; exact bytes stay exact."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.cli.output import escape
from tests.registries import environment, kstore, save

if TYPE_CHECKING:
    from pathlib import Path

TITLES = {
    "colours": "\x1b[31mred\x1b[0m \x1b]0;title\x07",
    "an overwritten line": "good\rbad \x08\x08\x7f",
    "line ends": "one\ntwo\u2028three\u2029four\x0bfive\x85six",
    "C1": "\x9b31m\x90\x9f\x80",
    "bidi": "a\u202eb\u2066c\u2069d\u200fe\u061cf",
    "a tab": "a\tb",
}
HOSTILE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(params=TITLES)
def titled(request: pytest.FixtureRequest, empty: Path, tmp_path: Path) -> tuple[Path, str, str]:
    """A registry with one record of a hostile title and contents, its title and its digest."""
    title = TITLES[request.param]
    document = environment(settings={"environmentVariables": {title: title}})
    document["metadata"] |= {"title": title, "labels": {"label": title}}
    added = kstore("add", save(empty, document), "--json", cwd=empty).ok()
    assert not HOSTILE.search(added.text + added.err)
    return empty, title, added.json()["records"][0]["digest"]


@pytest.mark.parametrize(
    "command",
    [["list"], ["list", "--json"], ["list", "--jsonl"], ["show"], ["show", "--yaml"], ["resolve"]],
    ids=" ".join,
)
def test_no_control_reaches_the_terminal(command: list[str], titled: tuple[Path, str, str]) -> None:
    registry, title, digest = titled
    ran = kstore(*command, *[digest] * (command[0] != "list"), cwd=registry).ok()
    assert not HOSTILE.search(ran.text)
    if command[-1] in {"list", "--jsonl"}:
        assert ran.text.count("\n") == 1
    if command == ["show"]:
        assert ran.json()["metadata"]["title"] == title
    if command == ["list", "--json"]:
        assert ran.json()[0]["title"] == title


def test_what_show_and_resolve_print_is_still_the_same_record(titled: tuple[Path, str, str]) -> None:
    registry, _, digest = titled
    for command in (["show"], ["show", "--yaml"], ["resolve"]):
        printed = kstore(*command, digest, cwd=registry).ok().out
        again = kstore("add", "-", "--json", cwd=registry, stdin=printed).ok().json()
        assert [(record["digest"], record["status"]) for record in again["records"]] == [(digest, "present")]


def test_canonical_gives_exact_bytes(titled: tuple[Path, str, str]) -> None:
    registry, _, digest = titled
    name = digest.removeprefix("sha256:")
    stored = (registry / "store" / "objects" / name[:2] / f"{name}.json").read_bytes()
    assert kstore("show", "--canonical", digest, cwd=registry).ok().out == stored


def test_what_verify_says_is_safe_too(empty: Path) -> None:
    for title in TITLES.values():
        (empty / "store" / f"x{title.replace('/', '')}").write_bytes(b"")
    (empty / "store" / "café\udce9").write_bytes(b"")
    for arguments in ([], ["--json"]):
        ran = kstore("verify", *arguments, cwd=empty)
        assert ran.code == 1
        assert not HOSTILE.search(ran.text)
        if not arguments:
            assert ran.text.count("\n") == len(TITLES) + 1


def test_what_is_wrong_with_a_document_is_said_safely(tmp_path: Path) -> None:
    document = environment(**{"\x1b[31m\u202e": "\x1b[31m\u202e"})
    document["spec"]["hardware"]["vendor"] = "\x1b[31m\n\u202e"
    for command in ("digest", "validate"):
        ran = kstore(command, save(tmp_path, document, "x\x1b[31m.json"))
        assert ran.code == 1
        assert not HOSTILE.search(ran.text + ran.err)
        assert json.dumps("\x1b")[1:-1] in ran.err


@given(st.text(st.characters(exclude_categories=())))
def test_escaped_text_is_one_safe_line(text: str) -> None:
    escaped = escape(text)
    assert not HOSTILE.search(escaped)
    assert "\n" not in escaped
    assert "\t" not in escaped
    escaped.encode()
    if not HOSTILE.search(text) and not re.search("[\n\t\ud800-\udfff]", text):
        assert escaped == text
