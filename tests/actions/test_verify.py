"""Every way in which a registry can be wrong is found, in a working tree and in a commit that plain git made."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.registries import (
    CLOSURE,
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    Ran,
    environment,
    git,
    kstore,
    load,
    object_path,
    published,
    save,
)
from tests.registries import TVD as REFERENCE_RUN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TVD = "sha256:ae6b46f63ebbe05fd99a0a300e677c432bf7b59aad42e2c3060aa0aaa924daec"
TVD_IMPLEMENTATION = "sha256:e90d40434eb4d4d8e22f5925492553f5dc44d84e54cce8c765357dd7df524a26"
RMS_NORM_IMPLEMENTATION = "sha256:07486a893d05b3338eb1876548053826c12ab08c8afa12bcc829975f75e540c2"

Tamper = "Callable[[Path], object]"


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


def plant(registry: Path, body: bytes, metadata: bytes = b'{"name":"planted"}') -> str:
    """Store bytes as if they were a record, under their own digest."""
    digest = hashlib.sha256(body).hexdigest()
    for part, data in (("objects", body), ("metadata", metadata)):
        path = object_path(registry, digest, part)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
    return f"sha256:{digest}"


def replant(registry: Path, digest: str, change: Callable[[dict[str, Any]], object]) -> str:
    """Store a record that is like another one, but for a change."""
    body = json.loads(object_path(registry, digest).read_bytes())
    change(body)
    return plant(registry, json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())


def write(path: Path, data: bytes = b"x") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def move(registry: Path, digest: str) -> None:
    target = registry / "store" / "objects" / "00" / object_path(registry, digest).name
    target.parent.mkdir(exist_ok=True)
    object_path(registry, digest).rename(target)


def replace_by_link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def replace_by_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def respelled(data: bytes) -> bytes:
    return json.dumps(json.loads(data), indent=2).encode()


def crlf(data: bytes) -> bytes:
    return data + b"\r\n"


CASES: dict[str, tuple[Callable[[Path], object], str, str]] = {
    "a newline at the end": (lambda r: edit(r, RUN, lambda data: data + b"\n"), "digest-mismatch", "newline was added"),
    "CRLF": (lambda r: edit(r, RUN, crlf), "digest-mismatch", "newline was added"),
    "pretty-printed": (lambda r: edit(r, RUN, respelled), "digest-mismatch", "it was formatted"),
    "pretty-printed with CRLF": (
        lambda r: edit(r, RUN, lambda data: respelled(data).replace(b"\n", b"\r\n")),
        "digest-mismatch",
        "it was formatted",
    ),
    "a changed value": (
        lambda r: edit(r, RUN, lambda data: data.replace(b"275712", b"275711")),
        "digest-mismatch",
        "something else now",
    ),
    "cut off": (lambda r: edit(r, RUN, lambda data: data[:-9]), "digest-mismatch", "git log"),
    "emptied": (lambda r: edit(r, RUN, lambda _: b""), "digest-mismatch", "git log"),
    "other bytes": (lambda r: edit(r, RUN, lambda _: b"\xff\x00" * 9), "digest-mismatch", "git log"),
    "brackets": (lambda r: edit(r, RUN, lambda _: b"[" * 100_000), "digest-mismatch", "git log"),
    "another spelling under its own digest": (
        lambda r: plant(r, json.dumps(json.loads(object_path(r, ENVIRONMENT).read_bytes())).encode()),
        "not-canonical",
        "canonical form",
    ),
    "an unsorted set under its own digest": (
        lambda r: plant(
            r, object_path(r, TVD_IMPLEMENTATION).read_bytes().replace(b'"dtypes":[]', b'"dtypes":["b","a"]')
        ),
        "not-canonical",
        "canonical form",
    ),
    "metadata in another spelling": (lambda r: edit(r, RUN, respelled, "metadata"), "not-canonical", "canonical"),
    "an unknown field": (
        lambda r: replant(r, ENVIRONMENT, lambda body: body["spec"].update(colour="red")),
        "invalid-record",
        "spec.colour",
    ),
    "no JSON under its own digest": (lambda r: plant(r, b"nothing"), "invalid-record", ""),
    "metadata within an object": (
        lambda r: replant(r, ENVIRONMENT, lambda body: body.update(metadata={"name": "x"})),
        "invalid-record",
        "metadata",
    ),
    "a stray file": (lambda r: write(r / "store" / "notes.txt"), "unexpected-file", "kstore's own files"),
    "a stray file among the objects": (
        lambda r: write(r / "store" / "objects" / "run.json"),
        "unexpected-file",
        "kstore add",
    ),
    "a backup copy": (
        lambda r: shutil.copy(object_path(r, RUN), f"{object_path(r, RUN)}~"),
        "unexpected-file",
        "kstore's own files",
    ),
    "a folder": (lambda r: write(r / "store" / "objects" / "zz" / "x"), "unexpected-file", ""),
    "a folder too deep": (lambda r: write(r / "store" / "objects" / "ab" / "cd" / "x"), "unexpected-file", ""),
    "a statement": (
        lambda r: write(r / "store" / "attestations" / "ab" / "x.json"),
        "unexpected-file",
        "",
    ),
    "a link in place of an object": (
        lambda r: replace_by_link(object_path(r, RUN)),
        "unexpected-file",
        "a symbolic link",
    ),
    "a link to a folder": (
        lambda r: (r / "store" / "objects" / "zz").symlink_to(r),
        "unexpected-file",
        "a symbolic link",
    ),
    "executable": (lambda r: object_path(r, RUN).chmod(0o755), "bad-mode", "chmod 644"),
    "executable settings": (lambda r: (r / "store" / "kstore.json").chmod(0o755), "bad-mode", "100755"),
    "in a wrong folder": (lambda r: move(r, RUN), "wrong-path", f"store/objects/e8/{RUN[7:]}.json"),
    "no protocol": (lambda r: remove(r, PROTOCOL), "missing-reference", PROTOCOL),
    "no environment": (lambda r: remove(r, ENVIRONMENT), "missing-reference", "environmentDigest"),
    "no implementation": (
        lambda r: remove(r, TVD_IMPLEMENTATION),
        "unresolved-reference",
        f"implementationDigest: {TVD_IMPLEMENTATION}",
    ),
    "a protocol that is an environment": (
        lambda r: replant(r, RUN, lambda body: body["spec"].update(protocolDigest=ENVIRONMENT)),
        "wrong-kind",
        "BenchmarkProtocol",
    ),
    "an implementation of another operation": (
        lambda r: replant(r, RUN, lambda body: body["spec"].update(implementationDigest=RMS_NORM_IMPLEMENTATION)),
        "operation-mismatch",
        TVD,
    ),
    "metadata with an unknown field": (
        lambda r: edit(r, RUN, lambda data: data[:-1] + b',"zzz":1}', "metadata"),
        "invalid-metadata",
        "zzz",
    ),
    "metadata without a name": (lambda r: edit(r, RUN, lambda _: b"{}", "metadata"), "invalid-metadata", "name"),
    "metadata that are no JSON": (lambda r: edit(r, RUN, lambda _: b"\xff", "metadata"), "invalid-metadata", ""),
    "no metadata": (lambda r: remove(r, RUN, "metadata"), "missing-metadata", ""),
    "metadata alone": (lambda r: remove(r, RUN, "objects"), "orphan-metadata", f"store/objects/e8/{RUN[7:]}.json"),
    "over 1 MiB": (lambda r: edit(r, RUN, lambda data: data.ljust(1_048_577)), "unreadable", "1,048,576"),
}
UNCOMMITTED = "uncommitted-change"
WARNINGS = {"unresolved-reference", "operation-mismatch", UNCOMMITTED}
INCOMPLETE = "unresolved-reference"
GONE = {"no protocol", "no environment", "no implementation"}


def findings(ran: Ran) -> list[dict[str, Any]]:
    """Give the findings of a JSON report, whose shape is as promised."""
    report = ran.json()
    assert report.keys() == {"checked", "complete", "findings"}
    assert report["checked"].keys() >= {"objects", "metadata"}
    for finding in report["findings"]:
        assert finding.keys() == {"severity", "code", "path", "digest", "message"}
        assert finding["severity"] == ("warning" if finding["code"] in WARNINGS else "error")
        assert finding["path"].startswith("store/")
        assert finding["digest"] is None or len(finding["digest"]) == 71
    return list(report["findings"])


def commit_by_git(registry: Path) -> None:
    git(registry, "add", "--all", "--force", "store")
    git(registry, "commit", "-q", "-m", "Tamper")


@pytest.mark.parametrize("where", ["tree", "commit", "bare"])
@pytest.mark.parametrize("case", CASES)
def test_tampering_is_found(case: str, where: str, registry: Path, tmp_path: Path) -> None:
    tamper, code, said = CASES[case]
    assert kstore("verify", cwd=registry).ok().text == ""
    tamper(registry)
    arguments = ["verify", "--json"]
    if where == "commit":
        commit_by_git(registry)
        git(registry, "checkout", "-q", "HEAD~")
        arguments += ["--rev", "main"]
    elif where == "bare":
        commit_by_git(registry)
        git(tmp_path, "clone", "-q", "--bare", str(registry), "bare")
        registry = tmp_path / "bare"
    ran = kstore(*arguments, cwd=registry)
    found = [finding for finding in findings(ran) if finding["code"] == code]
    assert found, ran.text
    assert any(said in finding["message"] for finding in found), ran.text
    # Records that are gone from a working tree are missed there, whatever else is said of it.
    codes = {finding["code"] for finding in findings(ran)}
    assert (UNCOMMITTED in codes) == (where == "tree" and case in GONE)
    assert ran.code == (1 if codes - WARNINGS else 3 if UNCOMMITTED in codes else 0)
    assert (ran.code == 1) == (code not in WARNINGS)
    text = kstore(*[word for word in arguments if word != "--json"], cwd=registry)
    assert f": {code}: {found[0]['path']}: " in text.text
    assert text.code == ran.code
    strict = kstore(*arguments, "--strict", cwd=registry)
    assert strict.code == (3 if code == INCOMPLETE else ran.code)
    assert strict.json()["complete"] == codes.isdisjoint({INCOMPLETE, UNCOMMITTED})


def retitled(data: bytes) -> bytes:
    return data.replace(b'"title":"', b'"title":"x', 1)


def doubts(registry: Path, *options: str) -> list[tuple[str, str]]:
    """Give code and path of what verify finds where nothing is wrong and something is not committed."""
    ran = kstore("verify", "--json", *options, cwd=registry)
    found = [(finding["code"], finding["path"]) for finding in findings(ran)]
    assert ran.code == (3 if found else 0)
    assert ran.json()["complete"] == (not found)
    return found


@pytest.mark.parametrize("options", [[], ["--no-cache"], ["--jobs=2"], ["--strict"]])
def test_an_edit_of_metadata_is_named_until_it_is_staged(options: list[str], registry: Path) -> None:
    path = f"store/metadata/e8/{RUN[7:]}.json"
    assert doubts(registry, *options) == []
    edit(registry, RUN, retitled, "metadata")
    for _ in range(2):
        assert doubts(registry, *options) == [(UNCOMMITTED, path)]
    text = kstore("verify", *options, cwd=registry)
    assert f"`git restore {path}`" in text.text
    assert "incomplete" in text.err
    git(registry, "add", path)
    assert doubts(registry, *options) == []
    edit(registry, RUN, retitled, "metadata")
    assert doubts(registry, *options) == [(UNCOMMITTED, path)]
    git(registry, "commit", "-q", "-a", "-m", "Retitle")
    assert doubts(registry, *options) == []


def test_what_it_says_to_do_about_an_edit_helps(registry: Path) -> None:
    edit(registry, RUN, retitled, "metadata")
    remove(registry, TVD_IMPLEMENTATION)
    for finding in findings(kstore("verify", "--json", cwd=registry)):
        for command in re.findall(r"`git (restore [^`]+)`", finding["message"]):
            git(registry, *shlex.split(command))
    assert doubts(registry) == []


def test_settings_that_were_edited_are_named(registry: Path) -> None:
    path = registry / "store" / "kstore.json"
    path.write_bytes(path.read_bytes().replace(b',"protocolDigest"', b""))
    assert doubts(registry) == [(UNCOMMITTED, "store/kstore.json")]


def test_metadata_that_two_records_have_swapped_are_named(registry: Path) -> None:
    paths = [object_path(registry, digest, "metadata") for digest in (RUN, ENVIRONMENT)]
    for path in paths:
        path.write_bytes(b'{"name":"%b"}' % path.name[:4].encode())
    git(registry, "commit", "-q", "-a", "-m", "Rename")
    assert doubts(registry) == []
    one, other = (path.read_bytes() for path in paths)
    for path, data in zip(paths, (other, one), strict=True):
        path.write_bytes(data)
    assert len(doubts(registry)) == 2


def test_a_folder_that_is_gone_is_missed(registry: Path) -> None:
    for part in ("objects", "metadata"):
        shutil.rmtree(object_path(registry, RUN, part).parent)
    assert doubts(registry) == [(UNCOMMITTED, f"store/objects/e8/{RUN[7:]}.json")]


def test_what_a_sparse_checkout_leaves_out_is_not_missed(registry: Path) -> None:
    git(registry, "status")
    git(registry, "sparse-checkout", "set", "--no-cone", "/*", "!/store/*/e8/")
    assert not object_path(registry, RUN).exists()
    assert doubts(registry) == []


def test_records_that_are_not_committed_yet_are_no_damage(empty: Path) -> None:
    assert kstore("add", "--no-commit", CLOSURE, cwd=empty).code == 0
    assert doubts(empty) == []


@pytest.mark.parametrize("index", ["none", "damaged", "split"])
def test_without_an_index_that_can_be_read_head_is_what_counts(index: str, registry: Path) -> None:
    path = registry / ".git" / "index"
    if index == "split":
        git(registry, "update-index", "--split-index")
    edit(registry, RUN, retitled, "metadata")
    if index == "split":
        git(registry, "add", "store")
    elif index == "none":
        path.unlink()
    else:
        path.write_bytes(path.read_bytes()[:99])
    codes = {finding["code"] for finding in kstore("verify", "--json", cwd=registry).json()["findings"]}
    assert codes == {UNCOMMITTED} | ({"damaged-index"} if index == "damaged" else set())


def test_before_the_first_commit_there_is_nothing_to_compare_with(empty: Path) -> None:
    git(empty, "update-ref", "-d", "HEAD")
    assert doubts(empty) == []


def head_findings(registry: Path) -> list[tuple[str, str]]:
    ran = kstore("verify", "--json", cwd=registry)
    assert ran.code == 1
    return [(finding["code"], finding["path"]) for finding in ran.json()["findings"]]


@pytest.mark.parametrize("packed", [False, True])
def test_a_head_that_names_a_branch_without_commits_is_named(packed: bool, registry: Path) -> None:
    if packed:
        git(registry, "pack-refs", "--all")
    git(registry, "symbolic-ref", "HEAD", "refs/heads/mbin")
    assert head_findings(registry) == [("unborn-head", ".git/HEAD")]
    for revision in ("HEAD", "@", "HEAD~1"):
        ran = kstore("verify", "--rev", revision, cwd=registry)
        assert ran.code == 1
        assert "refs/heads/mbin" in ran.err
    (command,) = re.findall(r"`git (symbolic-ref [^`]+)`", kstore("verify", cwd=registry).text)
    git(registry, *command.split())
    assert doubts(registry) == []


def test_a_branch_that_is_gone_is_missed_while_its_log_is_there(registry: Path) -> None:
    (registry / ".git/refs/heads/main").unlink()
    assert head_findings(registry) == [("unborn-head", ".git/HEAD")]


def test_a_bare_registry_whose_head_names_no_commit_is_no_missing_one(registry: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    git(tmp_path, "clone", "-q", "--bare", str(registry), str(bare))
    git(bare, "symbolic-ref", "HEAD", "refs/heads/mbin")
    for command in ("verify", "audit", "list"):
        ran = kstore("--registry", bare, command)
        assert ran.code == 1
        assert "`git symbolic-ref HEAD refs/heads/main`" in ran.err


def test_a_detached_head_whose_commit_is_missing_is_named(registry: Path) -> None:
    (registry / ".git/HEAD").write_text("5" * 40 + "\n")
    assert head_findings(registry) == [("unreadable", ".git/HEAD")]


def test_one_fault_is_one_finding(registry: Path) -> None:
    edit(registry, RUN, lambda data: data + b"\n")
    (finding,) = findings(kstore("verify", "--json", cwd=registry))
    assert finding["path"] == f"store/objects/e8/{RUN[7:]}.json"
    assert finding["digest"] == RUN
    assert finding["code"] == "digest-mismatch"


def test_all_findings_are_reported_together(registry: Path) -> None:
    edit(registry, RUN, lambda data: data + b"\n")
    write(registry / "store" / "notes.txt")
    object_path(registry, ENVIRONMENT).chmod(0o755)
    remove(registry, TVD, "metadata")
    found = findings(kstore("verify", "--json", cwd=registry))
    assert sorted(finding["code"] for finding in found) == [
        "bad-mode",
        "digest-mismatch",
        "missing-metadata",
        "unexpected-file",
    ]
    assert [finding["path"] for finding in found] == sorted(finding["path"] for finding in found)


def test_a_sound_registry_has_counts_and_no_findings(shaped: Path) -> None:
    ran = kstore("--registry", shaped, "verify", "--json", "--strict").ok()
    assert findings(ran) == []
    unsigned = {"attestations": 0, "policies": 0, "checkpoints": 0}
    assert ran.json()["checked"] == {"objects": len(published()), "metadata": len(published()), **unsigned}
    assert ran.json()["complete"] is True


def test_a_pipe_is_not_waited_for(registry: Path) -> None:
    path = object_path(registry, RUN)
    replace_by_pipe(path)
    os.mkfifo(registry / "store" / "pipe")
    codes = {finding["path"]: finding["code"] for finding in findings(kstore("verify", "--json", cwd=registry))}
    assert codes["store/pipe"] == codes[f"store/objects/e8/{path.name}"] == "unexpected-file"


def test_a_submodule(registry: Path) -> None:
    head = git(registry, "rev-parse", "HEAD")
    git(registry, "update-index", "--add", "--cacheinfo", f"160000,{head},store/objects/ab")
    git(registry, "commit", "-q", "-m", "Tamper")
    found = findings(kstore("verify", "--json", "--rev", "HEAD", cwd=registry))
    assert ("unexpected-file", "store/objects/ab") in {(finding["code"], finding["path"]) for finding in found}
    assert any("submodule" in finding["message"] for finding in found)


def make_tree(registry: Path, *entries: tuple[str, bytes, str]) -> str:
    """Write a tree object, whatever it says."""
    data = b"".join(b"%b %b\0%b" % (mode.encode(), name, bytes.fromhex(oid)) for mode, name, oid in entries)
    return git(registry, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", stdin=data)


def commit_tree(registry: Path, store: list[tuple[str, bytes, str]]) -> str:
    tree = make_tree(registry, ("40000", b"store", make_tree(registry, *store)))
    return git(registry, "commit-tree", "-m", "Tamper", tree)


def entries(registry: Path, folder: str) -> list[tuple[str, bytes, str]]:
    """List a folder of HEAD."""
    lines = [line.split(None, 3) for line in git(registry, "ls-tree", f"HEAD:{folder}").splitlines()]
    return [(mode.lstrip("0"), name.encode(), oid) for mode, _, oid, name in lines]


def test_two_entries_of_one_name_in_a_tree(registry: Path) -> None:
    store = entries(registry, "store")
    for double in store:
        commit = commit_tree(registry, sorted([*store, double], key=lambda entry: entry[1]))
        found = findings(kstore("verify", "--json", "--rev", commit, cwd=registry))
        paths = {finding["path"] for finding in found if finding["code"] == "unexpected-file"}
        assert f"store/{double[1].decode()}" in paths


@pytest.mark.parametrize("mode", ["100664", "100600", "100777", "100645"])
def test_modes_that_no_git_writes(mode: str, registry: Path) -> None:
    store = [(mode if name == b"kstore.json" else old, name, oid) for old, name, oid in entries(registry, "store")]
    found = findings(kstore("verify", "--json", "--rev", commit_tree(registry, store), cwd=registry))
    assert ("bad-mode", "store/kstore.json") in {(finding["code"], finding["path"]) for finding in found}


@pytest.mark.parametrize("name", [b"..", b".", b".git", b"\xff\xfe", b"a\nb\x1b[31m", b"a\xe2\x80\xaeb"])
def test_hostile_names_in_a_tree(name: bytes, registry: Path) -> None:
    blob = git(registry, "hash-object", "-w", "--stdin", stdin=b"x")
    commit = commit_tree(registry, sorted([*entries(registry, "store"), ("100644", name, blob)], key=lambda e: e[1]))
    ran = kstore("verify", "--json", "--rev", commit, cwd=registry)
    assert [finding["code"] for finding in findings(ran)] == ["unexpected-file"]
    text = kstore("verify", "--rev", commit, cwd=registry)
    assert text.code == 1
    assert text.out.count(b"\n") == 1
    for hostile in (b"\x1b", b"\xe2\x80\xae", b"\xff"):
        assert hostile not in text.out + ran.out


def test_an_object_that_git_lost(registry: Path) -> None:
    blob = git(registry, "rev-parse", f"HEAD:store/objects/e8/{RUN[7:]}.json")
    (registry / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    found = findings(kstore("verify", "--json", "--rev", "HEAD", cwd=registry))
    assert [(finding["code"], finding["digest"]) for finding in found] == [("unreadable", RUN)]
    assert "git fsck" in found[0]["message"]


@pytest.mark.parametrize(
    "tamper",
    [
        lambda path: path.write_bytes(path.read_bytes() + b"\n"),
        lambda path: path.write_bytes(b'{"fanout":1,"format":9,"requires":[]}'),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b" " * 1_048_577),
        replace_by_link,
        lambda path: (path.unlink(), path.mkdir()),
        replace_by_pipe,
    ],
    ids=["newline", "format 9", "empty", "huge", "link", "folder", "pipe"],
)
def test_damaged_settings_stop_everything(tamper: Callable[[Path], object], registry: Path) -> None:
    tamper(registry / "store" / "kstore.json")
    for command in (["verify"], ["verify", "--json"], ["list"], ["resolve", RUN], ["add", str(REFERENCE_RUN)]):
        ran = kstore(*command, cwd=registry)
        assert (ran.code, ran.out) == (1, b"")
        assert ran.err.startswith("error: ")
        assert "store/kstore.json" in ran.err
        assert ran.err.count("\n") == 1


def test_an_unknown_revision(registry: Path) -> None:
    for revision in ("nowhere", "HEAD~99", "0" * 40, "", "-x", "caf\udce9", "HEAD:store/objects"):
        ran = kstore("verify", f"--rev={revision}", cwd=registry)
        assert ran.code == 1, revision
        assert "no commit is called" in ran.err


def test_a_revision_before_the_registry(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", ".")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "First")
    kstore("init", tmp_path).ok()
    assert kstore("verify", "--rev", "HEAD", cwd=tmp_path).code == 0
    assert kstore("verify", "--rev", "HEAD~", cwd=tmp_path).code == 10


@pytest.mark.parametrize("revision", ["HEAD", "main", "HEAD~1", "refs/heads/main", "v1", "short"])
def test_revisions_as_git_has_them(revision: str, registry: Path, tmp_path: Path) -> None:
    kstore("add", save(tmp_path, environment()), cwd=registry).ok()
    git(registry, "tag", "-a", "-m", "Version 1", "v1")
    if revision == "short":
        revision = git(registry, "rev-parse", "--short", "HEAD")
    objects = kstore("verify", "--json", "--rev", revision, cwd=registry).ok().json()["checked"]["objects"]
    assert objects == len(published()) + (revision != "HEAD~1")


def test_more_than_one_process_finds_the_same(registry: Path) -> None:
    base = load(REFERENCE_RUN)["environment"]["spec"]
    for number in range(600):
        spec = {**base, "settings": {"powerLimitWatts": number + 1}}
        body = {"apiVersion": "kernelindex.dev/v1alpha1", "kind": "ExecutionEnvironment", "spec": spec}
        plant(registry, json.dumps(body, sort_keys=True, separators=(",", ":")).encode(), b'{"name":"x"}')
    edit(registry, RUN, lambda data: data + b"\n")
    ran = kstore("verify", "--json", cwd=registry)
    assert [finding["code"] for finding in findings(ran)] == ["digest-mismatch"]
    assert ran.json()["checked"]["objects"] == 600 + len(published())
