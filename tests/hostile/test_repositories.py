"""Repositories that mean harm: every command that reads ends soon, with the right exit code, in bounded memory.

The commands run in a process of their own, so that their memory can be measured and their time bounded.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kstore.canonical import canonical
from tests.histories import commit, entries, graft, head, plant, raw_commit, tree, write_object
from tests.registries import RUN, environment, git, kstore, load, object_path, save

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_MEMORY = 300 * 2**20
SECONDS = 60


def blob(registry: Path, data: bytes = b"x") -> str:
    return write_object(registry, "blob", data)


def links(registry: Path) -> None:
    inside = registry / "store" / "objects"
    (inside / "e8" / f"{'e8' * 32}.json").symlink_to("/etc/passwd")
    (registry / "store" / "metadata" / "ff").symlink_to("/")
    commit(registry)


def submodules(registry: Path) -> None:
    graft(registry, "store/objects", ("160000", b"ab", head(registry)))
    git(registry, "reset", "-q", "--hard")


def executables(registry: Path) -> None:
    object_path(registry, RUN).chmod(0o755)
    commit(registry)


def names_that_differ_in_case(registry: Path) -> None:
    (registry / "store" / "OBJECTS").mkdir()
    (registry / "store" / "OBJECTS" / "x").write_text("x")
    (registry / "store" / "KSTORE.JSON").write_text("{}")
    path = object_path(registry, RUN)
    path.with_name(path.name.upper()).write_text("x")
    commit(registry)


def names_that_are_no_names(registry: Path) -> None:
    oid = blob(registry)
    names = (
        b"..",
        b".git",
        b"a\nb",
        b"\x1b[2J\x1b]0;pwned\x07",
        b"\xff\xfe.json",
        b"../../etc/passwd",
        b"\xe2\x80\xae",
    )
    graft(registry, "store/objects/e8", *[("100644", name, oid) for name in names])


def a_file_in_place_of_a_folder(registry: Path) -> None:
    graft(registry, "store", ("100644", b"objects ", blob(registry)))
    root = [each for each in entries(registry, "HEAD:store") if each[1] not in {b"metadata", b"objects "}]
    store = tree(registry, *sorted([*root, ("100644", b"metadata", blob(registry))], key=lambda each: each[1]))
    raw_commit(registry, tree(registry, ("40000", b"store", store)), head(registry))


def a_blob_of_200_megabytes(registry: Path) -> None:
    huge = registry / "store" / "objects" / "e8" / f"e8{'1' * 62}.json"
    with huge.open("wb") as file:
        file.truncate(200 * 2**20)
    git(registry, "-c", "core.bigFileThreshold=1m", "add", "--force", "store")
    git(registry, "commit", "-q", "-m", "Huge")


def bomb(registry: Path, claimed: int) -> str:
    """Write a loose blob that unpacks to half a gigabyte of zeros, and claims to have so many bytes."""
    oid = f"{claimed % 16:x}b" * 20
    pressing = zlib.compressobj(1)
    parts = [pressing.compress(f"blob {claimed}".encode() + b"\0")]
    megabyte = bytes(2**20)
    parts += [pressing.compress(megabyte) for _ in range(512)]
    path = registry / ".git" / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join([*parts, pressing.flush()]))
    return oid


def a_blob_that_is_a_bomb(registry: Path) -> None:
    names = (f"e8{digit * 62}.json".encode() for digit in "12")
    sizes = (1000, 2**29)
    graft(registry, "store/objects/e8", *[("100644", n, bomb(registry, s)) for n, s in zip(names, sizes, strict=True)])


def trees_10_000_deep(registry: Path) -> None:
    inner, mode = blob(registry), "100644"
    for _ in range(10_000):
        data = f"{mode} a".encode() + b"\0" + bytes.fromhex(inner)
        whole = b"tree %d\0" % len(data) + data
        inner, mode = hashlib.sha1(whole, usedforsecurity=False).hexdigest(), "40000"
        path = registry / ".git" / "objects" / inner[:2] / inner[2:]
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(zlib.compress(whole, 0))
    graft(registry, "store/objects/e8", ("40000", b"a", inner))


def trees_that_branch_without_end(registry: Path) -> None:
    """Make 2 to the power of 60 files out of sixty trees."""
    inner, mode = blob(registry), "100644"
    for _ in range(60):
        inner, mode = tree(registry, (mode, b"a", inner), (mode, b"b", inner)), "40000"
    graft(registry, "store/metadata", ("40000", b"aa", inner))
    git(registry, "read-tree", "HEAD~")


def entries_twice(registry: Path) -> None:
    (entry,) = [each for each in entries(registry, "HEAD:store/objects/e8") if RUN[7:].encode() in each[1]]
    graft(registry, "store/objects/e8", (entry[0], entry[1], blob(registry)))


def a_replaced_object(registry: Path) -> None:
    """Commit damage, and have git show the sound blob in its place."""
    path = object_path(registry, RUN)
    sound = git(registry, "rev-parse", f"HEAD:{path.relative_to(registry)}")
    path.write_bytes(path.read_bytes().replace(b'"', b'"x', 1))
    commit(registry)
    damaged = git(registry, "rev-parse", f"HEAD:{path.relative_to(registry)}")
    git(registry, "replace", damaged, sound)


def a_replaced_commit(registry: Path) -> None:
    sound = head(registry)
    path = object_path(registry, RUN)
    path.write_bytes(path.read_bytes().replace(b'"', b'"x', 1))
    git(registry, "replace", commit(registry), sound)


def dates_far_away(registry: Path) -> None:
    root = git(registry, "rev-parse", "HEAD^{tree}")
    for seconds in ("0", "4294967296", "-1", "99999999999999999"):
        raw_commit(registry, root, head(registry), author=f"A <a@example.org> {seconds} +0000".encode())


def titles_with_control_characters(registry: Path) -> None:
    document = environment(settings={"environmentVariables": {"X": "\u001b[2J\u202e\u0007"}})
    document["metadata"]["title"] = "\u001b]0;pwned\u0007\u202eevil\u2066\u009b2J"
    kstore("--registry", registry, "add", save(registry.parent, document, "evil.json")).ok()


def a_message_with_control_characters(registry: Path) -> None:
    data = (
        b"tree %b\nparent %b\nauthor \x1b[2J\xff <> 0 +0000\ncommitter x <> 0 +0000\n\n\x1b]0;pwned\x07\xe2\x80\xae\n"
    )
    root = git(registry, "rev-parse", "HEAD^{tree}")
    oid = write_object(registry, "commit", data % (root.encode(), head(registry).encode()))
    git(registry, "update-ref", "HEAD", oid)


def deep_json(registry: Path) -> None:
    plant(registry, b"[" * 500_000, {"name": "deep"})
    plant(registry, canonical(load(object_path(registry, RUN)) | {"kind": "\u001b[2J"}), None)
    commit(registry)


# What each does, and the exit codes of `verify` on the working tree, `verify --rev HEAD` and `audit`; where the tree
# was not checked out, the first is that of the sound files that lie there.
CASES: dict[Callable[[Path], object], tuple[int, int, int]] = {
    links: (1, 1, 1),
    submodules: (1, 1, 1),
    executables: (1, 1, 1),
    names_that_differ_in_case: (1, 1, 1),
    names_that_are_no_names: (0, 1, 1),
    a_file_in_place_of_a_folder: (1, 1, 1),
    a_blob_of_200_megabytes: (1, 1, 1),
    a_blob_that_is_a_bomb: (0, 1, 1),
    trees_10_000_deep: (0, 1, 1),
    trees_that_branch_without_end: (0, 1, 1),
    entries_twice: (0, 1, 1),
    a_replaced_object: (1, 1, 1),
    a_replaced_commit: (1, 1, 1),
    dates_far_away: (0, 0, 0),
    titles_with_control_characters: (0, 0, 0),
    a_message_with_control_characters: (0, 0, 0),
    deep_json: (1, 1, 1),
}


def read_all(registry: Path) -> tuple[dict[str, tuple[int, str, str]], int]:
    """Run every command that reads; give exit code, output and complaints of each, and the most memory in bytes."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.hostile.reads", registry],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    return {name: tuple(each) for name, each in found["ran"].items()}, found["memory"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__.replace("_", " "))
def test_reading_it_ends_well(case: Callable[[Path], object], registry: Path) -> None:
    case(registry)
    ran, memory = read_all(registry)
    assert memory < MAX_MEMORY
    codes = {name: code for name, (code, _, _) in ran.items()}
    assert (codes["verify"], codes["verify --rev"], codes["audit"]) == CASES[case], ran
    assert codes["log"] == 0
    for name, (code, out, err) in ran.items():
        assert code in {0, 1}, name
        assert code == 0 or err.startswith("error: ") or name.startswith(("verify", "audit")), name
        assert not any(control in out + err for control in "\x1b\x07\x9b\u202e\u2066"), name
        assert len(out) < 100_000, name


def test_a_bare_clone_of_it_says_the_same(registry: Path) -> None:
    names_that_are_no_names(registry)
    bare = registry.with_name("bare.git")
    git(registry, "clone", "-q", "--bare", "--no-local", ".", str(bare))
    ran, _ = read_all(bare)
    assert {name: code for name, (code, _, _) in ran.items() if code} == {"verify": 1, "verify --rev": 1, "audit": 1}
