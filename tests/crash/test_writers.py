"""Writers on one repository wait for each other and all succeed, whatever git does beside them.

`KSTORE_WRITERS=8x50` starts eight writers that add fifty records each, one by one, instead of a few.
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.registries import assert_healthy, commits, environments, git, kstore, left_over, save

if TYPE_CHECKING:
    from pathlib import Path

WRITERS, ADDS = map(int, os.environ.get("KSTORE_WRITERS", "3x4").split("x"))

# One writer: it adds files one by one, each in a kstore of its own, and says what was acknowledged.
WRITER = """
import subprocess, sys
for file in sys.argv[2:]:
    call = [sys.executable, "-m", "kstore", "--registry", sys.argv[1], "add", "--wait", "300", "--json", file]
    done = subprocess.run(call, capture_output=True)
    print(done.returncode, done.stderr.decode().splitlines()[-1:], flush=True)
"""


@pytest.mark.parametrize("bare", [False, True], ids=["tree", "bare"])
def test_writers_beside_git_gc_lose_nothing(bare: bool, tmp_path: Path) -> None:
    registry = tmp_path / "registry"
    kstore("init", registry, *["--bare"] * bare).ok()
    documents = environments(WRITERS * ADDS)
    files = [save(tmp_path, document, f"{number}.json") for number, document in enumerate(documents)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, registry, *files[number::WRITERS]], stdout=subprocess.PIPE, text=True
        )
        for number in range(WRITERS)
    ]
    collected = 0
    while any(writer.poll() is None for writer in writers):
        git(registry, "gc", "-q")
        git(registry, "repack", "-adfq")
        git(registry, "pack-refs", "--all")
        collected += 1
    said = [writer.communicate()[0].splitlines() for writer in writers]
    assert all(line.startswith("0 ") for lines in said for line in lines), said
    assert sum(map(len, said)) == WRITERS * ADDS
    assert collected > 0
    assert len(kstore("--registry", registry, "list", "--json").json()) == WRITERS * ADDS
    assert commits(registry) == WRITERS * ADDS + 1
    assert_healthy(registry)
    kstore("--registry", registry, "audit").ok()
    assert left_over(registry) == []


def clone_of(registry: Path, name: str) -> Path:
    clone = registry.with_name(name)
    git(registry, "clone", "-q", str(registry), str(clone))
    return clone


def test_clones_that_add_different_records_merge_by_plain_git(registry: Path, tmp_path: Path) -> None:
    clones = [clone_of(registry, name) for name in ("one", "two", "three")]
    documents = environments(9)
    for number, clone in enumerate(clones):
        kstore("add", save(tmp_path, documents[number::3], f"{number}.json"), cwd=clone).ok()
        # The same record, added by all of them, is the same file.
        kstore("add", save(tmp_path, environments(10)[-1], "same.json"), cwd=clone).ok()
    for clone in clones:
        git(registry, "pull", "-q", "--no-rebase", "--no-edit", str(clone), "main")
    assert len(kstore("list", "--json", cwd=registry).json()) == 13 + 10
    assert_healthy(registry)
    kstore("audit", cwd=registry).ok()


def test_clones_that_change_the_same_metadata_conflict_and_are_sound_once_resolved(
    registry: Path, tmp_path: Path
) -> None:
    document = environments(1)[0]
    kstore("add", save(tmp_path, document), cwd=registry).ok()
    clone = clone_of(registry, "clone")
    for folder, title in ((registry, "Ours"), (clone, "Theirs")):
        document["metadata"]["title"] = title
        kstore("add", save(tmp_path, document), cwd=folder).ok()
    git(registry, "fetch", "-q", str(clone), "main")
    git(registry, "merge", "-q", "--no-edit", "FETCH_HEAD", check=False)
    (conflict,) = git(registry, "diff", "--name-only", "--diff-filter=U").splitlines()
    assert conflict.startswith("store/metadata/")
    assert kstore("verify", cwd=registry).code == 1
    refused = kstore("add", save(tmp_path, environments(2)[-1], "other.json"), cwd=registry)
    assert refused.code == 1
    assert "a merge is under way" in refused.err
    git(registry, "checkout", "-q", "--theirs", conflict)
    git(registry, "add", conflict)
    git(registry, "commit", "-q", "--no-edit")
    assert_healthy(registry)
    kstore("audit", cwd=registry).ok()
