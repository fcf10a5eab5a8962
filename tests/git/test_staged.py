"""Reading git's index: what is in it, what it changes, and what cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kstore.errors import KstoreError, NoRegistryError
from kstore.git.files import UnreadableError
from kstore.git.folder import FolderFiles
from kstore.git.staged import StagedFiles
from tests.hooked import edit, remove, stage_all, write
from tests.registries import ENVIRONMENT, RUN, git, object_path

if TYPE_CHECKING:
    from pathlib import Path

OBJECT = f"store/objects/e8/{RUN[7:]}.json"


def test_the_index_reads_like_the_folder(registry: Path) -> None:
    write(registry / "store" / "new.txt", b"new")
    edit(registry, RUN, lambda data: data + b"\n")
    remove(registry, ENVIRONMENT)
    stage_all(registry)
    folder = FolderFiles(registry)
    with StagedFiles(registry) as staged:
        for path in ("store", "store/objects", "store/objects/e8", "store/nowhere"):
            assert staged.names(path) == folder.names(path)
            assert [(each.path, each.type) for each in staged.scan(path)] == [
                (each.path, each.type) for each in folder.scan(path)
            ]
        for path in ("store/new.txt", OBJECT, "store/kstore.json", "store/nowhere"):
            assert staged.read(path) == folder.read(path)
        for entry in staged.scan("store/objects/e8"):
            assert staged.load(entry) == (0o100644, (registry / entry.path).read_bytes())
        assert staged.committed(OBJECT) == object_path(registry, RUN).read_bytes()[:-1]


def test_what_changes(registry: Path) -> None:
    with StagedFiles(registry) as staged:
        assert staged.changes() == []
    write(registry / "store" / "new.txt", b"new")
    write(registry / "elsewhere" / "new.txt", b"new")
    edit(registry, RUN, lambda data: data + b"\n")
    remove(registry, ENVIRONMENT, "objects")
    stage_all(registry)
    with StagedFiles(registry) as staged:
        found = {change.path: change for change in staged.changes()}
    gone = f"store/objects/27/{ENVIRONMENT[7:]}.json"
    assert sorted(found) == sorted(["store/new.txt", OBJECT, gone])
    assert list(found) == sorted(found)
    assert found["store/new.txt"].before == (None,)
    assert found[gone].now is None
    (before,), now = found[OBJECT].before, found[OBJECT].now
    assert before is not None
    assert now is not None
    assert before.oid.decode() == git(registry, "rev-parse", f"HEAD:{OBJECT}")
    assert now.oid.decode() == git(registry, "rev-parse", f":{OBJECT}")


def test_a_file_that_is_too_large(registry: Path) -> None:
    write(registry / "store" / "large", b"x" * 3_000_000)
    write(registry / "store" / "small", b"x")
    stage_all(registry)
    with StagedFiles(registry) as staged:
        with pytest.raises(UnreadableError, match="store/large: expected at most 1,048,576 bytes, found 3,000,000"):
            staged.read("store/large")
        assert staged.read("store/small") == b"x", "what follows is still read rightly"


def test_a_damaged_object(registry: Path) -> None:
    edit(registry, RUN, lambda data: data + b"\n")
    stage_all(registry)
    blob = git(registry, "rev-parse", f":{OBJECT}")
    path = registry / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(0o644)
    path.write_bytes(b"x" * 100)
    with StagedFiles(registry) as staged, pytest.raises(KstoreError):
        staged.read(OBJECT)


def test_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NoRegistryError, match="nothing can be staged here"):
        StagedFiles(tmp_path)
