"""Whatever is wrong with a call: exit code 1, a clear message, and a registry that is byte for byte what it was."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest

from tests.registries import (
    ENVIRONMENT,
    PROTOCOL,
    RUN,
    TVD,
    assert_healthy,
    environment,
    git,
    kstore,
    load,
    object_path,
    process,
    save,
    snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def alias_bomb() -> bytes:
    """Write a YAML text of a few lines that means millions of values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    return "\n".join(lines).encode()


def changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    """Take the reference document and change it."""
    document = deepcopy(load(TVD))
    change(document)
    return json.dumps(document).encode()


FILES: dict[str, tuple[str, bytes, list[str]]] = {
    "an unknown field": (
        "x.json",
        changed(lambda d: d["run"]["spec"].update(colour="red")),
        ["x.json:1:", "run.spec.colour"],
    ),
    "null": ("x.json", changed(lambda d: d["run"]["spec"].update(timing=None)), ["run.spec.timing"]),
    "a reference to another kind": (
        "x.json",
        changed(lambda d: (d["run"]["spec"].update(protocolDigest=ENVIRONMENT), d.pop("protocol"))),
        ["run.spec.protocolDigest", "BenchmarkProtocol", "ExecutionEnvironment"],
    ),
    "an edited protocol under its old digest": (
        "x.json",
        changed(lambda d: d["protocol"]["spec"]["measurement"].update(timer="wall_clock")),
        ["run.spec.protocolDigest", PROTOCOL, "spec.measurement.timer", '"cuda_events"', '"wall_clock"'],
    ),
    "an edited protocol with a field more": (
        "x.json",
        changed(lambda d: d["protocol"]["spec"]["measurement"].update(samples=5)),
        ["run.spec.protocolDigest", PROTOCOL, "spec.measurement.samples", "stated nothing, found 5"],
    ),
    "an environment that is nowhere": (
        "x.json",
        changed(lambda d: (d["run"]["spec"].update(environmentDigest="sha256:" + "0" * 64), d.pop("environment"))),
        ["run.spec.environmentDigest", "sha256:" + "0" * 64, "requires"],
    ),
    "over 1 MiB": ("x.json", json.dumps(environment()).encode().ljust(1_048_577), ["1,048,577"]),
    "over 1 MiB of YAML": ("x.yaml", b"# " + b"x" * 1_048_576, ["1,048,57"]),
    "50,000 brackets": ("x.json", b"[" * 50_000, ["x.json:1:"]),
    "50,000 brackets in YAML": ("x.yaml", b"[" * 50_000, ["x.yaml:1:"]),
    "an alias bomb": ("x.yaml", alias_bomb(), ["x.yaml"]),
    "a custom tag": ("x.yaml", b"kind: !!python/object:os.system x\n", ["x.yaml:1:7", "tag"]),
    "a key twice": ("x.json", b'{"kind": 1, "kind": 2}', ["kind", "1:13"]),
    "invalid UTF-8": ("x.json", b'{"kind": "\xff"}', ["UTF-8", "1:11"]),
    "an empty file": ("x.json", b"", ["empty"]),
    "a binary file": ("x.json", bytes(range(256)), ["binary"]),
    "something else": ("x.json", b'{"answer": 42}', ["apiVersion"]),
    "a number": ("x.yaml", b"42", ["a number"]),
}


@pytest.mark.parametrize("case", FILES)
def test_bad_file(case: str, registry: Path, tmp_path: Path) -> None:
    name, data, said = FILES[case]
    (tmp_path / name).write_bytes(data)
    good = save(tmp_path, environment(), "good.json")
    before = snapshot(registry)
    ran = kstore("--registry", registry, "add", "--json", good, name, cwd=tmp_path)
    assert ran.code == 1
    assert ran.out == b""
    assert ran.err.startswith(f"error: {name}")
    assert [word for word in said if word not in ran.err] == [], ran.err
    assert ran.err.count("\n") == 1, ran.err
    assert snapshot(registry) == before


