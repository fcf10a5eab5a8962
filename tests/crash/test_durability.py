"""Everything that a commit needs is on disk before its branch moves, as the kernel saw it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.registries import environments, kstore, save

STRACE = shutil.which("strace")
_CALL = re.compile(r"\d+ +(?P<name>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+)(?P<path><[^>]*>)?")
_QUOTED = re.compile(r'"([^"]*)"')
_OPEN = re.compile(r"\d+<([^>]*)>")


def traced(log: Path, *command: str | Path) -> list[tuple[str, list[str]]]:
    """Run kstore and give what it did: `sync`, `move` and `remove`, with paths."""
    calls = "trace=fsync,fdatasync,rename,renameat,renameat2"
    done = subprocess.run(
        [
            str(STRACE),
            "-f",
            "-y",
            "-qq",
            "-s",
            "4096",
            "-o",
            log,
            "-e",
            calls,
            sys.executable,
            "-m",
            "kstore",
            *command,
        ],
        check=False,
    )
    assert done.returncode == 0
    found = []
    for line in log.read_text().splitlines():
        match = _CALL.match(line)
        if match is None or match["result"] != "0":
            continue
        synced = match["name"] in {"fsync", "fdatasync"}
        found.append(("sync", _OPEN.findall(match["arguments"])) if synced else ("move", _QUOTED.findall(line)))
    return found


@pytest.mark.skipif(STRACE is None, reason="strace, which shows what the kernel was asked for, is not installed")
@pytest.mark.parametrize("many", [False, True], ids=["loose objects", "a pack"])
@pytest.mark.parametrize("bare", [False, True], ids=["tree", "bare"])
def test_objects_are_synced_before_the_branch_moves(many: bool, bare: bool, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    kstore("init", registry, *["--bare"] * bare).ok()
    documents = environments(60 if many else 2)
    lines = tmp_path / "records.jsonl"
    lines.write_text("".join(json.dumps(document) + "\n" for document in documents))
    command = ("import", lines, "--jobs", "1") if many else ("add", save(tmp_path, documents))
    steps = traced(tmp_path / "log", "--registry", registry, *command)
    git_dir = registry if bare else registry / ".git"
    (moved,) = [at for at, (_, paths) in enumerate(steps) if paths[-1] == str(git_dir / "refs/heads/main")]
    before = steps[:moved]
    synced = [paths[0] for what, paths in before if what == "sync"]
    objects = [paths for what, paths in before if what == "move" and paths[-1].startswith(f"{git_dir}/objects/")]
    objects = [paths for paths in objects if "tmp_objdir" not in paths[-1]]
    assert len(objects) == 2 if many else len(objects) >= len(["blobs"] * 4 + ["folders"] * 5 + ["commit"])
    for old, new in objects:
        # What was synced under the name that it had while it was written, was moved, and its folder was synced then.
        written = old if not old.endswith(".pack") else str(Path(old).with_name("tmp_pack"))
        assert written in synced, (written, synced)
        assert new.rpartition("/")[0] in synced, new
    # The branch's new contents, and then its name.
    assert f"{git_dir}/kstore/ref" in synced
    assert ("sync", [f"{git_dir}/refs/heads"]) in steps[moved:]


@pytest.mark.skipif(STRACE is None, reason="strace, which shows what the kernel was asked for, is not installed")
def test_the_note_of_an_unfinished_write_is_synced_before_the_first_file_moves(registry: Path, tmp_path: Path) -> None:
    steps = traced(tmp_path / "log", "--registry", registry, "add", save(tmp_path, environments(1)))
    noted = next(at for at, (_, paths) in enumerate(steps) if paths[-1].endswith("kstore/unfinished"))
    first = next(at for at, (_, paths) in enumerate(steps) if paths[-1].startswith(f"{registry}/store/"))
    assert ("sync", [f"{registry}/.git/kstore/unfinished.new"]) in steps[:noted]
    assert ("sync", [f"{registry}/.git/kstore"]) in steps[noted:first]
