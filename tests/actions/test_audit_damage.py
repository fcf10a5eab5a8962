"""An audit that reads damaged objects names them, whatever the damage: it never passes, fails otherwise or hangs."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.histories import add_machine, audit, found, head, relative, write_object
from tests.registries import RUN, git, kstore, process


def needed(registry: Path) -> list[str]:
    """Give the ids of all objects that an audit reads: all but those outside store/."""
    lines = git(registry, "rev-list", "--objects", "HEAD").splitlines()
    return [line[:40] for line in lines if line[41:] in ("", "store") or line[41:].startswith("store/")]


def contents(repository: Path, oids: list[str]) -> str:
    """Give what git reads of some objects. A few bits at the end of what zlib compressed mean nothing at all."""
    return git(repository, "cat-file", "--batch", stdin="\n".join(oids).encode(), check=False)


def loose(registry: Path, oid: str) -> Path:
    path = registry / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    return path


def flips(data: bytes, source: random.Random) -> bytes:
    at = source.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :]


@pytest.fixture
def unpacked(registry: Path) -> Path:
    """A registry whose objects all lie loose."""
    add_machine(registry, "new")
    (packs,) = [registry / ".git/objects/pack"]
    for pack in packs.glob("*.pack"):
        moved = pack.rename(registry.parent / pack.name)
        git(registry, "unpack-objects", "-q", stdin=moved.read_bytes())
    for left in packs.iterdir():
        left.unlink()
    return registry


def test_a_flipped_byte_in_any_loose_object_is_found(unpacked: Path) -> None:
    source = random.Random(2)
    harmless = 0
    for oid in needed(unpacked):
        path = loose(unpacked, oid)
        data = path.read_bytes()
        before = contents(unpacked, [oid])
        path.write_bytes(flips(data, source))
        if contents(unpacked, [oid]) == before:
            harmless += 1
            path.write_bytes(data)
            continue
        report = audit(unpacked, code=1)
        assert any(each["code"] == "damaged-object" and oid in each["message"] for each in report["findings"]), oid
        path.write_bytes(data)
    assert harmless < 5
    audit(unpacked)


def test_a_missing_object_is_found(unpacked: Path) -> None:
    for oid in needed(unpacked):
        path = loose(unpacked, oid)
        data = path.read_bytes()
        path.unlink()
        report = audit(unpacked, code=1)
        assert [each["code"] for each in report["findings"] if oid in each["message"]] == ["missing-object"], oid
        path.write_bytes(data)


def test_an_object_that_is_another_ones_is_found(unpacked: Path) -> None:
    """The bytes are sound by themselves, but lie under the id of others: only the hash tells."""
    run = git(unpacked, "rev-parse", f"HEAD:{relative(unpacked, RUN)}")
    for kind, data in (("blob", b'{"a":1}'), ("tree", b""), ("commit", b"x"), ("tag", b"x")):
        path = loose(unpacked, run)
        kept = path.read_bytes()
        write_object(unpacked, kind, data, name=run)
        assert {code for code, _, _ in found(unpacked)} == {"damaged-object"}
        path.write_bytes(kept)


@pytest.mark.parametrize("bare", [False, True])
def test_a_flipped_byte_in_a_pack_is_found(bare: bool, registry: Path, tmp_path: Path) -> None:
    for number in range(20):
        add_machine(registry, f"machine-{number}")
    git(registry, "repack", "-adfq", "--depth=50")
    wanted = needed(registry)
    opened = registry
    if bare:
        opened = Path(shutil.copytree(registry / ".git", tmp_path / "bare.git"))
        git(opened, "config", "core.bare", "true")
    (pack,) = (opened / "objects/pack" if bare else opened / ".git/objects/pack").glob("*.pack")
    data = pack.read_bytes()
    pack.chmod(0o644)
    source = random.Random(3)
    before, harmless = contents(opened, wanted), 0
    for _ in range(60):
        at = source.randrange(len(data))
        pack.write_bytes(data[:at] + bytes([data[at] ^ 1 << source.randrange(8)]) + data[at + 1 :])
        ran = kstore("--registry", opened, "audit", "--json")
        if ran.code == 0:
            assert contents(opened, wanted) == before
            harmless += 1
        else:
            assert ran.code == 1
            assert "Traceback" not in ran.err
            assert ran.err or {each["code"] for each in ran.json()["findings"]} & {
                "damaged-object",
                "damaged-pack",
                "missing-object",
            }
    assert harmless < 10
    pack.write_bytes(data)
    audit(opened)


@pytest.mark.parametrize("size", [0, 1, 100])
def test_a_pack_that_was_cut_off_is_found(size: int, registry: Path) -> None:
    git(registry, "repack", "-adfq")
    for suffix in ("pack", "idx"):
        (path,) = (registry / ".git/objects/pack").glob(f"*.{suffix}")
        data = path.read_bytes()
        path.chmod(0o644)
        path.write_bytes(data[:size])
        ran = process("--registry", registry, "audit")
        assert (ran.code, "Traceback" in ran.err) == (1, False)
        path.write_bytes(data)


def test_damage_in_one_place_does_not_hide_what_is_wrong_elsewhere(unpacked: Path) -> None:
    start = head(unpacked)
    git(unpacked, "rm", "--quiet", relative(unpacked, RUN), relative(unpacked, RUN, "metadata"))
    git(unpacked, "commit", "--quiet", "--message", "drop")
    metadata = git(unpacked, "rev-parse", f"{start}:store/metadata")
    loose(unpacked, metadata).write_bytes(b"")
    codes = {code for code, _, _ in found(unpacked)}
    assert {"damaged-object", "object-removed"} <= codes
