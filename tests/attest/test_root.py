from __future__ import annotations

import pickle
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kstore.attest.folder_hashes import FolderHashes
from kstore.attest.merkle import FILE, FOLDER, file_hash, folder_hash
from kstore.attest.root import MAX_DEPTH, Hasher, IncompleteError, Root, RootError, alone, root, roots
from kstore.git.raw import RawObjects
from kstore.layout import MAX_FILE
from tests.attest.trees import Tree, entry, expected_file, expected_folder, expected_root, put, put_tree
from tests.markdown import REPO, sections
from tests.registries import git

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SECTION = sections((REPO / "docs" / "format.md").read_text(), 2)["Checkpoint root"]
SINGLE = {"an empty file": expected_file(b""), "`abc`": expected_file(b"abc"), "an empty folder": expected_folder({})}
VECTORS: dict[str, Tree] = {
    "no `store/` at all": {b"README.md": b"x"},
    "an empty file, `store/a`": {b"store": {b"a": b""}},
    "the three bytes `abc` in `store/a`": {b"store": {b"a": b"abc"}},
    "`abc` in `store/objects/ab/a`, and `x` in `store/checkpoints/1`": {
        b"store": {b"objects": {b"ab": {b"a": b"abc"}}, b"checkpoints": {b"1": b"x"}}
    },
    "`1` in `store/a.json`, `2` in `store/a/b`, and `3` in `store/a0`": {
        b"store": {b"a.json": b"1", b"a": {b"b": b"2"}, b"a0": b"3"}
    },
    "`x` in the file `store/ü`, a name of two bytes, C3 BC": {b"store": {"ü".encode(): b"x"}},
}


def stated() -> dict[str, str]:
    """Give the hashes that the format's document has, by what they are of."""
    return dict(re.findall(r"^\| (.+?) \| `([0-9a-f]{64})` \|$", SECTION, re.MULTILINE))


def root_in(folder: Path, tree: Tree) -> Root:
    return root(Hasher(RawObjects(folder)), put_tree(folder, tree))


def refused(folder: Path, tree: bytes, said: str) -> RootError:
    with pytest.raises(RootError, match=re.escape(said)) as caught:
        root(Hasher(RawObjects(folder)), tree)
    return caught.value


def test_the_document_has_every_vector() -> None:
    assert stated().keys() == VECTORS.keys() | SINGLE.keys()


@pytest.mark.parametrize("what", VECTORS)
def test_the_vectors_of_the_document_hold(what: str, tmp_path: Path) -> None:
    tree = VECTORS[what]
    assert root_in(tmp_path, tree).hash.hex() == expected_root(tree).hex() == stated()[what]


def test_the_documents_hashes_of_single_things_hold() -> None:
    assert {what: stated()[what] for what in SINGLE} == {what: hashed.hex() for what, hashed in SINGLE.items()}
    assert [file_hash(b""), file_hash(b"abc"), folder_hash([])] == list(SINGLE.values())


def test_the_documents_bytes_of_a_folder_hash_to_its_root() -> None:
    written = bytes.fromhex("".join(re.findall(r"^    ([0-9a-f ]+?)(?:  .*)?$", SECTION, re.MULTILINE)))
    from blake3 import blake3

    hashed = blake3(written, derive_key_context="kstore checkpoint v1 folder").hexdigest()
    assert hashed == stated()["the three bytes `abc` in `store/a`"]


NAMES = st.binary(min_size=1, max_size=3).filter(lambda name: not set(name) & {0, 0x2F} and name not in (b".", b".."))
TREES = st.recursive(
    st.dictionaries(NAMES, st.binary(max_size=4), max_size=4),
    lambda inner: st.dictionaries(NAMES, st.binary(max_size=4) | inner, max_size=4),
    max_leaves=12,
)
STORES = st.builds(
    lambda tree, more: {b"store": {**tree, **more}},
    TREES,
    st.dictionaries(st.sampled_from([b"checkpoints", b"objects", b"trust"]), TREES, max_size=3),
)


