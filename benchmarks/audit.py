"""Auditing a long history: 10,000 commits over 20,000 records, against git's own walk of the same.

Half of the records come in the first commit, the others one a commit. `git log --raw --no-renames -- store` compares
every commit with its parent and `git fsck --full` hashes every object; an audit does both, and validates every record
that a commit brings in besides. What bounds it stands in docs/benchmarks-notes.md.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from benchmarks import measure, synthetic
from benchmarks.results import Comparison
from benchmarks.setting import flush, kstore
from kstore.canonical import canonical
from kstore.digest import Digest
from kstore.layout import ATTRIBUTES, ATTRIBUTES_LINE, DEFAULT_REQUIRES, SETTINGS, Settings, path_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from benchmarks.setting import Setting

_AGAINST = "`git log --raw --no-renames -- store` and `git fsck --full`"


def run(setting: Setting) -> None:
    """Measure an audit of a bare repository in one pack."""
    commits = 200 if setting.quick else 10_000
    repository = setting.folder("audit") / "registry.git"
    make(repository, records=2 * commits, commits=commits)
    flush()
    ours = [*kstore(), "--registry", repository, "audit", "--quiet"]
    ways: Mapping[str, measure.Timed] = {
        "kstore": lambda: setting.run(*ours),
        "git": lambda: (
            setting.run("git", "-C", repository, "log", "--raw", "--no-renames", "--", "store")
            + setting.run("git", "-C", repository, "fsck", "--full")
        ),
    }
    seconds = measure.in_turn(ways, setting.long_runs)
    comparison = Comparison(
        section="verify",
        work=f"audit {commits:,} commits over {2 * commits:,} records",
        against=_AGAINST,
        ours=seconds["kstore"],
        theirs=seconds["git"],
    )
    setting.book.compare("audit", comparison)


def make(repository: Path, records: int, commits: int) -> None:
    """Make a bare registry with a straight history, packed by `git gc`."""
    subprocess.run(["git", "init", "--quiet", "--bare", repository], check=True)
    with subprocess.Popen(
        ["git", "-C", repository, "fast-import", "--quiet"], stdin=subprocess.PIPE, bufsize=1 << 20
    ) as importer:
        assert importer.stdin is not None
        for number, files in enumerate(_commits(records, commits)):
            stamp = 1_700_000_000 + 60 * number
            who = f"Person {number % 7} <person{number % 7}@example.org> {stamp} +0100"
            importer.stdin.write(f"commit refs/heads/main\nauthor {who}\ncommitter {who}\ndata 4\nAdd\n\n".encode())
            for path, data in files.items():
                importer.stdin.write(f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n")
        importer.stdin.close()
    assert importer.returncode == 0
    subprocess.run(["git", "-C", repository, "symbolic-ref", "HEAD", "refs/heads/main"], check=True)
    subprocess.run(["git", "-C", repository, "gc", "--quiet"], check=True)


def _commits(records: int, commits: int) -> Iterator[Mapping[str, bytes]]:
    """Give each commit's files by path."""
    files = {
        SETTINGS: Settings(fanout=1, format=1, requires=DEFAULT_REQUIRES).to_bytes(),
        ATTRIBUTES: f"{ATTRIBUTES_LINE}\n".encode(),
    }
    for number, document in enumerate(synthetic.documents(records), 1):
        body = canonical({field: document[field] for field in ("apiVersion", "kind", "spec")})
        digest = Digest.of(body)
        files[path_of("objects", digest, 1)] = body
        files[path_of("metadata", digest, 1)] = canonical(document["metadata"])
        if number > records - commits:
            yield files
            files = {}
