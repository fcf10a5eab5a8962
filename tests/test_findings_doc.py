"""The document on findings has every code that there is, and no other."""

from __future__ import annotations

import re

from tests.markdown import REPO

TABLES = re.findall(
    r"^\| `([a-z-]+)` \| ((?:error|warning)[^|]*) \| [^|]+ \| [^|]+ \|$",
    (REPO / "docs" / "findings.md").read_text(),
    re.MULTILINE,
)
SOURCES = [path for part in ("actions", "attest") for path in (REPO / "kstore" / part).rglob("*.py")]
WORDS = {word for path in SOURCES for word in re.findall(r'"([a-z]+(?:-[a-z]+)+|unreadable)"', path.read_text())}
NO_CODES = {
    # What happened to a record or a statement in `kstore add` and `kstore log`.
    *(f"metadata-{what}" for what in ("updated", "added", "changed", "removed")),
    *(f"statement-{what}" for what in ("added", "changed", "removed")),
    # What a replication came to.
    "not-reproduced",
    # Git's hooks.
    *("pre-commit", "pre-merge-commit", "pre-receive"),
}


def test_it_has_every_code() -> None:
    codes = [code for code, _ in TABLES]
    assert len(codes) == len(set(codes)) > 25
    assert set(codes) == WORDS - NO_CODES


def test_every_line_of_its_tables_was_read() -> None:
    lines = (REPO / "docs" / "findings.md").read_text().splitlines()
    assert len(TABLES) == sum(line.startswith("| `") for line in lines)