@given(versions=st.lists(STORES, min_size=1, max_size=4))
def test_roots_are_what_a_plain_implementation_says(
    versions: list[Tree], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("objects")
    trees = {put_tree(folder, version): version for version in versions}
    together = roots(Hasher(RawObjects(folder)), trees)
    for tree, version in trees.items():
        found = together[tree]
        assert isinstance(found, Root)
        assert found.hash == expected_root(version) == root(Hasher(RawObjects(folder)), tree).hash
    shutil.rmtree(folder)


@given(STORES, STORES)
def test_two_stores_have_one_root_just_when_they_are_the_same(one: Tree, other: Tree) -> None:
    def covered(tree: Tree) -> Tree:
        store = tree[b"store"]
        assert isinstance(store, dict)
        return {name: inner for name, inner in store.items() if name != b"checkpoints" or not isinstance(inner, dict)}

    assert (expected_root(one) == expected_root(other)) == (covered(one) == covered(other))


def test_a_repository_of_gits_own_has_the_same_root_loose_and_packed(shaped: Path) -> None:
    folder = Path(git(shaped, "rev-parse", "--absolute-git-dir")) / "objects"
    tree = bytes.fromhex(git(shaped, "rev-parse", "HEAD^{tree}"))
    loose = root(Hasher(RawObjects(folder)), tree)
    git(shaped, "gc", "--quiet")
    packed = root(Hasher(RawObjects(folder)), tree)
    paths = git(shaped, "ls-tree", "-r", "--name-only", "HEAD").splitlines()
    nested: Tree = {}
    for path in paths:
        *folders, name = path.encode().split(b"/")
        inner = nested
        for step in folders:
            deeper = inner.setdefault(step, {})
            assert isinstance(deeper, dict)
            inner = deeper
        inner[name] = _blob(shaped, path)
    assert loose == packed == Root(expected_root(nested), sum(path.startswith("store/objects/") for path in paths))


def _blob(repository: Path, path: str) -> bytes:
    import subprocess

    return subprocess.run(
        ["git", "-C", repository, "cat-file", "blob", f"HEAD:{path}"], check=True, capture_output=True
    ).stdout


def test_what_is_known_is_not_read(tmp_path: Path) -> None:
    before: Tree = {b"store": {b"objects": {b"ab": {b"1": b"one"}, b"cd": {b"2": b"two"}}, b"kstore.json": b"{}"}}
    after: Tree = {b"store": {b"objects": {b"ab": {b"1": b"one"}, b"cd": {b"3": b"three"}}, b"kstore.json": b"{}"}}
    hasher = Hasher(RawObjects(tmp_path))
    root(hasher, put_tree(tmp_path, before))
    tree = put_tree(tmp_path, after)
    kept = put(tmp_path / "elsewhere", "blob", b"one").hex()
    (tmp_path / kept[:2] / kept[2:]).unlink()
    assert root(hasher, tree) == Root(expected_root(after), 2)
    with pytest.raises(IncompleteError, match="store/objects/ab/1"):
        root(Hasher(RawObjects(tmp_path)), tree)


def test_files_of_a_large_folder_that_were_hashed_are_not_read_again(tmp_path: Path) -> None:
    many: dict[bytes, Tree | bytes] = {b"%064x.json" % number: b"%d" % number for number in range(300)}
    before: Tree = {b"store": {b"objects": {b"ab": many}}}
    after: Tree = {b"store": {b"objects": {b"ab": {**many, b"f" * 64 + b".json": b"new"}}}}
    objects, memory = tmp_path / "objects", FolderHashes(tmp_path / "derived")
    first, second = put_tree(objects, before), put_tree(objects, after)
    assert root(Hasher(RawObjects(objects), memory), first) == Root(expected_root(before), 300)
    gone = put(tmp_path / "elsewhere", "blob", b"7").hex()
    (objects / gone[:2] / gone[2:]).unlink()
    hasher = pickle.loads(pickle.dumps(Hasher(RawObjects(objects), memory)))  # noqa: S301  (made one line above)
    assert root(hasher, second) == Root(expected_root(after), 301)
    with pytest.raises(IncompleteError, match=f"store/objects/ab/{7:064x}.json"):
        root(Hasher(RawObjects(objects)), second)
    for remembered in (tmp_path / "derived").rglob("*"):
        if remembered.is_file():
            remembered.write_bytes(remembered.read_bytes()[:-1] + b"x")
    with pytest.raises(IncompleteError, match="store/objects/ab/"):
        root(Hasher(RawObjects(objects), memory), second)


def test_a_hasher_travels_to_another_process_with_what_it_knows(tmp_path: Path) -> None:
    tree = put_tree(tmp_path, {b"store": {b"objects": {b"ab": {b"1": b"one"}}}})
    hasher = Hasher(RawObjects(tmp_path))
    found = root(hasher, tree)
    again = pickle.loads(pickle.dumps(hasher))  # noqa: S301  (made one line above)
    assert again.known == hasher.known
    assert root(again, tree) == found


def test_work_can_be_spread(tmp_path: Path) -> None:
    tree: Tree = {b"store": {b"objects": {bytes([letter]) * 2: {b"1": bytes([letter])} for letter in b"abcdef"}}}
    handed: list[bytes] = []

    def backwards(hasher: Hasher, batches: Sequence[bytes]) -> Iterator[bytes]:
        handed.extend(batches)
        return alone(hasher, batches[::-1])

    found = root(Hasher(RawObjects(tmp_path)), put_tree(tmp_path, tree), backwards)
    assert found == Root(expected_root(tree), 6)
    assert len(handed) == 6


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("100755", "store/x: expected a plain file of git mode 100644 or a folder, found a file of mode 100755"),
        ("120000", "found a link of mode 120000"),
        ("160000", "found a submodule of mode 160000"),
        ("100664", "found a file of mode 100664"),
    ],
)
def test_what_is_no_plain_file_and_no_folder_has_no_root(mode: str, said: str, tmp_path: Path) -> None:
    store = put(tmp_path, "tree", entry(mode, b"x", put(tmp_path, "blob", b"x")))
    refused(tmp_path, put(tmp_path, "tree", entry("40000", b"store", store)), said)


