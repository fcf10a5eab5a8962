"""When a file came is told by history alone, is remembered, and is the same however it was found out."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest

from kstore.attest import appearance_table
from kstore.attest.appearance import Appearance, appearances
from kstore.attest.chain import read_trust
from kstore.digest import Digest
from kstore.git.history import history_of
from kstore.git.place import place_at
from kstore.git.uncommitted import blob_id
from kstore.layout import attestation_path, checkpoint_path, policy_path
from tests.attest.policies import ALICE, Snapshot, chain, policy
from tests.hooked import run_git
from tests.registries import git
from tests.statements import SUBJECT, at, commit_at, place

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kstore.attest.appearance import Appearances

MEMORY = "appearances"


def path_for(data: bytes, fanout: int = 1) -> str:
    """Give the path of a statement whose file would be these bytes."""
    return attestation_path(SUBJECT, Digest.of(data), fanout)


def found(repository: Path, *, remember: bool = True) -> Appearances:
    """Find out what appeared when, as a command does."""
    location = place_at(repository)
    assert location is not None
    return appearances(history_of(location, None), location.common_dir / "kstore", remember=remember)


def afresh(repository: Path) -> Appearances:
    """Find it out with nothing remembered."""
    location = place_at(repository)
    assert location is not None
    return appearances(history_of(location, None), None)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit, made in the second 1000."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet")
    place(path, "store/kstore.json", b"{}")
    commit_at(path, 1000)
    return path


@pytest.mark.parametrize("fanout", [1, 2])
def test_a_file_comes_with_its_first_commit(fanout: int, repository: Path) -> None:
    paths = [path_for(b"one", fanout), policy_path(1), checkpoint_path(1)]
    for path in paths:
        place(repository, path, b"one")
    first = commit_at(repository, 2000)
    place(repository, "store/objects/other", b"x")
    commit_at(repository, 3000)
    told = found(repository)
    assert [told.of(path, b"one") for path in paths] == [Appearance(first, 2000, 0)] * 3
    assert told.complete
    assert told.policy == 1
    assert told.of(paths[0], b"other") is None
    assert told.of(path_for(b"two"), b"one") is None


def test_the_policy_before_is_that_of_the_parents(repository: Path) -> None:
    place(repository, policy_path(1), b"1")
    place(repository, path_for(b"with 1"), b"with 1")
    commit_at(repository, 2000)
    place(repository, policy_path(2), b"2")
    place(repository, policy_path(10), b"10")
    place(repository, "store/trust/99.txt", b"no policy")
    place(repository, "store/trust/098.json", b"no policy")
    place(repository, path_for(b"with 2"), b"with 2")
    commit_at(repository, 3000)
    place(repository, path_for(b"after"), b"after")
    commit_at(repository, 4000)
    told = found(repository)
    policies = [told.of(path_for(data), data) for data in (b"with 1", b"with 2", b"after")]
    assert [each and each.policy for each in policies] == [0, 1, 10]
    assert told.policy == 10


def test_a_commit_is_not_older_than_those_that_it_descends_from(repository: Path) -> None:
    commit_at(repository, 5000)
    place(repository, path_for(b"one"), b"one")
    oid = commit_at(repository, 10)
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(oid, 5000, 0)


def test_nothing_comes_from_the_future(repository: Path) -> None:
    """A clock may be a little ahead."""
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, int(time.time()) + 3600)
    came = found(repository).of(path_for(b"one"), b"one")
    assert came is not None
    assert abs(came.time - time.time()) < 60


@pytest.mark.parametrize("days", [3, 20_000])
def test_a_date_that_lies_ahead_is_nobody_elses(days: int, repository: Path) -> None:
    """Otherwise everything that came after it would come now, for ever."""
    place(repository, path_for(b"one"), b"one")
    first = commit_at(repository, int(time.time()) + days * 86_400)
    place(repository, path_for(b"two"), b"two")
    second = commit_at(repository, 5000)
    told = found(repository)
    assert told.of(path_for(b"one"), b"one") == Appearance(first, 1000, 0)
    assert told.of(path_for(b"two"), b"two") == Appearance(second, 5000, 0)
    # What that date comes to is told by the clock, so it is not remembered.
    assert not (repository / ".git/kstore" / MEMORY).exists()


def test_branches_may_bring_a_file_independently(repository: Path) -> None:
    """Whatever the order of a merge's parents: the one who brings a file again does not undo that it was there."""
    git(repository, "branch", "side")
    place(repository, policy_path(1), b"1")
    commit_at(repository, 2000)
    place(repository, path_for(b"one"), b"one")
    main = commit_at(repository, 3000)
    git(repository, "checkout", "--quiet", "side")
    place(repository, path_for(b"one"), b"one")
    side = commit_at(repository, 7000)
    git(repository, "merge", "--quiet", "--no-edit", "main")
    told = found(repository)
    expected = [Appearance(side, 7000, 0), Appearance(main, 3000, 1)]
    assert list(told.all_of(path_for(b"one"), blob_id(b"one"))) == expected
    assert list(found(repository).all_of(path_for(b"one"), blob_id(b"one"))) == expected
    assert told.of(path_for(b"one"), b"one") == expected[0]
    assert list(told.all_of(path_for(b"two"), blob_id(b"two"))) == []


