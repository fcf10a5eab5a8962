"""What the pre-commit hook refuses, each through a real `git commit`, and what it lets through."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.hooked import (
    commit,
    edit,
    in_turn,
    indented,
    install,
    plant,
    remove,
    replant,
    run_git,
    spelled,
    stage_all,
    write,
)
from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    commits,
    environment,
    environments,
    git,
    kstore,
    object_path,
    process,
    save,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hooked import Tamper

ABSENT = "sha256:" + "ab" * 32
OBJECT = f"store/objects/e8/{RUN[7:]}.json"


@pytest.fixture
def hooked(registry: Path) -> Path:
    """A registry whose hooks are installed."""
    install(registry)
    return registry


def planted(registry: Path, change: Callable[[bytes], bytes]) -> None:
    """Add a new record whose object was changed after it was named."""
    body = spelled({key: value for key, value in environment().items() if key != "metadata"})
    edit(registry, plant(registry, body), change)


def other_run(registry: Path, **spec: object) -> str:
    """Add a run that is like another one, but for some fields."""
    return replant(registry, RUN, lambda body: body["spec"].update(spec))


CASES: dict[str, tuple[Tamper, str, tuple[str, ...]]] = {
    "newline": (lambda r: edit(r, RUN, lambda d: d + b"\n"), "object-changed", ("a newline was added", "git checkout")),
    "CRLF": (lambda r: edit(r, RUN, lambda d: d + b"\r\n"), "object-changed", ("a newline was added", "CRLF")),
    "formatted": (lambda r: edit(r, RUN, indented), "object-changed", ("it was formatted", "keep formatters out")),
    "formatted with CRLF": (
        lambda r: edit(r, RUN, lambda d: indented(d).replace(b"\n", b"\r\n")),
        "object-changed",
        ("it was formatted and has CRLF line ends",),
    ),
    "a byte-order mark": (
        lambda r: edit(r, RUN, lambda d: b"\xef\xbb\xbf" + d),
        "object-changed",
        ("byte-order mark",),
    ),
    "another value": (
        lambda r: edit(r, RUN, lambda d: d.replace(b"275712", b"275711")),
        "object-changed",
        ("an object never changes", "it says something else now"),
    ),
    "no JSON": (lambda r: edit(r, RUN, lambda _: b"\xff\x00"), "object-changed", ("it is no JSON",)),
    "removed": (lambda r: remove(r, RUN), "object-removed", ("never goes", f"git checkout HEAD -- {OBJECT}")),
    "required and removed": (lambda r: remove(r, PROTOCOL), "object-removed", ("never goes",)),
    "moved": (
        lambda r: object_path(r, RUN).rename(write(r / "store/objects/00/x").with_name(f"{RUN[7:]}.json")),
        "object-removed",
        ("never goes",),
    ),
    "in a wrong folder": (
        lambda r: write(r / f"store/objects/00/{RUN[7:]}.json", object_path(r, RUN).read_bytes()),
        "wrong-path",
        (f"at {OBJECT}", "git rm --cached"),
    ),
    "a link": (
        in_turn(lambda r: remove(r, RUN, "objects"), lambda r: object_path(r, RUN).symlink_to("elsewhere")),
        "unexpected-file",
        ("symbolic link", "git checkout HEAD"),
    ),
    "executable": (lambda r: object_path(r, RUN).chmod(0o755), "bad-mode", ("chmod 644",)),
    "a new one with a newline": (
        lambda r: planted(r, lambda d: d + b"\n"),
        "digest-mismatch",
        ("a newline was added", "git rm --cached", "kstore add"),
    ),
    "a new one, formatted": (lambda r: planted(r, indented), "digest-mismatch", ("it was formatted",)),
    "a new one as a document": (
        lambda r: planted(r, lambda _: spelled(environment())),
        "digest-mismatch",
        ("it is a whole document", "kstore add"),
    ),
    "named by its digest and not canonical": (
        lambda r: plant(r, indented(object_path(r, RUN).read_bytes())),
        "not-canonical",
        ("canonical form",),
    ),
    "no valid record": (
        lambda r: other_run(r, status="great"),
        "invalid-record",
        ("spec.status", "great"),
    ),
    "a required reference to nothing": (
        lambda r: other_run(r, protocolDigest=ABSENT),
        "missing-reference",
        ("protocolDigest", ABSENT),
    ),
    "a reference to another kind": (
        lambda r: other_run(r, protocolDigest=ENVIRONMENT),
        "wrong-kind",
        ("BenchmarkProtocol",),
    ),
    "a required reference that goes": (
        in_turn(lambda r: other_run(r, status="timeout"), lambda r: remove(r, PROTOCOL)),
        "missing-reference",
        (PROTOCOL,),
    ),
    "a document under its own name": (
        lambda r: save(r / "store" / "objects", environment(), "my-machine.json"),
        "unexpected-file",
        ("`kstore add`",),
    ),
    "a document beside the folders": (
        lambda r: write(r / "store" / "my machine.yaml"),
        "unexpected-file",
        ("`kstore add`", "git rm --cached 'store/my machine.yaml'"),
    ),
    "a stranger": (lambda r: write(r / "store" / "notes" / "a.txt"), "unexpected-file", ("move it elsewhere",)),
    "a name that is no UTF-8": (
        lambda r: write(r / "store" / os.fsdecode(b"\xff")),
        "unexpected-file",
        ("move it elsewhere",),
    ),
    "metadata with a newline": (
        lambda r: edit(r, RUN, lambda d: d + b"\n", "metadata"),
        "not-canonical",
        ("a newline was added",),
    ),
    "metadata, formatted": (lambda r: edit(r, RUN, indented, "metadata"), "not-canonical", ("it was formatted",)),
    "metadata that are not valid": (
        lambda r: edit(r, RUN, lambda d: d[:-1] + b',"zzz":1}', "metadata"),
        "invalid-metadata",
        ("zzz",),
    ),
    "metadata removed": (lambda r: remove(r, RUN, "metadata"), "missing-metadata", ("keeps its metadata",)),
    "no metadata": (
        lambda r: remove(r, other_run(r, status="timeout"), "metadata"),
        "missing-metadata",
        ("kstore add",),
    ),
    "metadata alone": (
        lambda r: write(object_path(r, ABSENT, "metadata"), b'{"name":"x"}'),
        "orphan-metadata",
        ("expected their record",),
    ),
    "settings removed": (lambda r: (r / "store/kstore.json").unlink(), "invalid-settings", ("git checkout HEAD",)),
    "another fan-out": (
        lambda r: write(
            r / "store/kstore.json", b'{"fanout":2,"format":1,"requires":["environmentDigest","protocolDigest"]}'
        ),
        "invalid-settings",
        ("keeps the fan-out",),
    ),
    "a record of over 1 MiB": (lambda r: plant(r, b" " * 1_048_577), "unreadable", ("1,048,576",)),
}


@pytest.mark.parametrize("case", CASES)
def test_a_commit_is_refused(case: str, hooked: Path) -> None:
    spoil, code, said = CASES[case]
    before = commits(hooked)
    spoil(hooked)
    stage_all(hooked)
    ran = commit(hooked)
    assert ran.code == 1
    assert commits(hooked) == before
    (line, *_) = [line for line in ran.err.splitlines() if line.startswith(f"error: {code}: store/")]
    assert all(words in line for words in said), line
    report = kstore("verify", "--staged", "--json", cwd=hooked)
    assert report.code == 1
    assert report.json().keys() == {"checked", "complete", "findings"}
    assert code in {finding["code"] for finding in report.json()["findings"]}
    git(hooked, "reset", "-q", "--hard")
    kstore("verify", "--staged", cwd=hooked).ok()


def test_one_fault_is_one_finding(hooked: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    stage_all(hooked)
    (finding,) = kstore("verify", "--staged", "--json", cwd=hooked).json()["findings"]
    assert (finding["code"], finding["path"], finding["digest"]) == ("object-changed", OBJECT, RUN)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: edit(r, RUN, lambda data: data + b"\n"),
        lambda r: remove(r, RUN),
        lambda r: save(r / "store" / "objects", environment(), "it's mine.json"),
    ],
    ids=["changed", "removed", "a stranger"],
)
def test_the_command_in_a_message_helps(spoil: Tamper, hooked: Path) -> None:
    spoil(hooked)
    stage_all(hooked)
    while commit(hooked, "--allow-empty").code:
        finding = kstore("verify", "--staged", "--json", cwd=hooked).json()["findings"][0]
        command = finding["message"].split("`")[-2]
        subprocess.run(["bash", "-c", command], cwd=hooked, check=True, capture_output=True)
    assert git(hooked, "show", "--format=", "--name-only", "HEAD") == ""


def test_what_kstore_adds_is_committed(hooked: Path, tmp_path: Path) -> None:
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=hooked).ok()
    ran = kstore("verify", "--staged", "--json", "--strict", cwd=hooked).ok()
    checked = {"objects": 1, "metadata": 1, "attestations": 0, "policies": 0, "checkpoints": 0}
    assert ran.json() == {"checked": checked, "complete": True, "findings": []}
    assert commit(hooked).ok().err == ""


def test_new_metadata_are_committed(hooked: Path) -> None:
    edit(hooked, RUN, lambda data: data.replace(b"Total variation", b"Total-variation"), "metadata")
    stage_all(hooked)
    assert commit(hooked).ok().err == ""


def test_a_reference_that_is_not_required_may_lead_nowhere(hooked: Path) -> None:
    digest = other_run(hooked, implementationDigest=ABSENT)
    stage_all(hooked)
    strict = kstore("verify", "--staged", "--json", "--strict", cwd=hooked)
    assert strict.code == 3
    assert not strict.json()["complete"]
    ran = commit(hooked).ok()
    assert ran.err.startswith(f"warning: unresolved-reference: store/objects/{digest[7:9]}/")


def test_what_is_not_staged_does_not_count(hooked: Path, tmp_path: Path) -> None:
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=hooked).ok()
    edit(hooked, RUN, lambda data: data + b"\n")
    write(hooked / "store" / "notes.txt")
    assert commit(hooked).ok().err == ""


def test_what_is_staged_counts_though_the_folder_is_sound(hooked: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    stage_all(hooked)
    edit(hooked, RUN, lambda data: data[:-1])
    kstore("verify", cwd=hooked).ok()
    assert "object-changed" in commit(hooked).err


def test_only_what_changes_is_checked(hooked: Path, tmp_path: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    stage_all(hooked)
    commit(hooked, "--no-verify").ok()
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=hooked).ok()
    assert commit(hooked).ok().err == ""
    git(hooked, "checkout", "HEAD~2", "--", OBJECT)
    assert commit(hooked).ok().err == "", "an object may be given back its own bytes"


def test_commit_of_a_path(hooked: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    remove(hooked, ENVIRONMENT)
    (hooked / "README").write_text("x")
    git(hooked, "add", "README")
    assert "object-changed" in (ran := commit(hooked, "--", OBJECT)).err
    assert "object-removed" not in ran.err
    commit(hooked, "--", "README").ok()


def test_commit_of_everything(hooked: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    assert "object-changed" in commit(hooked, "-a").err
    git(hooked, "checkout", "--", ".")
    commit(hooked, "-a", "--allow-empty").ok()


def test_amending(hooked: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environment()), cwd=hooked).ok()
    before = git(hooked, "rev-parse", "HEAD")
    edit(hooked, RUN, lambda data: data + b"\n")
    assert "object-changed" in commit(hooked, "--amend", "-a").err
    assert git(hooked, "rev-parse", "HEAD") == before
    git(hooked, "checkout", "--", ".")
    commit(hooked, "--amend").ok()
    assert git(hooked, "rev-parse", "HEAD") != before


def test_the_first_commit(hooked: Path) -> None:
    git(hooked, "checkout", "-q", "--orphan", "other")
    commit(hooked).ok()
    git(hooked, "checkout", "-q", "--orphan", "another")
    edit(hooked, RUN, lambda data: data + b"\n")
    stage_all(hooked)
    assert "digest-mismatch" in commit(hooked).err


def test_files_that_are_only_intended(hooked: Path) -> None:
    write(hooked / "store" / "notes.txt")
    git(hooked, "add", "--intent-to-add", "--force", "store/notes.txt")
    (hooked / "README").write_text("x")
    git(hooked, "add", "README")
    commit(hooked).ok()
    kstore("verify", "--staged", cwd=hooked).ok()


def branches(registry: Path, theirs: Tamper, ours: Tamper) -> None:
    """Make two branches, each with a commit of its own, that nobody checked."""
    git(registry, "checkout", "-q", "-b", "theirs")
    theirs(registry)
    stage_all(registry)
    commit(registry, "--no-verify").ok()
    git(registry, "checkout", "-q", "main")
    ours(registry)
    stage_all(registry)
    commit(registry, "--no-verify").ok()


def added(number: int) -> Tamper:
    def add(registry: Path) -> None:
        save(registry.parent, environments(3)[number], "new.json")
        kstore("add", registry.parent / "new.json", cwd=registry).ok()
        (registry / f"README-{number}").write_text("x")

    return add


def test_a_merge(hooked: Path) -> None:
    branches(hooked, added(1), added(2))
    run_git(hooked, "merge", "-q", "--no-edit", "theirs").ok()
    kstore("verify", cwd=hooked).ok()


def test_a_merge_of_something_wrong(hooked: Path) -> None:
    branches(hooked, lambda r: edit(r, RUN, lambda data: data + b"\n"), added(2))
    ran = run_git(hooked, "merge", "--no-edit", "theirs")
    assert ran.code != 0
    assert "object-changed" in ran.err
    assert "object-changed" in run_git(hooked, "commit", "--no-edit").err, "nor when it is tried again"


def test_a_merge_that_drops_what_is_merged(hooked: Path) -> None:
    branches(hooked, added(1), added(2))
    ran = run_git(hooked, "merge", "--no-edit", "-s", "ours", "theirs")
    assert ran.code != 0
    assert "object-removed" in ran.err


def test_a_merge_that_had_conflicts(hooked: Path) -> None:
    def retitle(word: bytes) -> Tamper:
        return lambda r: edit(r, RUN, lambda data: data.replace(b"Total", word), "metadata")

    branches(hooked, in_turn(retitle(b"Whole"), added(1)), retitle(b"Full"))
    assert run_git(hooked, "merge", "--no-edit", "theirs").code == 1
    ran = kstore("verify", "--staged", cwd=hooked)
    assert ran.code == 1
    assert "merge conflict" in ran.err
    (theirs,) = git(hooked, "diff", "--name-only", "main...theirs", "--", "store/objects").splitlines()
    pair = (theirs, theirs.replace("objects", "metadata"))
    git(hooked, "checkout", "HEAD", "--", "store/metadata")
    git(hooked, "rm", "-q", "-f", *pair)
    assert git(hooked, "diff", "--cached", "--name-only", "HEAD", "--", "store") == ""
    assert f"object-removed: {theirs}" in run_git(hooked, "commit", "--no-edit").err
    git(hooked, "checkout", "theirs", "--", *pair)
    run_git(hooked, "commit", "--no-edit").ok()


def test_a_linked_worktree(hooked: Path, tmp_path: Path) -> None:
    linked = tmp_path / "a linked tree"
    git(hooked, "worktree", "add", "-q", "-b", "linked", str(linked))
    edit(linked, RUN, lambda data: data + b"\n")
    assert "object-changed" in commit(linked, "-a").err
    git(linked, "checkout", "--", ".")
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=linked).ok()
    commit(linked).ok()


def test_another_index(hooked: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    shutil.copy(hooked / ".git" / "index", index)
    elsewhere = {"GIT_INDEX_FILE": str(index), "GIT_DIR": str(hooked / ".git"), "GIT_WORK_TREE": str(hooked)}
    edit(hooked, RUN, lambda data: data + b"\n")
    run_git(hooked, "add", "--all", env=elsewhere).ok()
    ran = process("verify", "--staged", cwd=tmp_path, env=elsewhere)
    assert ran.code == 1
    assert b"object-changed" in ran.out
    assert process("verify", "--staged", cwd=hooked).code == 0


def test_the_registry_is_the_one_that_git_means(hooked: Path, empty: Path, tmp_path: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    assert "object-changed" in commit(hooked, "-a", env={"KSTORE_REGISTRY": str(empty)}).err
    stage_all(hooked)
    inside = hooked / "store" / "objects"
    assert kstore("verify", "--staged", cwd=inside).code == 1
    assert kstore("--registry", hooked, "verify", "--staged", cwd=tmp_path).code == 1
    assert process("verify", "--staged", cwd=tmp_path, env={"KSTORE_REGISTRY": str(hooked)}).code == 1
    hook = {"GIT_INDEX_FILE": ".git/index", "GIT_DIR": ".git"}
    assert process("--registry", empty, "verify", "--staged", cwd=hooked, env=hook).code == 0
    assert process("--registry", ".", "verify", "--staged", cwd=hooked, env=hook).code == 1


@pytest.mark.parametrize("variable", ["GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"])
def test_ways_to_read_paths_that_others_chose(variable: str, hooked: Path) -> None:
    edit(hooked, RUN, lambda data: data + b"\n")
    stage_all(hooked)
    assert "object-changed" in commit(hooked, env={variable: "1"}).err


def test_a_submodule_that_git_is_told_to_ignore(hooked: Path) -> None:
    head = git(hooked, "rev-parse", "HEAD")
    git(hooked, "config", "diff.ignoreSubmodules", "all")
    git(hooked, "update-index", "--add", "--cacheinfo", f"160000,{head},store/sub")
    ran = commit(hooked)
    assert ran.code == 1
    assert "unexpected-file: store/sub" in ran.err


def test_what_refers_is_checked_again_when_more_is_required(hooked: Path) -> None:
    other_run(hooked, implementationDigest=ABSENT)
    stage_all(hooked)
    commit(hooked).ok()
    settings = spelled({"fanout": 1, "format": 1, "requires": ["environmentDigest", "implementationDigest"]})
    (hooked / "store" / "kstore.json").write_bytes(settings)
    ran = commit(hooked, "-a")
    assert "missing-reference" in ran.err
    assert ABSENT in ran.err


def test_where_there_is_no_registry(tmp_path: Path) -> None:
    assert kstore("verify", "--staged", cwd=tmp_path).code == 10
    git(tmp_path, "init", "-q", "code")
    write(tmp_path / "code" / "store" / "shop.py")
    stage_all(tmp_path / "code")
    assert kstore("verify", "--staged", cwd=tmp_path / "code").code == 10
    install(tmp_path / "code")
    ran = commit(tmp_path / "code").ok()
    assert "nothing was checked" in ran.err


def test_where_nothing_can_be_staged(registry: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(registry), "bare")
    assert kstore("--registry", tmp_path / "bare", "verify", "--staged", cwd=tmp_path).code == 10
    ran = process("verify", "--staged", cwd=registry, env={"PATH": str(tmp_path)})
    assert ran.code == 1
    assert "needs the `git` program" in ran.err
    assert kstore("verify", "--staged", "--rev", "HEAD", cwd=registry).code == 2


def test_an_object_that_git_lost(hooked: Path, tmp_path: Path) -> None:
    kstore("add", "--no-commit", save(tmp_path, environment()), cwd=hooked).ok()
    (path,) = git(hooked, "diff", "--cached", "--name-only", "--", "store/objects").splitlines()
    blob = git(hooked, "rev-parse", f":{path}")
    (hooked / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (finding, *_) = kstore("verify", "--staged", "--json", cwd=hooked).json()["findings"]
    assert (finding["code"], finding["path"]) == ("unreadable", path)
    assert "git fsck" in finding["message"]


def test_a_head_that_cannot_be_read(hooked: Path) -> None:
    tree = git(hooked, "rev-parse", "HEAD:store/objects")
    (hooked / ".git" / "objects" / tree[:2] / tree[2:]).unlink()
    edit(hooked, RUN, lambda data: data + b"\n")
    stage_all(hooked)
    ran = kstore("verify", "--staged", cwd=hooked)
    assert ran.code == 1
    assert ran.err.startswith("error: git diff-index")