@pytest.mark.parametrize("name", [b"..", b".", b"a/b"])
def test_a_name_that_no_file_can_have_has_no_root(name: bytes, tmp_path: Path) -> None:
    store = put(tmp_path, "tree", entry("100644", name, put(tmp_path, "blob", b"x")))
    refused(tmp_path, put(tmp_path, "tree", entry("40000", b"store", store)), "expected a name that a file can have")


@pytest.mark.parametrize("mode", ["100644", "40000"])
def test_a_name_that_is_there_twice_has_no_root(mode: str, tmp_path: Path) -> None:
    blob, inner = put(tmp_path, "blob", b"x"), put_tree(tmp_path, {b"y": b"z"})
    one, two = entry("100644", b"x", blob), entry(mode, b"x", inner if mode == "40000" else blob)
    store = put(tmp_path, "tree", one + entry("100644", b"x.json", blob) + two)
    refused(tmp_path, put(tmp_path, "tree", entry("40000", b"store", store)), "store/x: expected one entry")


def test_a_store_that_is_a_file_or_there_twice_has_no_root(tmp_path: Path) -> None:
    blob, inner = put(tmp_path, "blob", b"x"), put_tree(tmp_path, {b"y": b"z"})
    for entries in (
        entry("100644", b"store", blob),
        entry("100644", b"store", blob) + entry("40000", b"store", inner),
    ):
        refused(tmp_path, put(tmp_path, "tree", entries), "store: expected one folder")


