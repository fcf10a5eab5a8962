"""The arrows between the rooms point one way, and each dependency stays in its room."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.registries import RUN, environment, save

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).parents[1]

FLOORS = (
    {"digest", "errors"},
    {"canonical"},
    {"schema"},
    {"reading"},
    {"layout"},
    {"git"},
    {"registry"},
    {"query", "attest"},
    {"actions"},
    {"cli"},
    {"", "__main__"},
)
"""The rooms from the lowest up; a module may import from its own room and from floors below.

The package itself, "", is at the top, because it offers what the others have; its version anybody may read.
"""

FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
ROOM_OF = {
    "dulwich": "git",
    "typer": "cli",
    "blake3": "attest",
    "cryptography": "attest",
    "paramiko": "attest",
    "securesystemslib": "attest",
}
PURE = {"canonical", "digest", "layout", "schema"}
IMPURE = {"io", "os", "pathlib", "shutil", "socket", "subprocess", "sys", "tempfile", "time"}


def modules(top: Path) -> Iterator[tuple[str, str, str]]:
    """Give the name and the source of every module of a package, and the package that it lies in."""
    for path in sorted(top.rglob("*.py")):
        steps = path.relative_to(top.parent).with_suffix("").parts
        package = ".".join(steps[:-1])
        name = package if steps[-1] == "__init__" else ".".join(steps)
        yield name, path.read_text(encoding="utf-8"), package


def imported(source: str, package: str) -> Iterator[str]:
    """Give the full name of everything that a module imports, late imports and those for types included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def room(module: str) -> str:
    """Name the room that a module of kstore lies in: the folder, or the file directly below the package."""
    steps = module.split(".")
    return steps[1] if len(steps) > 1 else ""


def faults(top: Path) -> Iterator[str]:
    """Say which imports break the rules."""
    for name, source, package in modules(top):
        here = room(name)
        if here not in FLOOR:
            yield f"{name}: no floor is written down for {here!r}"
            continue
        for target in imported(source, package):
            outermost = target.split(".")[0]
            if target == f"{top.name}.__version__":
                continue
            if outermost == top.name:
                there = room(target) if room(target) in FLOOR else ""
                if there != here and FLOOR[there] >= FLOOR[here]:
                    yield f"{name} imports {target}, which is not below it"
            elif ROOM_OF.get(outermost, here) != here:
                yield f"{name} imports {outermost}, whose room is {ROOM_OF[outermost]}"
            elif here in PURE and outermost in IMPURE:
                yield f"{name} imports {outermost}, but is to be pure"


def test_every_arrow_points_downwards() -> None:
    assert list(faults(ROOT / "kstore")) == []


@pytest.mark.parametrize(
    ("file", "source", "said"),
    [
        ("layout.py", "from kstore.git.files import Files", "kstore.layout imports kstore.git.files.Files"),
        ("layout.py", "def f():\n    import kstore.cli.app", "kstore.layout imports kstore.cli.app"),
        ("git/tree.py", "from ..registry import Registry", "kstore.git.tree imports kstore.registry.Registry"),
        ("git/__init__.py", "from kstore import actions", "kstore.git imports kstore.actions"),
        ("query/find.py", "import kstore.attest", "kstore.query.find imports kstore.attest"),
        ("git/x.py", "from kstore import Registry", "kstore.git.x imports kstore.Registry"),
        ("digest.py", "from kstore.errors import Fault", "kstore.digest imports kstore.errors.Fault"),
        ("actions/add.py", "import typer", "kstore.actions.add imports typer, whose room is cli"),
        ("registry/x.py", "from dulwich.repo import Repo", "kstore.registry.x imports dulwich, whose room is git"),
        ("cli/x.py", "import cryptography.x509", "kstore.cli.x imports cryptography, whose room is attest"),
        (
            "cli/x.py",
            "from securesystemslib.signer import Signer",
            "kstore.cli.x imports securesystemslib, whose room is attest",
        ),
        ("actions/x.py", "import paramiko", "kstore.actions.x imports paramiko, whose room is attest"),
        ("git/x.py", "import blake3", "kstore.git.x imports blake3, whose room is attest"),
        ("schema/x.py", "import os.path", "kstore.schema.x imports os, but is to be pure"),
        ("utils.py", "", "kstore.utils: no floor is written down"),
        ("cli/x.py", "if TYPE_CHECKING:\n    from kstore.__main__ import main", "kstore.cli.x imports kstore.__main__"),
    ],
)
def test_the_checker_sees_a_wrong_arrow(file: str, source: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "kstore" / file
    path.parent.mkdir(parents=True)
    path.write_text(source)
    (found,) = faults(tmp_path / "kstore")
    assert found.startswith(said)


def test_the_checker_lets_right_arrows_pass(tmp_path: Path) -> None:
    path = tmp_path / "kstore" / "git" / "tree.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "import dulwich\nfrom . import files\nfrom ..layout import MAX_FILE\nfrom kstore import errors, __version__\n"
    )
    assert list(faults(tmp_path / "kstore")) == []


NEVER = {"blake3", "can_ada", "cryptography", "dulwich", "paramiko", "rich", "securesystemslib", "yaml"}


@pytest.mark.parametrize(
    ("arguments", "unwanted"),
    [
        (["--version"], NEVER),
        (["--help"], NEVER),
        (["digest", "document.json"], NEVER),
        (["validate", "document.json"], NEVER),
        (["list"], NEVER - {"can_ada"}),
        (["resolve", RUN], NEVER - {"can_ada"}),
        (["show", RUN], NEVER - {"can_ada"}),
        (["verify"], NEVER - {"can_ada"}),
        (["verify", "--staged"], NEVER),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_uses(
    arguments: Sequence[str], unwanted: set[str], registry: Path, tmp_path: Path
) -> None:
    save(registry, environment())
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "kstore", *arguments],
        cwd=registry,
        capture_output=True,
        check=True,
        text=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip().partition(".")[0] for line in lines}
    assert "typer" in loaded
    assert loaded & unwanted == set(), json.dumps(sorted(loaded & unwanted))


def test_no_module_is_too_long_and_each_says_what_it_is_for() -> None:
    for name, source, _ in modules(ROOT / "kstore"):
        assert ast.get_docstring(ast.parse(source)), f"{name} has no docstring"
        assert source.count("\n") <= 350, f"{name} is longer than 350 lines"
