"""The format's document says what is so: its examples, its fields, and the commands that need no kstore.

Every command is run on a sound registry, where it finds nothing, and on one with each thing wrong that it is for.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import kstore
from kstore.layout import ATTRIBUTES_LINE
from kstore.schema import KINDS, REFERENCES, role_of
from tests import markdown
from tests.markdown import REPO, blocks, sections

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENT = (REPO / "docs" / "format.md").read_text()
PARTS = sections(DOCUMENT, 2)
KIND_PARTS = sections(PARTS["Kinds"], 3)
COMMANDS = {
    title: "".join(blocks(part, "sh"))
    for title, part in sections(PARTS["Checking a registry without kstore"], 3).items()
}

_COMMIT = "git add --all && git commit --quiet -m tampered"
_OBJECT = "store/objects/27/2750ae381d6de582f1eb6b9008e0987463d19ede8af127d97d76c5ae09121393.json"
_METADATA = _OBJECT.replace("objects", "metadata")
_STATEMENT = "store/attestations/e8/*/*.json"
_IN_A_MERGE = (
    "git checkout --quiet -b side && git commit --quiet --allow-empty -m side && git checkout --quiet - && "
    f"git merge --quiet --no-ff --no-commit side && git rm --quiet {_OBJECT} && {_COMMIT}"
)
_ON_A_MERGED_BRANCH = (
    f"git checkout --quiet -b side && git rm --quiet {_OBJECT} && {_COMMIT} && git checkout --quiet - && "
    "git merge --quiet -s ours --no-edit side"
)
TAMPERINGS = [
    ("Every name is the SHA-256 of its bytes", f"echo >> {_OBJECT}"),
    ("Every name is the SHA-256 of its bytes", f"sed -i s/H100/H200/ {_OBJECT}"),
    ("Every name is the SHA-256 of its bytes", f"cp {_OBJECT} store/objects/27/{'2' * 64}.json"),
    ("Every name is the SHA-256 of its bytes", f"echo >> {_STATEMENT}"),
    ("Every file is where it belongs, and nothing else is there", f"git mv {_STATEMENT} store/trust && {_COMMIT}"),
    ("Every file is where it belongs, and nothing else is there", f"touch store/notes.txt && {_COMMIT}"),
    ("Every file is where it belongs, and nothing else is there", f"chmod +x {_OBJECT} && {_COMMIT}"),
    ("Every file is where it belongs, and nothing else is there", f"ln -sf x {_OBJECT} && {_COMMIT}"),
    ("Every file is where it belongs, and nothing else is there", f"git mv {_OBJECT} store/objects/e8 && {_COMMIT}"),
    ("Every file is where it belongs, and nothing else is there", f"git mv {_OBJECT} store/objects && {_COMMIT}"),
    ("Every object has metadata, and the other way round", f"rm {_METADATA}"),
    ("Every object has metadata, and the other way round", f"rm {_OBJECT}"),
    ("Every object is canonical", f"echo >> {_METADATA}"),
    ("Every object is canonical", f"""sed -i 's/{{"arch/{{ "arch/' {_OBJECT}"""),
    ("Every object is a record's", f"sed -i s/v1alpha1/v1alpha2/ {_OBJECT}"),
    ("Every object is a record's", f"""sed -i 's/}}$/,"title":"x"}}/' {_OBJECT}"""),
    ("What must be there is there", f"rm {_OBJECT}"),
    ("History only ever adds", f"git rm --quiet {_OBJECT} && {_COMMIT}"),
    ("History only ever adds", f"echo >> {_OBJECT} && {_COMMIT} && git revert --no-edit HEAD"),
    ("History only ever adds", f"git rm --quiet {_STATEMENT} && {_COMMIT}"),
    ("History only ever adds", f"git rm --quiet store/trust/1.json && {_COMMIT}"),
    ("History only ever adds", f"ln -sf x {_OBJECT} && {_COMMIT}"),
    ("History only ever adds", f"git mv {_OBJECT} store/objects/moved.json && {_COMMIT}"),
    ("History only ever adds", _IN_A_MERGE),
    ("History only ever adds", _ON_A_MERGED_BRANCH),
    (
        "History is all there",
        'git clone --quiet --bare --depth 1 "file://$PWD" ../shallow && rm -r .git && mv ../shallow .git',
    ),
    ("History is all there", "git config remote.origin.promisor true"),
    ("Git's own objects are sound", "find .git/objects -type f -path '*/??/*' -print -exec chmod +w {} + -quit"),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A registry with the reference records, signed, and with a merge in its history."""
    clone, env = markdown.fresh_clone(tmp_path_factory.mktemp("format"))
    done = _bash(
        "kstore init ../results && cd ../results && reference=../kstore/tests/data/reference && "
        "git branch colleague && kstore add $reference/closure.json $reference/liger-tvd.json && "
        "git checkout --quiet colleague && kstore add $reference/pytorch-megatron-rms-norm.json && "
        "git merge --quiet --no-edit - && kstore key generate ../key && kstore trust init --name alice --key ../key && "
        "kstore list | kstore sign - --key ../key && kstore verify --strict",
        clone,
        env,
    )
    assert done.returncode == 0, done.stdout
    return clone.parent / "results", env