def test_a_planted_file_is_no_policy_that_came_before(repository: Path) -> None:
    """A number tells nothing of what is in the file: only what is believed came before."""
    sound = chain((policy(1, 1, ALICE.listed("alice")), (ALICE,)), (policy(2, 1, ALICE.listed("alice")), (ALICE,)))
    place(repository, policy_path(1), sound[0])
    commit_at(repository, 2000)
    trust = read_trust(Snapshot.of(*sound), None, {1: 2000, 2: 5000})
    place(repository, path_for(b"plain"), b"plain")
    commit_at(repository, 2500)
    plain = found(repository)
    assert plain.before(plain.of(path_for(b"plain"), b"plain"), trust) == 1
    place(repository, policy_path(2), b"planted")
    place(repository, policy_path(9000), b"planted")
    commit_at(repository, 3000)
    place(repository, policy_path(2), sound[1])
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, 5000)
    place(repository, path_for(b"two"), b"two")
    commit_at(repository, 6000)
    told = found(repository)
    one, two = (told.of(path_for(data), data) for data in (b"one", b"two"))
    assert one is not None
    assert two is not None
    assert (one.policy, two.policy) == (9000, 9000)
    assert (told.before(one, trust), told.before(two, trust), told.before(None, trust)) == (1, 2, 2)


def test_a_number_that_no_policy_has_is_no_policys(repository: Path) -> None:
    place(repository, "store/trust/9999999999.json", b"{}")
    commit_at(repository, 2000)
    place(repository, path_for(b"one"), b"one")
    oid = commit_at(repository, 3000)
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(oid, 3000, 0)


def test_a_side_branch_has_its_own_time_and_its_own_policy(repository: Path) -> None:
    git(repository, "branch", "side")
    place(repository, policy_path(1), b"1")
    commit_at(repository, 5000)
    git(repository, "switch", "--quiet", "side")
    place(repository, path_for(b"side"), b"side")
    side = commit_at(repository, 2000)
    git(repository, "switch", "--quiet", "main")
    run_git(repository, "merge", "--quiet", "--no-edit", "side", env=at(6000)).ok()
    assert found(repository).of(path_for(b"side"), b"side") == Appearance(side, 2000, 0)
    place(repository, path_for(b"later"), b"later")
    later = commit_at(repository, 10)
    assert found(repository).of(path_for(b"later"), b"later") == Appearance(later, 6000, 1)


def test_what_came_twice_came_on_the_main_line(repository: Path) -> None:
    git(repository, "branch", "side")
    place(repository, path_for(b"one"), b"one")
    main = commit_at(repository, 5000)
    git(repository, "switch", "--quiet", "side")
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, 1500)
    git(repository, "switch", "--quiet", "main")
    run_git(repository, "merge", "--quiet", "--no-edit", "side", env=at(6000)).ok()
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(main, 5000, 0)


def test_other_bytes_of_the_same_path_are_another_file(repository: Path) -> None:
    path = place(repository, policy_path(1), b"planted early")
    early = commit_at(repository, 2000)
    place(repository, path, b"the policy")
    late = commit_at(repository, 3000)
    (repository / path).unlink()
    commit_at(repository, 4000)
    place(repository, path, b"planted early")
    commit_at(repository, 5000)
    told = found(repository)
    assert told.of(path, b"the policy") == Appearance(late, 3000, 1)
    assert told.of(path, b"planted early") == Appearance(early, 2000, 0)


