"""Run kstore and git on temporary registries, and look at what is left afterwards."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kstore.__main__ import main

if TYPE_CHECKING:
    from collections.abc import Mapping

REFERENCE = Path(__file__).parent / "data" / "reference"
CLOSURE = REFERENCE / "closure.json"
TVD = REFERENCE / "liger-tvd.json"
RMS_NORM = REFERENCE / "pytorch-megatron-rms-norm.json"
ALL = (CLOSURE, TVD, RMS_NORM)
SHARED = Path(__file__).parents[2] / "shared"

RUN = "sha256:e8a0f82e8e2dcba804ea830e44d6a7deceba406114a858520811e5310309984e"
RUN_NAME = "liger-tvd-forward-liger-nvidia-h100-80gb-hbm3-tokens16384-vocab4096-fp32-2026-03-03-23-02-50"
PROTOCOL = "sha256:a79eaf4df66c97c6adc1fb2d09df78682155d1ea86652ae0b70199875bde7747"
ENVIRONMENT = "sha256:2750ae381d6de582f1eb6b9008e0987463d19ede8af127d97d76c5ae09121393"


class Ran(NamedTuple):
    """What a program came to."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()

    def json(self) -> Any:
        """Give the one JSON document on stdout."""
        return json.loads(self.out)

    def ok(self) -> Ran:
        """Insist on success."""
        assert self.code == 0, self.err
        return self


def kstore(*args: str | Path, cwd: Path | None = None, stdin: bytes = b"") -> Ran:
    """Run the program within this process, which saves its start-up time."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
    code: object = None
    with contextlib.chdir(cwd or Path.cwd()), pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["kstore", *map(str, args)])
        for name, stream in (("stdin", given), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    out.flush()
    err.flush()
    assert isinstance(code, int)
    assert isinstance(out.buffer, io.BytesIO)
    assert isinstance(err.buffer, io.BytesIO)
    return Ran(code, out.buffer.getvalue(), err.buffer.getvalue().decode())


def process(
    *args: str | Path,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    before: tuple[str, ...] = (),
) -> Ran:
    """Run the program in a process of its own.

    Args:
        args: Its arguments.
        cwd: Its current folder.
        stdin: What it reads.
        env: Variables on top of those of this process.
        before: A program that starts it, with arguments.
    """
    done = subprocess.run(
        [*before, sys.executable, "-m", "kstore", *args],
        cwd=cwd,
        input=stdin,
        env={**os.environ, **(env or {})},
        capture_output=True,
        check=False,
        timeout=60,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def git(repository: Path, *args: str, stdin: bytes = b"", check: bool = True) -> str:
    """Run git in a repository and give what it prints."""
    done = subprocess.run(["git", "-C", repository, *args], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0 or not check, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def snapshot(*tops: Path) -> dict[str, tuple[int, bytes]]:
    """Give every file, folder and link below some folders: its mode, and its bytes or where it leads."""
    found = {}
    for path in (path for top in tops for path in (top, *top.rglob("*"))):
        mode = path.lstat().st_mode
        data = b""
        if stat.S_ISLNK(mode):
            data = os.fsencode(path.readlink())
        elif stat.S_ISREG(mode):
            data = path.read_bytes()
        found[str(path)] = (mode, data)
    return found


def commits(repository: Path) -> int:
    """Count the commits that HEAD has."""
    return int(git(repository, "rev-list", "--count", "HEAD"))


def message(repository: Path, revision: str = "HEAD") -> str:
    """Give a commit's message."""
    return git(repository, "log", "-1", "--format=%B", revision)


def assert_healthy(registry: Path) -> None:
    """Insist that kstore and git find nothing wrong, and that no file is staged, modified or unknown."""
    kstore("--registry", registry, "verify").ok()
    assert "error" not in git(registry, "fsck", "--full", "--strict")
    if (registry / ".git").exists():
        assert git(registry, "status", "--porcelain") == ""


def left_over(registry: Path) -> list[Path]:
    """Give the files and folders that should be there only while somebody writes."""
    own = {"incoming", "index", "index-before", "index-lock", "ref", "unfinished", "unfinished.new"}
    return [
        path
        for path in registry.rglob("*")
        if (path.name in own and path.parent.name == "kstore") or path.match("tmp_*") or path.suffix == ".lock"
    ]


def published() -> dict[str, tuple[str, str]]:
    """Give the publisher's digests of the reference documents, with kind and name."""
    with (REFERENCE / "digests.tsv").open(newline="") as file:
        return {row["digest"]: (row["kind"], row["name"]) for row in csv.DictReader(file, delimiter="\t")}


def load(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_bytes())


def save(folder: Path, value: Any, name: str = "document.json") -> Path:
    """Write a JSON file."""
    path = folder / name
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def environment(**spec: Any) -> dict[str, Any]:
    """Make a small document that refers to nothing."""
    hardware = {"vendor": "nvidia", "product": "H100", "architecture": "sm_90"}
    return {
        "apiVersion": "kernelindex.dev/v1alpha1",
        "kind": "ExecutionEnvironment",
        "metadata": {"name": "some-machine"},
        "spec": {"hardware": hardware, "software": {}, **spec},
    }


def environments(count: int) -> list[dict[str, Any]]:
    """Make several different documents."""
    made = [environment(settings={"environmentVariables": {"NUMBER": str(number)}}) for number in range(count)]
    for number, document in enumerate(made):
        document["metadata"]["name"] = f"machine-{number}"
    return made


def object_path(registry: Path, digest: str, part: str = "objects") -> Path:
    """Give where a record's file lies in a registry of fan-out 1."""
    name = digest.removeprefix("sha256:")
    return registry / "store" / part / name[:2] / f"{name}.json"
