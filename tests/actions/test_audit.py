"""Every way in which history can be other than added to is found, with the commit that did it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kstore.actions import audit as audit_module
from kstore.actions import log as log_module
from kstore.actions.audit import audit as audit_of
from kstore.actions.log import log as log_of
from kstore.canonical import canonical
from kstore.registry import Registry
from tests.histories import (
    add_machine,
    audit,
    commit,
    entries,
    found,
    graft,
    head,
    plant,
    raw_commit,
    relative,
    tree,
    write_object,
)
from tests.registries import ENVIRONMENT, PROTOCOL, RUN, git, kstore, object_path

if TYPE_CHECKING:
    from collections.abc import Callable

LINE = re.compile(r"error: [a-z-]+: .+ \(commit [0-9a-f]{12}, .+, .+\)")


def change(registry: Path, digest: str, part: str = "objects") -> None:
    path = object_path(registry, digest, part)
    path.write_bytes(path.read_bytes().replace(b'"', b'"x', 1))


def recast(registry: Path, digest: str, edit: Callable[[dict[str, object]], object]) -> str:
    """Plant a record that is like another one, but for an edit."""
    body = json.loads(object_path(registry, digest).read_bytes())
    edit(body)
    return plant(registry, canonical(body), {"name": "planted"})


def test_a_registry_that_only_ever_added_is_sound(shaped: Path) -> None:
    report = audit(shaped)
    assert report["commits"] == 2
    assert report["records_added"] == 13
    assert report["complete"]
    assert report["head"] == head(shaped)
    assert report["findings"] == []
    (author,) = report["by_author"]
    assert author["author"] == "Test Person <person@example.org>"
    assert author["records"] == 13
    assert author["commits"] == 1
    assert author["kinds"]["BenchmarkRun"] == 2
    assert author["first"] == author["last"] == git(shaped, "log", "-1", "--format=%aI")


def test_a_registry_before_its_first_record_is_sound(empty: Path) -> None:
    report = audit(empty)
    assert (report["commits"], report["records_added"], report["by_author"]) == (1, 0, [])


def test_a_registry_before_its_first_commit_is_sound(empty: Path) -> None:
    git(empty, "update-ref", "-d", "HEAD")
    assert audit(empty)["commits"] == 0
    assert audit(empty)["head"] is None


@pytest.mark.parametrize("where", ["tree", "bare"])
def test_a_head_that_names_a_branch_without_commits_is_not_sound(where: str, registry: Path) -> None:
    git(registry, "symbolic-ref", "HEAD", "refs/heads/mbin")
    if where == "tree":
        report = audit(registry, code=1)
        assert [(each["code"], each["path"]) for each in report["findings"]] == [("unborn-head", "HEAD")]
        assert (report["commits"], report["head"]) == (0, None)
    ran = kstore("--registry", registry / ".git" if where == "bare" else registry, "audit")
    assert ran.code == 1
    assert "refs/heads/main" in ran.text + ran.err


def test_it_counts_who_added_what_and_when(empty: Path) -> None:
    add_machine(empty, "one")
    for name in ("two", "three"):
        git(empty, "config", "user.name", "Another")
        add_machine(empty, name)
    git(empty, "config", "user.name", "Third")
    git(empty, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    report = audit(empty)
    assert report["commits"] == 5
    counts = [(each["author"].split(" <")[0], each["records"], each["commits"]) for each in report["by_author"]]
    assert counts == [("Test Person", 1, 1), ("Another", 2, 2)]


def test_without_a_registry_it_ends_with_10(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert kstore("--registry", tmp_path, "audit").code == 10


# What a commit can do to a registry, and what is found then: codes with paths.
DEEDS: dict[str, tuple[Callable[[Path], object], list[tuple[str, str]]]] = {}


def deed(*expected: tuple[str, str]) -> Callable[[Callable[[Path], object]], Callable[[Path], object]]:
    def enter(function: Callable[[Path], object]) -> Callable[[Path], object]:
        DEEDS[function.__name__.strip("_")] = function, list(expected)
        return function

    return enter


_RUN = f"store/objects/e8/{RUN[7:]}.json"
_RUN_METADATA = f"store/metadata/e8/{RUN[7:]}.json"


@deed(("object-changed", _RUN), ("digest-mismatch", _RUN))
def _changed(registry: Path) -> None:
    change(registry, RUN)


@deed(("object-removed", _RUN))
def _removed_with_its_metadata(registry: Path) -> None:
    object_path(registry, RUN).unlink()
    object_path(registry, RUN, "metadata").unlink()


@deed(("object-removed", _RUN), ("unexpected-file", "store/objects/run.json"))
def _renamed(registry: Path) -> None:
    object_path(registry, RUN).rename(registry / "store/objects/run.json")


@deed(("object-removed", _RUN))
def _moved_out_of_the_store(registry: Path) -> None:
    object_path(registry, RUN).rename(registry / "run.json")


@deed(("object-removed", _RUN), ("wrong-path", f"store/objects/e9/{RUN[7:]}.json"))
def _moved_to_another_folder(registry: Path) -> None:
    (registry / "store/objects/e9").mkdir(exist_ok=True)
    object_path(registry, RUN).rename(registry / "store/objects/e9" / f"{RUN[7:]}.json")


@deed(("object-changed", _RUN), ("bad-mode", _RUN))
def _made_executable(registry: Path) -> None:
    object_path(registry, RUN).chmod(0o755)


@deed(("object-changed", _RUN), ("unexpected-file", _RUN))
def _turned_into_a_link(registry: Path) -> None:
    object_path(registry, RUN).unlink()
    object_path(registry, RUN).symlink_to("/etc/passwd")


@deed(("object-removed", _RUN), ("unexpected-file", "store/objects/e8"))
def _folder_turned_into_a_file(registry: Path) -> None:
    object_path(registry, RUN).unlink()
    (registry / "store/objects/e8").rmdir()
    (registry / "store/objects/e8").write_bytes(b"")


@deed(("missing-metadata", _RUN_METADATA))
def _metadata_removed(registry: Path) -> None:
    object_path(registry, RUN, "metadata").unlink()


@deed(("invalid-metadata", _RUN_METADATA))
def _metadata_made_invalid(registry: Path) -> None:
    object_path(registry, RUN, "metadata").write_bytes(b'{"name":"a","surprise":1}')


@deed(("not-canonical", _RUN_METADATA))
def _metadata_respelled(registry: Path) -> None:
    object_path(registry, RUN, "metadata").write_bytes(b'{ "name":"a"}')


@deed(("unexpected-file", "store/README.md"))
def _file_that_does_not_belong(registry: Path) -> None:
    (registry / "store/README.md").write_bytes(b"x")


@deed(("unexpected-file", "store/objects/AB"))
def _folder_of_the_wrong_case(registry: Path) -> None:
    (registry / "store/objects/AB").mkdir()
    (registry / "store/objects/AB/x").write_bytes(b"")


@deed(("unexpected-file", "store/sub"))
def _submodule(registry: Path) -> None:
    # An empty folder is what a submodule that was not fetched looks like.
    (registry / "store/sub").mkdir()
    git(registry, "update-index", "--add", "--cacheinfo", f"160000,{head(registry)},store/sub")
    git(registry, "commit", "--quiet", "--message", "submodule")


@deed(("settings-changed", "store/kstore.json"))
def _fanout_changed(registry: Path) -> None:
    path = registry / "store/kstore.json"
    path.write_bytes(path.read_bytes().replace(b'"fanout":1', b'"fanout":2'))


@deed(("invalid-settings", "store/kstore.json"))
def _format_changed(registry: Path) -> None:
    path = registry / "store/kstore.json"
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))


@deed(("settings-changed", "store/kstore.json"))
def _settings_removed(registry: Path) -> None:
    (registry / "store/kstore.json").unlink()


@pytest.mark.parametrize("name", DEEDS)
def test_a_deed_is_found_and_undoing_it_does_not_heal_it(name: str, registry: Path) -> None:
    do, expected = DEEDS[name]
    before = head(registry)
    do(registry)
    guilty = commit(registry) if git(registry, "status", "--porcelain") else head(registry)
    git(registry, "read-tree", "-u", "--reset", before)
    git(registry, "commit", "--quiet", "--message", "undo")
    assert git(registry, "rev-parse", "HEAD^{tree}") == git(registry, "rev-parse", f"{before}^{{tree}}")
    of_the_deed = [(code, path) for code, by, path in found(registry) if by == guilty]
    assert sorted(of_the_deed) == sorted(expected)
    assert kstore("--registry", registry, "audit").code == 1
    # What came before the deed is sound, and a commit that only takes back what had changed adds nothing bad.
    assert all(by != before for _, by, _ in found(registry))


def test_a_finding_says_who_did_what_when_and_where(registry: Path) -> None:
    git(registry, "rm", "--quiet", relative(registry, RUN), relative(registry, RUN, "metadata"))
    author = ("--author", "Eve <eve@example.org>", "--date", "2024-02-29T12:00:00+05:30")
    git(registry, "commit", "--quiet", "--message", "quietly", *author)
    (finding,) = audit(registry, code=1)["findings"]
    assert finding["commit"] == head(registry)
    assert finding["author"] == "Eve <eve@example.org>"
    assert finding["date"] == "2024-02-29T12:00:00+05:30"
    assert finding["digest"] == RUN
    command = re.search(r"`git (show [^`]+)`", finding["message"])
    assert command is not None
    assert git(registry, *command[1].split()) == git(registry, "show", f"HEAD~:{relative(registry, RUN)}")
    ran = kstore("--registry", registry, "audit")
    assert LINE.match(ran.text.splitlines()[0])
    assert "damaged" in ran.err


def test_a_rename_says_where_to(registry: Path) -> None:
    DEEDS["renamed"][0](registry)
    commit(registry)
    messages = [each["message"] for each in audit(registry, code=1)["findings"]]
    assert any(message.startswith("moved to store/objects/run.json") for message in messages)


def test_metadata_and_other_files_may_change(registry: Path) -> None:
    object_path(registry, RUN, "metadata").write_bytes(b'{"name":"another-name"}')
    commit(registry)
    (registry / "README.md").write_bytes(b"x")
    commit(registry)
    (registry / "README.md").unlink()
    commit(registry)
    settings = registry / "store/kstore.json"
    settings.write_bytes(settings.read_bytes().replace(b'["environmentDigest","protocolDigest"]', b"[]"))
    commit(registry)
    assert audit(registry)["commits"] == 6


@pytest.mark.parametrize("folder", ["attestations/ab/" + "c" * 64, "trust", "checkpoints"])
def test_signed_statements_never_change_and_never_go(folder: str, registry: Path) -> None:
    path = registry / "store" / folder / "1.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"{}")
    commit(registry)
    path.write_bytes(b"[]")
    changed = commit(registry)
    path.unlink()
    removed = commit(registry)
    name = path.relative_to(registry).as_posix()
    assert ("object-changed", changed, name) in found(registry)
    assert ("object-removed", removed, name) in found(registry)


def test_invalid_records_and_references_are_found_where_they_were_added(registry: Path) -> None:
    def other_environment(body: dict[str, object]) -> None:
        body["spec"] = {**body["spec"], "environmentDigest": "sha256:" + "0" * 64}  # type: ignore[dict-item]  # JSON

    def protocol_for_environment(body: dict[str, object]) -> None:
        body["spec"] = {**body["spec"], "environmentDigest": PROTOCOL}  # type: ignore[dict-item]  # JSON

    expected = []
    for code, edit in (
        ("invalid-record", lambda body: body.update(kind="Surprise")),
        ("missing-reference", other_environment),
        ("wrong-kind", protocol_for_environment),
    ):
        digest = recast(registry, RUN, edit)
        expected.append((code, commit(registry), relative(registry, digest)))
    digest = plant(
        registry, json.dumps(json.loads(object_path(registry, ENVIRONMENT).read_bytes())).encode(), {"name": "a"}
    )
    expected.append(("not-canonical", commit(registry), relative(registry, digest)))
    digest = plant(
        registry, canonical(json.loads(object_path(registry, ENVIRONMENT).read_bytes()) | {"spec": {}}), None
    )
    by = commit(registry)
    assert [each for each in found(registry) if each[1] != by] == expected
    assert {code for code, commit, _ in found(registry) if commit == by} == {"invalid-record", "missing-metadata"}


def test_a_record_may_not_come_before_what_it_must_refer_to(empty: Path, registry: Path) -> None:
    """Each commit must be sound by itself: a reference that a later commit fills was open until then."""
    for part in ("objects", "metadata"):
        target = object_path(empty, RUN, part)
        target.parent.mkdir(parents=True)
        target.write_bytes(object_path(registry, RUN, part).read_bytes())
    early = commit(empty)
    git(empty, "pull", "--quiet", "--no-rebase", "--allow-unrelated-histories", "--no-edit", str(registry), "main")
    kstore("--registry", empty, "verify").ok()
    assert {(code, by) for code, by, _ in found(empty)} == {("missing-reference", early)}


def test_orphan_metadata_are_found(registry: Path) -> None:
    path = object_path(registry, "sha256:" + "a" * 64, "metadata")
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b'{"name":"a"}')
    assert found(registry) == []
    assert found(registry, "--since", commit(registry)) == []
    assert [code for code, _, _ in found(registry)] == ["orphan-metadata"]


def test_bytes_that_are_sound_as_a_record_are_not_sound_as_metadata(registry: Path) -> None:
    object_path(registry, RUN, "metadata").write_bytes(object_path(registry, RUN).read_bytes())
    commit(registry)
    assert {code for code, _, _ in found(registry)} == {"invalid-metadata"}


# Side branches and merges.


def branch(registry: Path, name: str, start: str = "HEAD") -> None:
    git(registry, "checkout", "--quiet", "-b", name, start)


def merge(registry: Path, *names: str) -> str:
    git(registry, "merge", "--quiet", "--no-ff", "--no-edit", *names)
    return head(registry)


def test_merges_of_what_others_added_are_sound(empty: Path) -> None:
    add_machine(empty, "base")
    names = [f"side-{number}" for number in range(4)]
    for name in names:
        branch(empty, name, "main")
        add_machine(empty, name)
    git(empty, "checkout", "--quiet", "main")
    merge(empty, names[0])
    merge(empty, *names[1:])
    report = audit(empty)
    assert len(git(empty, "log", "-1", "--format=%P").split()) == 4
    assert report["records_added"] == 5
    assert sum(each["records"] for each in report["by_author"]) == 5


def test_the_same_record_on_two_branches_is_counted_once(empty: Path) -> None:
    branch(empty, "side")
    add_machine(empty, "one")
    git(empty, "checkout", "--quiet", "main")
    git(empty, "commit", "--quiet", "--allow-empty", "--message", "apart")
    add_machine(empty, "one")
    merge(empty, "side")
    assert audit(empty)["records_added"] == 1


def test_a_removal_on_a_side_branch_is_found_after_the_merge(registry: Path) -> None:
    branch(registry, "side")
    DEEDS["removed_with_its_metadata"][0](registry)
    guilty = commit(registry)
    git(registry, "checkout", "--quiet", "main")
    add_machine(registry, "new")
    merged = merge(registry, "side")
    assert {(code, by) for code, by, _ in found(registry)} == {("object-removed", guilty), ("object-removed", merged)}


def test_what_a_side_branch_removed_and_the_merge_kept_is_found(registry: Path) -> None:
    branch(registry, "side")
    DEEDS["removed_with_its_metadata"][0](registry)
    guilty = commit(registry)
    git(registry, "checkout", "--quiet", "main")
    git(registry, "merge", "--quiet", "--strategy=ours", "--no-ff", "--no-edit", "side")
    assert {(code, by) for code, by, _ in found(registry)} == {("object-removed", guilty)}


@pytest.mark.parametrize("first", ["main", "side"])
def test_a_merge_that_drops_the_record_of_one_side_is_found(first: str, empty: Path) -> None:
    branch(empty, "side")
    on_side = add_machine(empty, "on-side")
    git(empty, "checkout", "--quiet", "main")
    on_main = add_machine(empty, "on-main")
    git(empty, "checkout", "--quiet", first)
    other, dropped = ("side", on_side) if first == "main" else ("main", on_main)
    git(empty, "merge", "--quiet", "--strategy=ours", "--no-ff", "--no-edit", other)
    (finding,) = audit(empty, code=1)["findings"]
    assert (finding["code"], finding["digest"], finding["commit"]) == ("object-removed", dropped, head(empty))
    assert git(empty, "rev-parse", other)[:12] in finding["message"]


def test_a_merge_that_brings_in_something_of_its_own_is_found(empty: Path) -> None:
    branch(empty, "side")
    add_machine(empty, "on-side")
    git(empty, "checkout", "--quiet", "main")
    add_machine(empty, "on-main")
    git(empty, "merge", "--quiet", "--no-commit", "--no-ff", "side")
    (empty / "store/evil").write_bytes(b"x")
    merged = commit(empty)
    assert found(empty) == [("unexpected-file", merged, "store/evil")]


def test_only_what_head_reaches_is_audited(registry: Path) -> None:
    branch(registry, "side")
    DEEDS["changed"][0](registry)
    commit(registry)
    git(registry, "checkout", "--quiet", "main")
    assert audit(registry)["commits"] == 2
    git(registry, "checkout", "--quiet", "--detach", "side")
    assert kstore("--registry", registry, "audit").code == 1


def test_since_takes_what_came_before_as_it_is(registry: Path) -> None:
    DEEDS["removed_with_its_metadata"][0](registry)
    bad = commit(registry)
    new = add_machine(registry, "new")
    report = audit(registry, "--since", bad)
    assert (report["commits"], report["records_added"]) == (1, 1)
    object_path(registry, new).unlink()
    commit(registry)
    assert {each["digest"] for each in audit(registry, "--since", bad, code=1)["findings"]} == {new}
    assert audit(registry, "--since", "HEAD")["commits"] == 0
    assert kstore("--registry", registry, "audit", "--since", "nowhere").code == 1


def test_since_looks_references_up_in_what_came_before(registry: Path) -> None:
    start = head(registry)
    recast(registry, RUN, lambda body: body["spec"].update(observedAt="2031-01-01T00:00:00Z"))  # type: ignore[attr-defined]  # JSON
    commit(registry)
    audit(registry, "--since", start)

    def swap(body: dict[str, object]) -> None:
        body["spec"].update(environmentDigest=PROTOCOL)  # type: ignore[attr-defined]  # JSON

    recast(registry, RUN, swap)
    commit(registry)
    assert [each["code"] for each in audit(registry, "--since", start, code=1)["findings"]] == ["wrong-kind"]


def test_linked_working_trees_have_one_history(registry: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(registry, "worktree", "add", "--quiet", "-b", "linked", str(linked))
    DEEDS["removed_with_its_metadata"][0](linked)
    commit(linked)
    assert kstore("--registry", linked, "audit").code == 1
    audit(registry)


# Clones that cannot see everything.


def test_a_shallow_clone_is_incomplete_until_its_command_was_run(registry: Path, tmp_path: Path) -> None:
    add_machine(registry, "new")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{registry}", str(clone))
    report = audit(clone, code=3)
    assert report["commits"] == 1
    assert report["records_added"] == 0
    ran = kstore("--registry", clone, "audit")
    assert "shallow" in ran.err
    assert not (clone / ".git/kstore/audited").exists()
    (gap,) = report["gaps"]
    git(clone, *gap["remedy"].split()[1:])
    assert audit(clone)["commits"] == 3


def test_a_shallow_clone_with_something_wrong_is_wrong(registry: Path, tmp_path: Path) -> None:
    DEEDS["changed"][0](registry)
    commit(registry)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", "--depth", "1", f"file://{registry}", str(clone))
    assert not audit(clone, code=1)["complete"]


@pytest.mark.parametrize("objects", ["blob:none", "tree:0"])
def test_a_partial_clone_is_incomplete_until_its_command_was_run(objects: str, registry: Path, tmp_path: Path) -> None:
    git(registry, "config", "uploadpack.allowFilter", "true")
    object_path(registry, RUN, "metadata").write_bytes(b'{"name":"another-name"}')
    commit(registry)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", f"--filter={objects}", f"file://{registry}", str(clone))
    report = audit(clone, code=3)
    (gap,) = report["gaps"]
    assert "partial clone" in gap["reason"]
    git(clone, *gap["remedy"].split()[1:])
    assert audit(clone)["records_added"] == 13


def test_grafts_do_not_hide_what_they_cut_off(registry: Path) -> None:
    DEEDS["changed"][0](registry)
    guilty = commit(registry)
    git(registry, "checkout", "--quiet", "HEAD~", "--", ".")
    healed = commit(registry)
    good = git(registry, "rev-parse", f"{guilty}~")
    grafts = registry / ".git/info/grafts"
    grafts.write_text(f"{healed} {good}\n")
    assert guilty in {by for _, by, _ in found(registry)}
    grafts.write_text(f"{good}\n")
    git(registry, "reset", "--quiet", "--hard", good)
    report = audit(registry, code=3)
    assert report["commits"] == 2
    (gap,) = report["gaps"]
    assert gap["remedy"] == f"rm '{grafts}'"
    grafts.unlink()
    audit(registry)


@pytest.mark.parametrize("what", ["commit", "blob"])
def test_replacements_do_not_hide_what_they_replace(what: str, registry: Path) -> None:
    DEEDS["changed"][0](registry)
    guilty = commit(registry)
    path = relative(registry, RUN)
    if what == "commit":
        git(registry, "replace", guilty, git(registry, "commit-tree", "HEAD~^{tree}", "-p", "HEAD~", "-m", "x"))
    else:
        git(
            registry, "replace", git(registry, "rev-parse", f"HEAD:{path}"), git(registry, "rev-parse", f"HEAD~:{path}")
        )
    assert {(code, by) for code, by, _ in found(registry)} == {("object-changed", guilty), ("digest-mismatch", guilty)}


# What several processes do together.


@pytest.mark.parametrize("size", [1, 2, 500])
@pytest.mark.parametrize("jobs", [1, 2])
def test_however_the_work_is_shared_out_it_comes_to_the_same(
    size: int, jobs: int, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    branch(registry, "side")
    DEEDS["removed_with_its_metadata"][0](registry)
    commit(registry)
    add_machine(registry, "both")
    git(registry, "checkout", "--quiet", "main")
    git(registry, "config", "user.name", "Another")
    add_machine(registry, "new")
    add_machine(registry, "both")
    recast(registry, RUN, lambda body: body["spec"].update(environmentDigest=PROTOCOL))  # type: ignore[attr-defined]  # JSON
    commit(registry)
    merge(registry, "side")
    blob = git(registry, "rev-parse", f"main~2:{relative(registry, ENVIRONMENT)}")
    (registry / ".git/objects" / blob[:2] / blob[2:]).unlink()
    with Registry.open(registry) as opened:
        expected = audit_of(opened)
        assert len(expected.findings) > 3
        assert len(expected.by_author) == 2
        logged = list(log_of(opened))
        for module in (audit_module, log_module):
            monkeypatch.setattr(module, "_COMMITS_A_BATCH", size)
        assert audit_of(opened, jobs=jobs) == expected
        assert list(log_of(opened, jobs=jobs)) == logged
        assert list(log_of(opened, 2)) == logged[:2]


# What it remembers.


def test_history_that_was_rewritten_after_an_audit_is_said(registry: Path) -> None:
    new = add_machine(registry, "new")
    audit(registry)
    kept = head(registry)
    git(registry, "commit", "--quiet", "--amend", "--message", "amended")
    (finding,) = audit(registry, code=1)["findings"]
    assert (finding["code"], finding["commit"]) == ("history-rewritten", kept)
    assert finding["author"] == "Test Person <person@example.org>"
    git(registry, "reset", "--quiet", "--hard", "HEAD~")
    assert not object_path(registry, new).exists()
    assert [code for code, _, _ in found(registry)] == ["history-rewritten"]
    assert [code for code, _, _ in found(registry, "--since", "HEAD")] == ["history-rewritten"]
    git(registry, "reset", "--quiet", "--hard", kept)
    audit(registry)


def test_what_was_meant_is_accepted_by_removing_the_file(registry: Path) -> None:
    audit(registry)
    git(registry, "commit", "--quiet", "--amend", "--message", "amended")
    (finding,) = audit(registry, code=1)["findings"]
    file = re.search(r"remove (\S+)", finding["message"])
    assert file is not None
    Path(file[1]).unlink()
    audit(registry)


def test_each_branch_is_remembered_by_itself(registry: Path) -> None:
    branch(registry, "side")
    add_machine(registry, "new")
    audit(registry)
    git(registry, "checkout", "--quiet", "main")
    audit(registry)
    git(registry, "checkout", "--quiet", "--detach", "HEAD~")
    audit(registry)


def test_only_a_clean_and_whole_audit_is_remembered(registry: Path) -> None:
    audited = registry / ".git/kstore/audited"
    audit(registry, "--since", "HEAD~")
    assert not audited.exists()
    audit(registry)
    before = audited.read_bytes()
    DEEDS["changed"][0](registry)
    commit(registry)
    audit(registry, code=1)
    assert audited.read_bytes() == before
    audited.write_bytes(b"{")
    audit(registry, code=1)
    audited.write_bytes(json.dumps({"refs/heads/main": "no id"}).encode())
    audit(registry, code=1)


# Objects that nobody would make by accident.


def test_names_that_no_checkout_could_have_are_found(shaped: Path) -> None:
    blob = write_object(shaped, "blob", b"x")
    names = [b"..", b".git", b"a\nb", b"\xff\xfe", b"\x1b[31m", b"a b", b"KSTORE.json", b"kstore.json "]
    guilty = graft(shaped, "store", *[("100644", name, blob) for name in names])
    codes = found(shaped)
    assert {(code, by) for code, by, _ in codes} == {("unexpected-file", guilty)}
    assert len(codes) == len(names)
    ran = kstore("--registry", shaped, "audit")
    assert b"\x1b" not in ran.out
    assert len(ran.text.splitlines()) == len(names) + 1


def test_a_name_that_a_tree_has_twice_is_found(registry: Path) -> None:
    folder = relative(registry, RUN).rpartition("/")[0]
    (entry,) = [each for each in entries(registry, f"HEAD:{folder}") if RUN[7:].encode() in each[1]]
    other = write_object(registry, "blob", b"x")
    for number, oid in enumerate((entry[2], other)):
        start = head(registry)
        guilty = graft(registry, folder, (entry[0], entry[1], oid))
        assert ("unexpected-file", guilty, relative(registry, RUN)) in found(registry), number
        git(registry, "update-ref", "HEAD", start)


@pytest.mark.parametrize("mode", ["100755", "120000", "160000", "40000", "100664", "170000", "0"])
def test_entries_of_every_other_mode_are_found(mode: str, registry: Path) -> None:
    body = canonical(json.loads(object_path(registry, ENVIRONMENT).read_bytes()) | {"spec": {}})
    blob = write_object(registry, "blob", body)
    folder = relative(registry, RUN).rpartition("/")[0]
    graft(registry, folder, (mode, b"e8" + b"0" * 62 + b".json", blob))
    assert found(registry)


def test_a_tree_without_end_is_one_finding(registry: Path) -> None:
    inner = write_object(registry, "blob", b"x")
    mode = "100644"
    for _ in range(3000):
        inner = tree(registry, (mode, b"a", inner))
        mode = "40000"
    guilty = graft(registry, "store", ("40000", b"deep", inner))
    assert found(registry) == [("unexpected-file", guilty, "store/deep")]


def test_files_that_are_too_large_are_not_read(registry: Path) -> None:
    huge = registry.parent / "huge"
    with huge.open("wb") as file:
        file.truncate(300_000_000)
    oid = git(registry, "-c", "core.bigFileThreshold=500m", "hash-object", "-w", str(huge))
    name = "e8" + "1" * 62
    guilty = graft(registry, f"store/objects/{name[:2]}", ("100644", f"{name}.json".encode(), oid))
    path = f"store/objects/e8/{name}.json"
    assert ("unreadable", guilty, path) in found(registry)
    git(registry, "repack", "-adfq")
    assert ("unreadable", guilty, path) in found(registry)


@pytest.mark.parametrize(
    "author",
    [
        b"",
        b"Nobody",
        b"A <a@example.org> 99999999999999999 +0000",
        b"A <a@example.org> -1 -1200",
        b"A <a@example.org> 4294967296 +1400",
        b"A <a@example.org> 1700000000 +9999",
        b"A <a@example.org> 9999999999999999999999999 +0000",
        b"\xff\x1b[31m <> 0 +0000",
    ],
)
def test_whatever_the_author_line_says_it_is_told(author: bytes, registry: Path) -> None:
    raw_commit(registry, git(registry, "rev-parse", "HEAD~^{tree}"), head(registry), author=author)
    report = audit(registry, code=1)
    assert len(report["findings"]) == 13
    assert b"\x1b" not in kstore("--registry", registry, "audit").out
    assert kstore("--registry", registry, "log").code == 0


@pytest.mark.parametrize(
    ("author", "date"),
    [(b"A <> 0 +0000", "1970-01-01T00:00:00+00:00"), (b"A <> 4291747200 -0330", "2105-12-31T20:30:00-03:30")],
)
def test_dates_keep_their_zone(author: bytes, date: str, registry: Path) -> None:
    raw_commit(registry, git(registry, "rev-parse", "HEAD~^{tree}"), head(registry), author=author)
    assert {each["date"] for each in audit(registry, code=1)["findings"]} == {date}
    assert git(registry, "log", "-1", "--format=%aI").replace("Z", "+00:00") == date