def test_what_is_not_committed_has_not_come(repository: Path) -> None:
    place(repository, path_for(b"one"), b"one")
    assert found(repository).of(path_for(b"one"), b"one") is None


def test_a_registry_without_signed_files_is_not_walked(repository: Path) -> None:
    git(repository, "rm", "-r", "--quiet", "--cached", "store")
    place(repository, "store/objects/ab/x.json", b"x")
    commit_at(repository, 2000)
    told = found(repository)
    assert (told.complete, told.policy) == (True, 0)
    assert not (repository / ".git/kstore").exists()


def test_a_repository_without_commits_has_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    told = found(tmp_path)
    assert (told.complete, told.of(policy_path(1), b"1")) == (True, None)


def test_of_a_shallow_clone_it_says_that_it_may_be_older(repository: Path, tmp_path: Path) -> None:
    place(repository, policy_path(1), b"1")
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, 2000)
    place(repository, path_for(b"two"), b"two")
    cut = commit_at(repository, 3000)
    place(repository, path_for(b"three"), b"three")
    whole = commit_at(repository, 4000)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "2", f"file://{repository}", str(clone))
    told = found(clone)
    assert not told.complete
    assert told.of(path_for(b"one"), b"one") == Appearance(cut, 3000, 1, cut=True)
    assert told.of(path_for(b"two"), b"two") == Appearance(cut, 3000, 1, cut=True)
    assert told.of(path_for(b"three"), b"three") == Appearance(whole, 4000, 1)
    git(clone, "fetch", "--quiet", "--unshallow")
    assert found(clone).complete
    assert found(clone).of(path_for(b"two"), b"two") == Appearance(cut, 3000, 1)


def test_what_cannot_be_read_counts_as_not_here(repository: Path) -> None:
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, 2000)
    git(repository, "repack", "-adq")
    git(repository, "prune-packed", "--quiet")
    broken = git(repository, "rev-parse", "HEAD:store/attestations")
    place(repository, path_for(b"two"), b"two")
    last = commit_at(repository, 3000)
    git(repository, "unpack-objects", "-q", stdin=_moved_pack(repository))
    (repository / ".git/objects" / broken[:2] / broken[2:]).unlink()
    told = found(repository)
    assert not told.complete
    assert told.of(path_for(b"one"), b"one") == Appearance(last, 3000, 0, cut=True)
    assert not (repository / ".git/kstore" / MEMORY).exists()


def _moved_pack(repository: Path) -> bytes:
    (pack,) = (repository / ".git/objects/pack").glob("*.pack")
    data = pack.read_bytes()
    for file in pack.parent.iterdir():
        file.unlink()
    return data


def histories(seed: int) -> Iterator[tuple[str, dict[str, bytes]]]:
    """Give scripts for git fast-import, each of some more commits, and the signed files that there are by then.

    Branches are made and merged, files come on several of them, some go again, and clocks are wrong.
    """
    source = random.Random(seed)
    marks: list[int] = []
    files: dict[str, bytes] = {}
    for number in range(1, 41):
        lines = [f"commit refs/heads/main\nmark :{number}\n"]
        lines.append(f"committer A <a> {source.randrange(1000, 9000)} +0000\ndata 1\nx\n")
        if marks:
            chosen = source.sample(marks[-6:], min(len(marks), source.choice([1, 1, 1, 2, 3])))
            lines += [f"from :{chosen[0]}\n", *(f"merge :{mark}\n" for mark in chosen[1:])]
        for _ in range(source.randrange(3)):
            data = b"%d" % source.randrange(12)
            path = source.choice([path_for(data), policy_path(source.randrange(1, 4))])
            if source.random() < 0.8:
                files[path] = data
                lines.append(f"M 100644 inline {path}\ndata {len(data)}\n{data.decode()}\n")
            elif path in files:
                lines.append(f"D {path}\n")
        marks.append(number)
        yield "".join(lines), dict(files)


