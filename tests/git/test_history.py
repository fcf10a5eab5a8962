"""Commits are walked parents first, and trees compared as git compares them."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.git.branches import Head
from kstore.git.history import Commit, History
from kstore.git.place import place_at
from kstore.git.raw import MAX_TREE, DamagedObjectError, HugeObjectError, RawObjects
from kstore.git.repository import Repository
from kstore.registry import Registry
from tests.histories import head, raw_commit, write_object
from tests.registries import git

if TYPE_CHECKING:
    from pathlib import Path

    from kstore.git.files import UnreadableError


def history(path: Path) -> History:
    place = place_at(path)
    assert place is not None
    return Repository(place).history()


def test_parents_come_before_their_children(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    source = random.Random(0)
    script, made = [], 0
    for number in range(1, 400):
        made += 1
        script.append(f"commit refs/heads/b{number}\nmark :{number}\ncommitter A <a> {number} +0000\ndata 1\nx\n")
        marks = sorted(source.sample(range(1, number), min(number - 1, source.choice([0, 1, 1, 1, 2, 3]))))
        if marks:
            script += [f"from :{marks[0]}\n", *(f"merge :{mark}\n" for mark in marks[1:])]
    git(tmp_path, "fast-import", "--quiet", stdin="".join(script).encode())
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/b399")
    parents_of, lost = history(tmp_path).commits()
    assert lost == []
    met: set[bytes] = set()
    for oid, parents in parents_of.items():
        assert met >= set(parents)
        met.add(oid)
    assert {oid.hex() for oid in met} == set(git(tmp_path, "rev-list", "HEAD").split())
    assert made == 399


def test_what_is_known_is_left_out_with_what_it_alone_reaches(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    one = "commit refs/heads/main\ncommitter A <a> 1 +0000\ndata 1\nx\n"
    side = "commit refs/heads/side\ncommitter A <a> 2 +0000\ndata 1\ny\n"
    merged = "commit refs/heads/main\ncommitter A <a> 3 +0000\ndata 1\nz\nmerge refs/heads/side\n"
    git(tmp_path, "fast-import", "--quiet", stdin=(one * 5 + side + merged).encode())
    told = history(tmp_path)
    known = bytes.fromhex(git(tmp_path, "rev-parse", "main~2"))
    parents_of, lost = told.commits(known={known})
    names = [git(tmp_path, "rev-parse", name) for name in ("main~1", "side", "main")]
    assert ([oid.hex() for oid in parents_of], lost) == (names, [])
    assert told.commits(known={told.head or b""}) == ({}, [])


@pytest.mark.parametrize(
    ("stamp", "time"), [("1700000000 +0000", 1_700_000_000), ("7 -1130", 7), ("-5 +0000", 0), ("x", 0)]
)
def test_a_commit_says_when_it_was_committed(stamp: str, time: int, registry: Path) -> None:
    tree = git(registry, "rev-parse", "HEAD^{tree}")
    data = f"tree {tree}\nauthor A <a> 1 +0000\ncommitter A <a> {stamp}\n\nx\n".encode()
    oid = bytes.fromhex(write_object(registry, "commit", data))
    assert history(registry).commit(oid).time == time


def test_the_names_in_a_folder_of_a_commit(registry: Path) -> None:
    told = history(registry)
    commit = told.commit(bytes.fromhex(head(registry)))
    assert told.names(commit, "store") == ["kstore.json", "metadata", "objects"]
    assert told.names(commit, "store/trust") == told.names(commit, "store/kstore.json") == []


def test_a_long_history_is_walked(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    one = "commit refs/heads/main\ncommitter A <a> 1 +0000\ndata 1\nx\n"
    git(tmp_path, "fast-import", "--quiet", stdin=(one * 20_000).encode())
    parents_of, _ = history(tmp_path).commits()
    assert len(parents_of) == 20_000
    assert list(parents_of)[-1].hex() == head(tmp_path)


def test_what_cannot_be_read_is_lost_with_the_commit_that_needs_it(registry: Path) -> None:
    gone = "ab" * 20
    tree = git(registry, "rev-parse", "HEAD^{tree}")
    child = raw_commit(registry, tree, head(registry), gone)
    parents_of, (lost,) = history(registry).commits()
    assert (lost.id, lost.child) == (gone, child)
    assert len(parents_of) == 3


@pytest.mark.parametrize(
    "data",
    [b"", b"tree x\n", b"tree " + b"0" * 39 + b"\n", b"parent " + b"0" * 40 + b"\n", b"tree " + b"A" * 40 + b"\n"],
)
def test_what_is_no_commit_is_refused(data: bytes, registry: Path) -> None:
    oid = bytes.fromhex(write_object(registry, "commit", data))
    with pytest.raises(DamagedObjectError, match="should be a commit"):
        history(registry).commit(oid)
    with pytest.raises(DamagedObjectError):
        history(registry).commit(bytes.fromhex(git(registry, "rev-parse", "HEAD^{tree}")))


def test_commits_say_what_they_are(registry: Path) -> None:
    message = "A subject\n\nA body\n"
    author = ("--author", "Zoë <zoe@example.org>", "--date", "2024-02-29T12:00:00-05:30")
    git(registry, "commit", "--quiet", "--allow-empty", "--message", message, *author)
    commit = history(registry).commit(bytes.fromhex(head(registry)))
    assert (commit.author, commit.date) == ("Zoë <zoe@example.org>", "2024-02-29T12:00:00-05:30")
    assert (commit.id, commit.subject) == (head(registry), "A subject")
    assert commit.tree.hex() == git(registry, "rev-parse", "HEAD^{tree}")
    assert [parent.hex() for parent in commit.parents] == [git(registry, "rev-parse", "HEAD~")]


@given(stamp=st.binary(max_size=80) | st.from_regex(rb"[^\n]* -?[0-9]{1,25} [+-][0-9]{4}", fullmatch=True))
def test_no_author_line_makes_it_fail(stamp: bytes) -> None:
    commit = Commit("", b"", (), stamp, "")
    assert isinstance(commit.author, str)
    assert isinstance(commit.date, str)


def test_no_commit_or_file_is_read_beyond_its_limit(registry: Path) -> None:
    told = history(registry)
    huge = bytes.fromhex(write_object(registry, "commit", bytes(MAX_TREE + 1)))
    with pytest.raises(HugeObjectError):
        told.commit(huge)
    with pytest.raises(HugeObjectError):
        told.blob(bytes.fromhex(write_object(registry, "blob", bytes(2**20 + 1))))
    with pytest.raises(DamagedObjectError, match="should be a blob"):
        told.blob(bytes.fromhex(head(registry)))


def raw_diff(repository: Path, old: str, new: str) -> set[tuple[str, str, str]]:
    """Give what git says differs under store/: path, old id, new id."""
    lines = git(repository, "diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", "-z", old, new, "--", "store")
    fields = lines.split("\0")
    return {
        (path, about.split()[2], about.split()[3])
        for about, path in zip(fields[::2], fields[1::2], strict=False)
        if about
    }


def test_differences_are_those_that_git_finds(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    source = random.Random(4)
    names = ["a", "b", "c", "d/x", "d/y", "d", "e/f/g", "e/f", "e"]
    commits = []
    for number in range(60):
        files: dict[str, str] = {}
        for name in source.sample(names, source.randrange(1, len(names))):
            if not any(other.startswith(f"{name}/") or name.startswith(f"{other}/") for other in files):
                files[name] = source.choice(["1", "2", "3"])
        script = [f"commit refs/heads/c{number}\ncommitter A <a> 1 +0000\ndata 1\nx\n"]
        script += [f"M 100644 inline store/{name}\ndata 1\n{text}\n" for name, text in files.items()]
        script.append("M 100644 inline other\ndata 2\n" + f"{number:02}\n")
        git(tmp_path, "fast-import", "--quiet", stdin="".join(script).encode())
        commits.append(git(tmp_path, "rev-parse", f"refs/heads/c{number}"))
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/c0")
    told = history(tmp_path)
    troubles: list[object] = []
    for _ in range(150):
        new, *olds = (told.commit(bytes.fromhex(oid)) for oid in source.sample(commits, source.choice([2, 2, 3])))
        found = list(told.differences(new, olds, lambda _: True, lambda *trouble: troubles.append(trouble)))
        for number, old in enumerate(olds):
            mine = {
                (each.path, _oid(each.before[number]), _oid(each.now))
                for each in found
                if each.before[number] != each.now
            }
            assert mine == raw_diff(tmp_path, old.id, new.id)
    assert troubles == []


def _oid(entry: object) -> str:
    oid = getattr(entry, "oid", bytes(20))
    assert isinstance(oid, bytes)
    return oid.hex()


def test_without_parents_everything_is_new_and_equal_parents_are_one(registry: Path) -> None:
    told = history(registry)
    commit = told.commit(bytes.fromhex(head(registry)))
    files = git(registry, "ls-tree", "-r", "--name-only", "HEAD", "store").splitlines()
    found = list(told.differences(commit, [], lambda _: True, lambda *_: None))
    assert sorted(each.path for each in found) == sorted(files)
    assert {each.before for each in found} == {(None,)}
    parent = told.commit(commit.parents[0])
    assert {len(each.before) for each in told.differences(commit, [parent, parent], lambda _: True, print)} == {1}
    assert list(told.differences(commit, [commit], lambda _: True, print)) == []


def test_folders_that_are_not_entered_are_one_thing(registry: Path) -> None:
    told = history(registry)
    commit = told.commit(bytes.fromhex(head(registry)))
    found = list(told.differences(commit, [], lambda path: path == "store", lambda *_: None))
    assert [(each.path, each.now.type if each.now else None) for each in found] == [
        ("store/kstore.json", "file"),
        ("store/metadata", "folder"),
        ("store/objects", "folder"),
    ]


def test_what_is_the_same_is_not_opened(registry: Path) -> None:
    """With every object gone but those on the way to what changed, the comparison is as good as before."""
    path = next((registry / "store/metadata").rglob("*.json"))
    path.write_bytes(b"{}")
    git(registry, "commit", "--quiet", "--all", "--message", "change")
    folder = path.parent.relative_to(registry).as_posix()
    steps = ["", "store", "store/metadata", folder]
    kept = {git(registry, "rev-parse", f"{side}:{step}") for side in ("HEAD", "HEAD~") for step in steps}
    kept |= {head(registry), git(registry, "rev-parse", "HEAD~")}
    told = history(registry)
    commit, parent = (told.commit(bytes.fromhex(git(registry, "rev-parse", side))) for side in ("HEAD", "HEAD~"))
    opened: list[str] = []

    class Watched(RawObjects):
        def read(self, oid: bytes, limit: int) -> tuple[int, bytes]:
            opened.append(oid.hex())
            return super().read(oid, limit)

    place = place_at(registry)
    assert place is not None
    watched = History(place, Watched(registry / ".git/objects"), Head(None, None))
    (difference,) = watched.differences(commit, [parent], lambda _: True, print)
    assert difference.path == path.relative_to(registry).as_posix()
    assert set(opened) <= kept
    assert len(opened) == len(set(opened)) == 2 * len(steps)


def test_a_folder_that_cannot_be_read_is_told(registry: Path) -> None:
    with Registry.open(registry) as opened:
        told = opened.history()
        commit = told.commit(bytes.fromhex(head(registry)))
        gone = Commit(commit.id, b"\xab" * 20, (), b"", "")
        troubles: list[tuple[str, UnreadableError]] = []
        assert list(told.differences(gone, [commit], lambda _: True, lambda *each: troubles.append(each))) == []
        assert [path for path, _ in troubles] == [""]
        found = list(told.differences(commit, [gone], lambda _: True, lambda *each: troubles.append(each)))
        assert len(found) == len(git(registry, "ls-tree", "-r", "--name-only", "HEAD", "store").splitlines())


def test_paths_are_found_in_a_commit(registry: Path) -> None:
    told = history(registry)
    for name in ("HEAD", "HEAD~", "HEAD"):
        commit = told.commit(bytes.fromhex(git(registry, "rev-parse", name)))
        for line in git(registry, "ls-tree", "-r", "-t", name).splitlines():
            about, _, path = line.partition("\t")
            mode, _, oid = about.split()
            assert told.find(commit, path) == (int(mode, 8), bytes.fromhex(oid))
        for path in ("nothing", "store/nothing", "store/kstore.json/below", "store/nothing/below", ""):
            assert told.find(commit, path) is None
