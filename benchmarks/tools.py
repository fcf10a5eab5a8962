"""Other programs that keep files and check them: how each takes a folder in, and how it checks what it has.

None has to be there; what is missing is left out. On Debian: `apt-get install ostree restic borgbackup bup`, and dvc
with pip in an environment of its own, whose bin folder is put at the end of PATH.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

Commands: TypeAlias = "Sequence[Sequence[str | Path]]"


class Tool(NamedTuple):
    """How a program is used; its commands run in the folder that it keeps its things in.

    Attributes:
        keeping: What it does to take a folder in, in words.
        checking: What it does to check everything that it has, in words; empty when it has no such check.
        prepare: Makes an empty repository.
        keep: Takes the folder in.
        check: Checks everything, the bytes of the files too.
    """

    keeping: str
    checking: str
    prepare: Commands
    keep: Commands
    check: Commands


def tools(files: Path, archive: Path, repositories: Path) -> Mapping[str, Tool]:
    """Give the programs, whether they are there or not.

    Args:
        files: A folder that has the files.
        archive: The same files as a tar archive.
        repositories: Each program's repository is the folder of its name in it.
    """
    bup, borg = ("bup", "-d", repositories / "bup" / "r"), repositories / "borg" / "r"
    return {
        "ostree": Tool(
            "`ostree commit`, archive",
            "`ostree fsck`",
            [["ostree", "init", "--repo=r", "--mode=archive"]],
            [["ostree", "commit", "--repo=r", "--branch=main", f"--tree=dir={files}"]],
            [["ostree", "fsck", "--repo=r"]],
        ),
        "restic": Tool(
            "`restic backup`, encrypted",
            "`restic check --read-data`",
            [["restic", "-r", "r", "init"]],
            [["restic", "-r", "r", "backup", files]],
            [["restic", "-r", "r", "check", "--read-data"]],
        ),
        "borg": Tool(
            "`borg create`, not encrypted",
            "`borg check --verify-data`",
            [["borg", "init", "--encryption=none", borg]],
            [["borg", "create", f"{borg}::one", files]],
            [["borg", "check", "--verify-data", borg]],
        ),
        "bup": Tool(
            "`bup index` and `bup save`",
            "`bup fsck`",
            [[*bup, "init"]],
            [[*bup, "index", files], [*bup, "save", "-n", "main", files]],
            [[*bup, "fsck"]],
        ),
        "dvc": Tool(
            "`dvc add`",
            "",
            [["dvc", "init", "--no-scm"], ["tar", "-xf", archive]],
            [["dvc", "add", "store"]],
            [],
        ),
    }


def missing(name: str) -> str:
    """Say why a program cannot be measured, or nothing when it is there."""
    return "" if shutil.which(name) else f"{name} is not installed"