def _bash(script: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def _need(command: str) -> None:
    if "jq " in command and shutil.which("jq") is None:
        pytest.skip("this command uses jq, which is not installed")


@pytest.mark.parametrize("title", COMMANDS)
def test_command_finds_nothing_in_a_sound_registry(sound: tuple[Path, dict[str, str]], title: str) -> None:
    _need(COMMANDS[title])
    assert _bash(COMMANDS[title], *sound).stdout == ""


@pytest.mark.parametrize(("title", "tampering"), TAMPERINGS)
def test_command_finds_what_is_wrong(
    sound: tuple[Path, dict[str, str]], tmp_path: Path, title: str, tampering: str
) -> None:
    _need(COMMANDS[title])
    registry, env = tmp_path / "results", sound[1]
    shutil.copytree(sound[0], registry, symlinks=True)
    tampered = _bash(tampering, registry, env)
    assert tampered.returncode == 0, tampered.stdout
    if title == "Git's own objects are sound":
        (registry / tampered.stdout.strip()).write_bytes(b"damaged")
    assert _bash(COMMANDS[title], registry, env).stdout != ""


def test_every_command_is_tried_on_something_wrong() -> None:
    assert {title for title, _ in TAMPERINGS} == set(COMMANDS)


def test_sessions(tmp_path: Path) -> None:
    _need(DOCUMENT)
    markdown.check(DOCUMENT, *markdown.fresh_clone(tmp_path))


def test_settings_and_attributes_are_those_of_a_new_registry(sound: tuple[Path, dict[str, str]]) -> None:
    registry, _ = sound
    (settings,) = blocks(PARTS["Settings"], "json")
    assert (registry / "store" / "kstore.json").read_text() == settings.strip()
    assert (registry / ".gitattributes").read_text() == ATTRIBUTES_LINE + "\n"
    assert ATTRIBUTES_LINE in PARTS["Files"]


def test_an_export_is_the_documents_in_the_order_of_their_digests(sound: tuple[Path, dict[str, str]]) -> None:
    with kstore.Registry.open(sound[0]) as registry:
        documents = [registry.get(digest).document() for digest in sorted(registry.digests())]
    assert all(kstore.canonical_json(json.loads(document)) == document for document in documents)
    exported = _bash("kstore export --quiet", *sound).stdout
    assert exported.encode() == b"".join(document + b"\n" for document in documents)


def _examples() -> list[tuple[str, str]]:
    found = re.findall(r"^\| `(.*)` \| `(.*)` \|$", PARTS["Canonical form"], re.MULTILINE)
    assert found
    return found


@pytest.mark.parametrize(("value", "spelled"), _examples())
def test_example_of_the_canonical_form(value: str, spelled: str) -> None:
    assert kstore.canonical_json(json.loads(value, parse_int=float)).decode() == spelled


def test_every_kind_has_its_part_and_its_role() -> None:
    assert tuple(KIND_PARTS) == KINDS
    roles = DOCUMENT[DOCUMENT.index("\nRoles: ") :].partition("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", roles)) == {role_of(kind) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_and_every_word_of_a_kind_is_described(kind: str) -> None:
    described = KIND_PARTS[kind]
    if re.search(r"\bartifact\b", described):
        described += PARTS["Primitives"]
    words = set(re.findall(r"[A-Za-z_0-9]+|<=?", described))
    known = set(_words(kstore.json_schema(kind)["$defs"], kind))
    assert known - words == set()


@pytest.mark.parametrize("kind", REFERENCES)
def test_every_reference_is_described(kind: str) -> None:
    for reference in REFERENCES[kind]:
        name = reference.field.rpartition(".")[2]
        assert re.search(rf"\b{name}:? +digest → {' or '.join(reference.kinds)}\b", KIND_PARTS[kind])


def _words(definitions: dict[str, Any], kind: str) -> Iterator[str]:
    """Give the names of all fields, and all words of enumerations, in the spec of a kind and below."""
    waiting = [definitions[f"{kind}Document"]["properties"]["spec"]]
    seen = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            reference = value.get("$ref")
            if reference is not None and reference not in seen:
                seen.add(reference)
                waiting.append(definitions[reference.rpartition("/")[2]])
            yield from value.get("properties", ())
            yield from (word for word in value.get("enum", ()) if isinstance(word, str))
            waiting.extend(value.values())
