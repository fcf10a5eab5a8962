"""Registries whose hooks are installed, commits and pushes that run them, and ways to spoil what is committed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from typing import TYPE_CHECKING, Any

from tests.registries import Ran, kstore, object_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Tamper = Callable[[Path], object]

TVD = "sha256:ae6b46f63ebbe05fd99a0a300e677c432bf7b59aad42e2c3060aa0aaa924daec"


def run_git(folder: Path, *arguments: str | Path, env: Mapping[str, str] | None = None) -> Ran:
    """Run git and give all that it says."""
    done = subprocess.run(
        ["git", *arguments],
        cwd=folder,
        env={**os.environ, "GIT_EDITOR": "true", **(env or {})},
        capture_output=True,
        check=False,
        timeout=120,
    )
    return Ran(done.returncode, done.stdout, done.stderr.decode())


def commit(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
    """Try to commit."""
    return run_git(folder, "commit", "-q", "-m", "Change", *arguments, env=env)


def stage_all(folder: Path) -> None:
    """Stage everything, ignored files too."""
    run_git(folder, "add", "--all", "--force").ok()


def install(folder: Path, *arguments: str) -> Ran:
    """Install the hooks of a registry."""
    return kstore("hook", "install", *arguments, cwd=folder).ok()


def in_turn(*changes: Tamper) -> Tamper:
    """Make one change of several."""

    def all_of_them(registry: Path) -> None:
        for change in changes:
            change(registry)

    return all_of_them


def edit(registry: Path, digest: str, change: Callable[[bytes], bytes], part: str = "objects") -> None:
    """Change the bytes of a record's file."""
    path = object_path(registry, digest, part)
    data = path.read_bytes()
    assert change(data) != data
    path.write_bytes(change(data))


def remove(registry: Path, digest: str, *parts: str) -> None:
    """Remove files of a record."""
    for part in parts or ("objects", "metadata"):
        object_path(registry, digest, part).unlink()


def plant(registry: Path, body: bytes, metadata: bytes | None = b'{"name":"planted"}') -> str:
    """Store bytes as if they were a record, under their own digest."""
    digest = hashlib.sha256(body).hexdigest()
    for part, data in (("objects", body), ("metadata", metadata)):
        if data is not None:
            write(object_path(registry, digest, part), data)
    return f"sha256:{digest}"


def replant(registry: Path, digest: str, change: Callable[[dict[str, Any]], object]) -> str:
    """Store a record that is like another one, but for a change."""
    body = json.loads(object_path(registry, digest).read_bytes())
    change(body)
    return plant(registry, spelled(body))


def spelled(value: object) -> bytes:
    """Spell JSON canonically, where it holds no odd numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def indented(data: bytes) -> bytes:
    """Format JSON as formatters do."""
    return json.dumps(json.loads(data), indent=2).encode()


def write(path: Path, data: bytes = b"x") -> Path:
    """Write a file, in a folder that need not be there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path
