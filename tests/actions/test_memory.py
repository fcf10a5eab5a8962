"""What verifying remembers saves work and never hides damage; a memory that is damaged itself is forgotten."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.actions import memory as module
from kstore.actions.memory import Memory
from tests.registries import RUN, kstore, object_path

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FOLDER = "store/objects/e8"
KNOWN = {hashlib.sha256(b"a").digest(): b"\x01said", hashlib.sha256(b"b").digest(): b""}
MARK = hashlib.sha256(b"c").digest()
NOTHING: tuple[dict[bytes, bytes], bytes] = ({}, b"")


def the_file(place: Path) -> Path:
    (file,) = place.iterdir()
    return file


def test_it_gives_back_what_it_was_given(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "sound")
    assert memory.recall(FOLDER) == NOTHING
    memory.keep(FOLDER, KNOWN, MARK)
    assert memory.recall(FOLDER) == (KNOWN, MARK)
    assert memory.recall("store/objects/e9") == NOTHING
    memory.keep(FOLDER, {}, b"")
    assert memory.recall(FOLDER) == NOTHING


@given(
    st.dictionaries(st.binary(min_size=32, max_size=32), st.binary(max_size=300), max_size=20), st.binary(max_size=32)
)
def test_it_gives_back_anything(
    tmp_path_factory: pytest.TempPathFactory, known: dict[bytes, bytes], mark: bytes
) -> None:
    memory = Memory(tmp_path_factory.getbasetemp() / "any")
    memory.keep(FOLDER, known, mark)
    assert memory.recall(FOLDER) == (known, mark)


def test_every_flipped_or_missing_byte_makes_it_forget(tmp_path: Path) -> None:
    memory = Memory(tmp_path)
    memory.keep(FOLDER, KNOWN, MARK)
    file = the_file(tmp_path)
    data = file.read_bytes()
    for at in range(len(data)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        assert memory.recall(FOLDER) == NOTHING, at
        file.write_bytes(data[:at])
        assert memory.recall(FOLDER) == NOTHING, at
    file.write_bytes(data)
    assert memory.recall(FOLDER) == (KNOWN, MARK)


def test_what_another_version_found_sound_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Memory(tmp_path).keep(FOLDER, KNOWN, MARK)
    monkeypatch.setattr(module, "_VERSION", b"kstore 0.0.1\n")
    assert Memory(tmp_path).recall(FOLDER) == NOTHING


def test_without_a_place_it_remembers_nothing() -> None:
    memory = Memory(None)
    memory.keep(FOLDER, KNOWN, MARK)
    assert memory.recall(FOLDER) == NOTHING


def test_where_nothing_can_be_written_it_remembers_nothing(tmp_path: Path) -> None:
    (tmp_path / "sound").write_text("a file")
    memory = Memory(tmp_path / "sound")
    memory.keep(FOLDER, KNOWN, MARK)
    assert memory.recall(FOLDER) == NOTHING
    assert (tmp_path / "sound").read_text() == "a file"


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(path.read_bytes()[:-1]),
        lambda path: path.write_bytes(path.read_bytes().replace(b'"', b'" ', 1)),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: path.chmod(0o755),
    ],
    ids=["cut", "changed", "empty", "gone", "executable"],
)
@pytest.mark.parametrize("part", ["objects", "metadata"])
def test_no_damage_hides_behind_it(part: str, damage: Callable[[Path], object], registry: Path) -> None:
    kstore("verify", cwd=registry).ok()
    assert any((registry / ".git" / "kstore" / "sound").iterdir())
    damage(object_path(registry, RUN, part))
    for _ in range(2):
        assert kstore("verify", cwd=registry).code == 1
        assert kstore("verify", "--no-cache", cwd=registry).code == 1


def test_sound_bytes_under_another_name_are_found(registry: Path) -> None:
    """Their hash is remembered in this very folder, for the name that they had."""
    kstore("verify", cwd=registry).ok()
    sound = object_path(registry, RUN)
    name = sound.name[:2] + "0" * 62
    for part in ("objects", "metadata"):
        path = object_path(registry, RUN, part)
        path.with_name(f"{name}.json").write_bytes(path.read_bytes())
    for cache in ((), ("--no-cache",)):
        ended = kstore("verify", "--json", *cache, cwd=registry)
        assert ended.code == 1
        (finding,) = [found for found in ended.json()["findings"] if found["code"] == "digest-mismatch"]
        assert finding["path"] == f"store/objects/{name[:2]}/{name}.json"


def test_what_is_wrong_is_the_same_with_and_without_it(registry: Path) -> None:
    kstore("verify", cwd=registry).ok()
    path = object_path(registry, RUN)
    for part in ("objects", "metadata"):
        damaged = object_path(registry, RUN, part)
        folder = damaged.parent
        (folder / "link.json").symlink_to(damaged.name)
        (folder / "folder.json").mkdir()
        (folder / f"{RUN[7:].upper()}.json").write_bytes(damaged.read_bytes())
        (folder.parent / "00").mkdir(exist_ok=True)
        (folder.parent / "00" / damaged.name).write_bytes(damaged.read_bytes())
    path.chmod(0o755)
    said = [
        kstore("verify", "--json", *options, cwd=registry).out
        for options in ((), (), ("--jobs", "2"), ("--no-cache",), ("--no-cache", "--jobs", "2"))
    ]
    assert len(set(said)) == 1
    codes = {finding["code"] for finding in json.loads(said[0])["findings"]}
    assert {"unexpected-file", "wrong-path", "bad-mode"} <= codes


def test_it_never_leaves_the_git_directory(registry: Path) -> None:
    kstore("verify", cwd=registry).ok()
    clone = registry.with_name("clone")
    kstore("clone", registry, clone).ok()
    assert {path.name for path in clone.iterdir()} == {".git", ".gitattributes", "store"}


def test_what_was_planted_in_it_is_found_without_it(registry: Path) -> None:
    """This is what is trusted: whoever can write into the git directory."""
    body = object_path(registry, RUN).read_bytes().replace(b'"status":"passed"', b'"status":"nonsense"')
    digest = hashlib.sha256(body).hexdigest()
    folder = f"store/objects/{digest[:2]}"
    for part, data in (("objects", body), ("metadata", object_path(registry, RUN, "metadata").read_bytes())):
        path = registry / "store" / part / digest[:2] / f"{digest}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    assert kstore("verify", cwd=registry).code == 1
    memory = Memory(registry / ".git" / "kstore" / "sound")
    known, mark = memory.recall(folder)
    memory.keep(folder, {**known, hashlib.sha256(body).digest(): b""}, mark)
    assert kstore("verify", "--no-cache", cwd=registry).code == 1