def test_checkpoints_that_are_a_file_are_covered(tmp_path: Path) -> None:
    tree: Tree = {b"store": {b"checkpoints": b"x"}}
    assert root_in(tmp_path, tree).hash == expected_root(tree) != expected_root({b"store": {}})


def test_a_file_that_is_too_large_has_no_root(tmp_path: Path) -> None:
    largest: Tree = {b"store": {b"x": bytes(MAX_FILE)}}
    assert root_in(tmp_path, largest).hash == expected_root(largest)
    larger = put_tree(tmp_path, {b"store": {b"objects": {b"x": bytes(MAX_FILE + 1)}}})
    refused(tmp_path, larger, "store/objects/x: expected at most")


def test_folders_may_not_be_too_deep(tmp_path: Path) -> None:
    tree: Tree = {b"x": b"y"}
    for _ in range(MAX_DEPTH):
        tree = {b"d": tree}
    assert root_in(tmp_path, {b"store": tree}).hash == expected_root({b"store": tree})
    refused(tmp_path, put_tree(tmp_path, {b"store": {b"d": tree}}), f"at most {MAX_DEPTH} deep")


def test_a_tree_of_which_every_folder_holds_the_same_ten_is_read_once(tmp_path: Path) -> None:
    oid = put_tree(tmp_path, {b"x": b"y"})
    expected = expected_folder({b"x": b"y"})
    for _ in range(MAX_DEPTH):
        names = [bytes([letter]) for letter in b"abcdefghij"]
        oid = put(tmp_path, "tree", b"".join(entry("40000", name, oid) for name in names))
        expected = folder_hash((name, FOLDER, expected) for name in names)
    assert root(Hasher(RawObjects(tmp_path)), put(tmp_path, "tree", entry("40000", b"store", oid))).hash == expected


def test_damage_is_named(tmp_path: Path) -> None:
    tree = put_tree(tmp_path, {b"store": {b"objects": {b"ab": {b"1": b"one"}}}})
    oid = put(tmp_path / "elsewhere", "blob", b"one").hex()
    shutil.copy(tmp_path / "elsewhere" / oid[:2] / oid[2:], tmp_path / oid[:2] / oid[2:])
    path = tmp_path / oid[:2] / oid[2:]
    path.write_bytes(b"no object of git's")
    error = refused(tmp_path, tree, "store/objects/ab/1: git object")
    assert not isinstance(error, IncompleteError)
    path.write_bytes((tmp_path / tree.hex()[:2] / tree.hex()[2:]).read_bytes())
    refused(tmp_path, tree, "store/objects/ab/1: git object")


@pytest.mark.parametrize(("mode", "kind"), [("40000", "blob"), ("100644", "tree")])
def test_an_object_of_another_kind_than_its_entry_says_is_named(mode: str, kind: str, tmp_path: Path) -> None:
    inner = put(tmp_path, "tree", entry(mode, b"x", put(tmp_path, kind, b"")))
    refused(tmp_path, put(tmp_path, "tree", entry("40000", b"store", inner)), "store/x: git object")


def test_one_bad_commit_does_not_spoil_the_others(tmp_path: Path) -> None:
    good: Tree = {b"store": {b"objects": {b"ab": {b"1": b"one"}}}}
    sound = put_tree(tmp_path, good)
    bad = put_tree(tmp_path, {b"store": {b"objects": {b"ab": {b"1": bytes(MAX_FILE + 1)}}}})
    gone = put(tmp_path, "tree", entry("40000", b"store", bytes(20)))
    found = roots(Hasher(RawObjects(tmp_path)), [sound, bad, gone])
    assert found[sound] == Root(expected_root(good), 1)
    assert type(found[bad]) is RootError
    assert type(found[gone]) is IncompleteError


def test_a_file_and_a_folder_of_the_same_hash_differ() -> None:
    assert folder_hash([(b"x", FILE, bytes(32))]) != folder_hash([(b"x", FOLDER, bytes(32))])