def test_all_bad_files_in_one_process(registry: Path, tmp_path: Path) -> None:
    names = []
    for number, (name, data, _) in enumerate(FILES.values()):
        names.append(f"{number}-{name}")
        (tmp_path / names[-1]).write_bytes(data)
    before = snapshot(registry)
    ran = process("--registry", registry, "add", *names, cwd=tmp_path)
    assert ran.code == 1
    assert ran.out == b""
    assert "Traceback" not in ran.err
    # Wrong references are looked for once all documents are sound.
    said = {line.removeprefix("error: ").split(":")[0] for line in ran.err.splitlines()}
    wrong_references = {f"{number}-x.json" for number in range(2, 6)}
    assert said == set(names) - wrong_references
    assert snapshot(registry) == before


def test_a_bad_file_by_standard_input(registry: Path) -> None:
    before = snapshot(registry)
    ran = process("add", "-", stdin=FILES["a key twice"][1], cwd=registry)
    assert ran.code == 1
    assert ran.err.startswith("error: <stdin>:1:13: ")
    assert snapshot(registry) == before


def test_every_fault_of_every_file_is_reported(registry: Path, tmp_path: Path) -> None:
    save(tmp_path, environment(more=1, settings={"eccEnabled": "yes"}), "one.json")
    save(tmp_path, environment(hardware={}), "two.json")
    ran = kstore("--registry", registry, "add", "one.json", "two.json", "three.json", cwd=tmp_path)
    lines = ran.err.splitlines()
    assert ran.code == 1
    for words in (
        ("one.json", "spec.more"),
        ("one.json", "spec.settings.eccEnabled"),
        ("two.json", "spec.hardware.vendor"),
        ("two.json", "spec.hardware.product"),
        ("three.json", "no such file"),
    ):
        assert any(all(word in line for word in words) for line in lines), (words, ran.err)


def test_faults_across_documents_are_reported_together(registry: Path, tmp_path: Path) -> None:
    def break_both(document: dict[str, Any]) -> None:
        document["protocol"]["spec"]["measurement"]["timer"] = "wall_clock"
        document["environment"]["spec"]["hardware"]["product"] = "H200"

    (tmp_path / "x.json").write_bytes(changed(break_both))
    ran = kstore("--registry", registry, "add", tmp_path / "x.json")
    assert ran.code == 1
    assert "spec.hardware.product" in ran.err
    assert "spec.measurement.timer" in ran.err


