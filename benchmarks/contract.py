"""What kstore promises of its speed and size: each promise with its limit, in the order in which it is shown."""

from __future__ import annotations

from typing import NamedTuple

SECTIONS = {
    "import": "Import",
    "verify": "Verify",
    "checkpoint": "Checkpoint",
    "signatures": "Signatures",
    "add": "Add",
    "resolve": "Resolve",
    "memory": "Memory",
    "size": "Size",
    "start-up": "Start-up",
    "canonical-form": "Canonical form",
}
"""The sections of the report: key and title."""


class Promise(NamedTuple):
    """A limit that a measurement must keep.

    Attributes:
        key: The measurement's.
        section: Where it is shown.
        work: What kstore does.
        against: What it is compared with, or empty where the limit is absolute.
        limit: The greatest ratio of kstore's to the other's, the most bytes, or the most seconds of kstore's.
        unit: `times`, `bytes` or `s`.
    """

    key: str
    section: str
    work: str
    against: str
    limit: float
    unit: str = "times"


_FLOOR = '`python -c "import typer, msgspec"`'

PROMISES = (
    Promise("import-bare", "import", "import the catalogue, bare", "`git fast-import` of the same files", 1.0),
    Promise(
        "import-tree",
        "import",
        "import the catalogue, working tree",
        "writing the same files, `git add -A`, `git commit`",
        1.0,
    ),
    Promise("verify-tree", "verify", "verify, working tree", "`git fsck --full` of the same clone", 1.5),
    Promise(
        "audit",
        "verify",
        "audit 10,000 commits over 20,000 records",
        "`git log --raw --no-renames -- store` and `git fsck --full`",
        3.0,
    ),
    Promise("audit", "verify", "audit 10,000 commits over 20,000 records", "", 30, "s"),
    Promise(
        "checkpoint-root",
        "checkpoint",
        "the root over 200,000 records",
        "a bare loop that feeds the same files to one BLAKE3",
        1.7,
    ),
    Promise(
        "signatures",
        "signatures",
        "check 20,000 signed statements",
        "a bare loop of `Ed25519PublicKey.verify` over the same messages",
        1 / 0.7,
    ),
    Promise(
        "add-tree",
        "add",
        "add one run, working tree",
        "`git add` and `git commit` of the same two files in a clone",
        2.5,
    ),
    Promise("add-bare-1000000-1", "add", "add one run, bare, 1,000,000 records", "the same at 20,000", 1.5),
    Promise("add-bare-1000000-2", "add", "add one run, bare, 1,000,000 records, fan-out 2", "the same at 20,000", 1.5),
    Promise("resolve-20000", "resolve", "resolve by digest, 20,000 records", _FLOOR, 1.6),
    Promise("resolve-1000000", "resolve", "resolve by digest, 1,000,000 records", _FLOOR, 1.6),
    Promise("memory-import-1000000", "memory", "import 1,000,000 records in one commit", "", 1.5e9, "bytes"),
    Promise("memory-verify-1000000", "memory", "verify 1,000,000 records", "", 500e6, "bytes"),
    Promise("packed", "size", "the imported catalogue after `git gc`", "`git fast-import` and `git gc`", 1.2),
    Promise("version", "start-up", "`kstore --version`", _FLOOR, 1.5),
    Promise("digest", "start-up", "`kstore digest FILE`", _FLOOR, 1.5),
    Promise("canonical", "canonical-form", "canonical bytes of every record", "the rfc8785 package", 0.2),
)
