"""Make histories with plain git, sound ones and others, and audit them."""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.registries import environment, git, kstore, object_path, save

if TYPE_CHECKING:
    from collections.abc import Mapping

FIELDS = {"code", "commit", "author", "date", "path", "digest", "message"}


def commit(registry: Path, message: str = "change") -> str:
    """Commit everything that lies in a working tree, as anybody could."""
    git(registry, "add", "--all", "--force", ".")
    git(registry, "commit", "--quiet", "--allow-empty", "--message", message)
    return head(registry)


def head(registry: Path) -> str:
    return git(registry, "rev-parse", "HEAD")


def add_machine(registry: Path, name: str) -> str:
    """Add a record that refers to nothing, and give its digest."""
    document = environment(settings={"environmentVariables": {"NAME": name}})
    document["metadata"]["name"] = name
    added = kstore("--registry", registry, "add", "--json", save(registry.parent, document, f"{name}.json")).ok()
    return str(added.json()["records"][0]["digest"])


def audit(registry: Path, *args: str, code: int = 0) -> Any:
    """Audit, check the report's shape, and give it."""
    ran = kstore("--registry", registry, "audit", "--json", *args)
    assert ran.code == code, (ran.out, ran.err)
    report = ran.json()
    assert all(finding.keys() == FIELDS for finding in report["findings"])
    assert report["complete"] == (not report["gaps"])
    assert bool(report["findings"]) == (code == 1)
    return report


def found(registry: Path, *args: str) -> list[tuple[str, str, str]]:
    """Audit and give code, commit and path of each finding."""
    report = kstore("--registry", registry, "audit", "--json", *args).json()
    return [(each["code"], each["commit"], each["path"]) for each in report["findings"]]


def relative(registry: Path, digest: str, part: str = "objects") -> str:
    """Give the path of a record's file as git has it."""
    return object_path(registry, digest, part).relative_to(registry).as_posix()


def write_object(repository: Path, kind: str, data: bytes, *, name: str | None = None) -> str:
    """Write a loose object, under its own id or as if it were another one, and give the id."""
    whole = f"{kind} {len(data)}".encode() + b"\0" + data
    oid = name or hashlib.sha1(whole, usedforsecurity=False).hexdigest()
    path = Path(git(repository, "rev-parse", "--absolute-git-dir")) / "objects" / oid[:2] / oid[2:]
    path.parent.mkdir(exist_ok=True)
    if path.exists():
        path.chmod(0o644)
    path.write_bytes(zlib.compress(whole))
    return oid


def tree(repository: Path, *entries: tuple[str, bytes, str]) -> str:
    """Write a tree of entries, mode, name and id, in the order given, and give its id."""
    data = b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return write_object(repository, "tree", data)


def entries(repository: Path, name: str) -> list[tuple[str, bytes, str]]:
    """Give the entries of a tree, as `tree` takes them."""
    lines = git(repository, "ls-tree", "-z", name).split("\0")
    found = [line.partition("\t") for line in lines if line]
    return [(about.split()[0].lstrip("0"), os.fsencode(path), about.split()[2]) for about, _, path in found]


def graft(repository: Path, folder: str, *more: tuple[str, bytes, str]) -> str:
    """Commit HEAD's tree with entries added to a folder, whatever they are, and give the commit's id."""
    changed = tree(repository, *sorted([*entries(repository, f"HEAD:{folder}"), *more], key=lambda entry: entry[1]))
    steps = folder.split("/")
    while steps:
        inner = steps.pop()
        above = entries(repository, f"HEAD:{'/'.join(steps)}")
        changed = tree(
            repository, *[(mode, name, changed if name == inner.encode() else oid) for mode, name, oid in above]
        )
    return raw_commit(repository, changed, head(repository))


def raw_commit(
    repository: Path, root: str, *parents: str, author: bytes = b"A <a@example.org> 1700000000 +0000"
) -> str:
    """Write a commit of a tree, and make HEAD's branch name it."""
    lines = [f"tree {root}".encode(), *(f"parent {parent}".encode() for parent in parents), b"author " + author]
    lines += [b"committer A <a@example.org> 1700000000 +0000", b"", b"made by hand\n"]
    oid = write_object(repository, "commit", b"\n".join(lines))
    git(repository, "update-ref", "HEAD", oid)
    return oid


def plant(registry: Path, body: bytes, metadata: Mapping[str, Any] | None) -> str:
    """Put bytes into a working tree as if they were a record, and give their digest."""
    digest = hashlib.sha256(body).hexdigest()
    files = {
        "objects": body,
        **({} if metadata is None else {"metadata": json.dumps(metadata).replace(" ", "").encode()}),
    }
    for part, data in files.items():
        path = object_path(registry, digest, part)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return f"sha256:{digest}"