def test_an_edited_protocol_that_the_registry_never_had_is_noticed_too(empty: Path, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_bytes(changed(lambda d: d["protocol"]["spec"]["measurement"].update(timer="wall_clock")))
    ran = kstore("add", file, cwd=empty)
    assert ran.code == 1
    assert ran.err.count("error: ") == 1
    assert PROTOCOL in ran.err
    assert "run.spec.protocolDigest" in ran.err


def make_folder(path: Path) -> None:
    path.mkdir()


def make_dangling_link(path: Path) -> None:
    path.symlink_to("nowhere")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (make_folder, "folder"),
        (make_dangling_link, "nowhere"),
        (make_pipe, "pipe"),
        (lambda _: None, "no such file"),
    ],
    ids=["folder", "dangling link", "pipe", "missing"],
)
def test_what_is_no_file(make: Callable[[Path], None], said: str, registry: Path, tmp_path: Path) -> None:
    make(tmp_path / "x.json")
    before = snapshot(registry)
    ran = process("--registry", registry, "add", "x.json", cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.startswith("error: x.json: ")
    assert said in ran.err
    assert ran.err.count("\n") == 1
    assert snapshot(registry) == before


def test_a_damaged_record_does_not_pass_for_the_one_that_is_added(registry: Path) -> None:
    path = object_path(registry, RUN)
    path.write_bytes(path.read_bytes().replace(b"275712", b"275711"))
    git(registry, "commit", "-q", "-a", "-m", "Tamper")
    before = snapshot(registry)
    ran = kstore("add", TVD, cwd=registry)
    assert ran.code == 1
    assert f"{RUN} is damaged" in ran.err
    assert snapshot(registry) == before


def fails_as_nobody() -> bool:
    return os.geteuid() != 0 or shutil.which("setpriv") is None


@pytest.fixture
def without_root(registry: Path, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """What to put before a command so that permissions bind it, with a way for it to the registry."""
    if fails_as_nobody():
        pytest.skip("needs root, and setpriv to give it up")
    prefix = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    folders = [folder for folder in (tmp_path, *tmp_path.parents) if not folder.stat().st_mode & 0o001]
    modes = {folder: folder.stat().st_mode for folder in folders}
    for folder in folders:
        folder.chmod(folder.stat().st_mode | 0o711)
    python = subprocess.run([*prefix, sys.executable, "-c", "import kstore"], capture_output=True, check=False)
    if python.returncode:
        pytest.skip("somebody else than root cannot run this Python")
    yield prefix
    for folder, mode in modes.items():
        folder.chmod(mode)


@pytest.mark.parametrize("bare", [False, True])
def test_a_registry_that_may_only_be_read(
    bare: bool, registry: Path, without_root: tuple[str, ...], tmp_path: Path
) -> None:
    where = tmp_path / "bare" if bare else registry
    if bare:
        git(tmp_path, "clone", "-q", "--bare", str(registry), str(where))
        (where / "kstore").mkdir()
        (where / "kstore" / "lock").touch(mode=0o644)
    file = save(tmp_path, environment())
    before = snapshot(where)
    ran = process("--registry", where, "add", file, before=without_root)
    assert ran.code == 1
    assert "Permission denied" in ran.err
    assert "Traceback" not in ran.err
    assert snapshot(where) == before
    assert (
        process("--registry", where, "resolve", RUN, before=without_root).ok().json()["run"]["kind"] == "BenchmarkRun"
    )
    assert snapshot(where) == before


def test_a_file_that_may_not_be_read(registry: Path, without_root: tuple[str, ...], tmp_path: Path) -> None:
    file = save(tmp_path, environment())
    file.chmod(0)
    ran = process("--registry", registry, "add", file, before=without_root)
    assert ran.code == 1
    assert "no permission" in ran.err


@pytest.fixture
def small_disk() -> tuple[str, ...]:
    """What to put before a shell command so that it may mount a disk of its own."""
    prefix = ("unshare", "--mount", "--map-root-user")
    try:
        subprocess.run([*prefix, "mount", "-t", "tmpfs", "none", "/mnt"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine lets nobody mount a disk in a namespace")
    return prefix


FULL_DISK = r"""
set -e
mount -t tmpfs -o size=8m none "$1"
cp -a "$2" "$1/registry"
git -C "$1/registry" status --porcelain >/dev/null
find "$1/registry" -type f | sort | xargs sha256sum >"$3/before"
dd if=/dev/zero of="$1/filler" bs=4k 2>/dev/null || true
set +e
"$4" -m kstore --registry "$1/registry" add "$5"
echo "code $?"
find "$1/registry" -type f | sort | xargs sha256sum | diff - "$3/before" && echo same
rm "$1/filler"
"$4" -m kstore --registry "$1/registry" add "$5" && "$4" -m kstore --registry "$1/registry" verify
echo "code $?"
git -C "$1/registry" status --porcelain
"""


def test_a_full_disk(registry: Path, small_disk: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    file = save(tmp_path, environment())
    done = subprocess.run(
        [*small_disk, "sh", "-c", FULL_DISK, "sh", tmp_path / "disk", registry, tmp_path, sys.executable, file],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    first, *rest = done.stdout.splitlines()
    assert [first, rest[0], rest[2:]] == ["code 1", "same", ["code 0"]], (done.stdout, done.stderr)


READ_ONLY = r"""
set -e
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
exec "$2" -m kstore --registry "$1" add "$3"
"""


def test_a_read_only_disk(registry: Path, small_disk: tuple[str, ...], tmp_path: Path) -> None:
    file, before = save(tmp_path, environment()), snapshot(registry)
    done = subprocess.run(
        [*small_disk, "sh", "-c", READ_ONLY, "sh", registry, sys.executable, file],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr
    assert "Traceback" not in done.stderr
    assert snapshot(registry) == before
    assert_healthy(registry)