@pytest.mark.parametrize("seed", range(6))
def test_taking_it_further_finds_the_same_as_beginning_anew(seed: int, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    script = ""
    for number, (step, files) in enumerate(histories(seed)):
        script += step
        if number % 4:
            continue
        git(tmp_path, "update-ref", "-d", "HEAD")
        git(tmp_path, "fast-import", "--quiet", "--force", stdin=script.encode())
        further, anew = found(tmp_path), afresh(tmp_path)
        for path in files:
            for data in {b"%d" % number for number in range(12)}:
                assert further.of(path, data) == anew.of(path, data)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_what_git_says(seed: int, tmp_path: Path) -> None:
    """Ask git for every commit whether it has a file, and take the first one none of whose parents has it."""
    git(tmp_path, "init", "--quiet")
    steps = list(histories(seed + 100))
    git(tmp_path, "fast-import", "--quiet", stdin="".join(step for step, _ in steps).encode())
    lines = git(tmp_path, "log", "--format=%H %ct %P", "HEAD").splitlines()
    commits = {oid: (int(when), parents) for oid, when, *parents in (line.split() for line in lines)}
    trees = {oid: {(name, blob) for blob, name in _tree(tmp_path, oid)} for oid in commits}
    times: dict[str, int] = {}
    location = place_at(tmp_path)
    assert location is not None
    order = [oid.hex() for oid in history_of(location, None).commits()[0]]
    told = found(tmp_path)
    for oid in order:
        when, parents = commits[oid]
        times[oid] = max([when, *(times[parent] for parent in parents)])
    blobs = {git(tmp_path, "hash-object", "--stdin", stdin=b"%d" % number): b"%d" % number for number in range(12)}
    expected: dict[tuple[str, str], Appearance] = {}
    for oid in order:
        parents = commits[oid][1]
        policies = [int(name[12:-5]) for parent in parents for name, _ in trees[parent] if "/trust/" in name]
        for file in trees[oid]:
            if not any(file in trees[parent] for parent in parents):
                expected.setdefault(file, Appearance(oid, times[oid], max(policies, default=0)))
    assert expected
    for (name, blob), appearance in expected.items():
        assert told.of(name, blobs[blob]) == appearance


def _tree(repository: Path, oid: str) -> list[list[str]]:
    lines = git(repository, "ls-tree", "-r", "--format=%(objectname) %(path)", oid).splitlines()
    return [line.split() for line in lines]


def test_it_is_remembered_and_not_found_out_again(repository: Path) -> None:
    place(repository, path_for(b"one"), b"one")
    oid = commit_at(repository, 2000)
    expected = Appearance(oid, 2000, 0)
    assert found(repository).of(path_for(b"one"), b"one") == expected
    # What is remembered is believed: a table that says otherwise, rightly sealed, is what is told.
    derived = repository / ".git/kstore"
    table = appearance_table.recall(derived)
    assert table is not None
    rows = {commit: row._replace(time=7) for commit, row in table.all_commits().items()}
    appearance_table.keep(derived, appearance_table.Table.of(table.head, rows, table.all_files(), 0))
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(oid, 7, 0)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data[:5], lambda data: data[:40] + b"x" + data[41:]]
)
def test_a_damaged_memory_is_none(damage: object, repository: Path) -> None:
    assert callable(damage)
    place(repository, path_for(b"one"), b"one")
    oid = commit_at(repository, 2000)
    found(repository)
    file = repository / ".git/kstore" / MEMORY
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(oid, 2000, 0)
    assert file.read_bytes() == whole


def test_a_rewritten_history_is_found_out_anew(repository: Path) -> None:
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, 2000)
    found(repository)
    again = commit_at(repository, 8000, "--amend")
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(again, 8000, 0)


def test_another_commit_s_history_does_not_take_the_place_of_head_s(repository: Path) -> None:
    place(repository, path_for(b"one"), b"one")
    commit_at(repository, 2000)
    found(repository)
    whole = (repository / ".git/kstore" / MEMORY).read_bytes()
    place(repository, path_for(b"two"), b"two")
    oid = commit_at(repository, 3000)
    assert found(repository, remember=False).of(path_for(b"two"), b"two") == Appearance(oid, 3000, 0)
    assert (repository / ".git/kstore" / MEMORY).read_bytes() == whole


def test_a_git_directory_that_cannot_be_written_to_is_read_all_the_same(repository: Path) -> None:
    place(repository, path_for(b"one"), b"one")
    oid = commit_at(repository, 2000)
    (repository / ".git/kstore").write_bytes(b"in the way")
    assert found(repository).of(path_for(b"one"), b"one") == Appearance(oid, 2000, 0)
