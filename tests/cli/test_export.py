"""`kstore export`: where it writes, and what it does when it cannot."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import zstandard

from tests.bulk import lines, run
from tests.registries import commits, environments, kstore, published

if TYPE_CHECKING:
    from pathlib import Path


def test_to_standard_output(registry: Path) -> None:
    ran = kstore("--registry", registry, "export").ok()
    assert ran.out.count(b"\n") == len(published())
    assert ran.out == kstore("--registry", registry, "export", "-", "--quiet").ok().out
    assert ran.err == "note: exported 13 records\n"
    rows = kstore("--registry", registry, "export", "--format", "catalog").ok()
    assert rows.err == "note: exported 10 rows\n"
    assert kstore("--registry", registry, "export", "--quiet").ok().err == ""


def test_to_a_file_and_a_compressed_one(registry: Path, tmp_path: Path) -> None:
    plain = kstore("--registry", registry, "export").ok().out
    for name in ("out.jsonl", "out.jsonl.zst"):
        file = tmp_path / name
        for _ in range(2):
            assert kstore("--registry", registry, "export", file).ok().out == b""
        data = file.read_bytes()
        if name.endswith(".zst"):
            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        assert data == plain
        mask = os.umask(0)
        os.umask(mask)
        assert file.stat().st_mode & 0o777 == 0o666 & ~mask
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "out.jsonl.zst", "registry"]


def test_an_empty_registry_is_an_empty_file_that_can_be_imported(empty: Path, tmp_path: Path) -> None:
    for name in ("out.jsonl", "out.jsonl.zst"):
        kstore("--registry", empty, "export", tmp_path / name).ok()
        assert run(empty, tmp_path / name).ok().json()["rows"] == 0
    assert commits(empty) == 1


def test_there_is_no_such_format_and_no_file_either(registry: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"mine")
    assert kstore("--registry", registry, "export", tmp_path / "out", "--format", "csv").code == 2
    assert (tmp_path / "out").read_bytes() == b"mine"


@pytest.mark.parametrize("target", ["gone/out", ".", "out"])
def test_what_cannot_be_written_is_named(target: str, registry: Path, tmp_path: Path) -> None:
    file = tmp_path / "folder" / target
    (tmp_path / "folder").mkdir()
    if target == "out":
        file.mkdir()
    ran = kstore("--registry", registry, "export", file)
    assert ran.code == 1
    assert f"{file}: cannot be written: " in ran.err
    assert [path.name for path in (tmp_path / "folder").iterdir()] == (["out"] if target == "out" else [])


def test_a_link_stays_one(registry: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there/out")
    for _ in range(2):
        kstore("--registry", registry, "export", tmp_path / "link").ok()
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "there" / "out").read_bytes().count(b"\n") == len(published())
    assert [path.name for path in (tmp_path / "there").iterdir()] == ["out"]


@pytest.mark.parametrize("name", ["pipe", "pipe.zst"])
def test_what_is_no_plain_file_is_written_to_and_not_replaced(name: str, registry: Path, tmp_path: Path) -> None:
    plain = kstore("--registry", registry, "export").ok().out
    os.mkfifo(tmp_path / name)
    with subprocess.Popen(["cat", str(tmp_path / name)], stdout=subprocess.PIPE) as reader:
        kstore("--registry", registry, "export", tmp_path / name).ok()
        assert reader.stdout is not None
        data = reader.stdout.read()
    if name.endswith(".zst"):
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    assert data == plain
    assert (tmp_path / name).is_fifo()


def limited(command: list[str | Path], size: int) -> subprocess.CompletedProcess[bytes]:
    """Run a program that may write no file of more than some bytes, as on a disk that is full."""
    import resource

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return subprocess.run(command, preexec_fn=limit, capture_output=True, check=False)


@pytest.mark.parametrize("name", ["out", "out.zst"])
def test_a_full_disk_leaves_what_was_there(name: str, registry: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    file = tmp_path / "folder" / name
    file.write_bytes(b"before")
    done = limited([sys.executable, "-m", "kstore", "--registry", registry, "export", file], 1000)
    assert done.returncode == 1
    assert f"{file}: cannot be written: File too large" in done.stderr.decode()
    assert [path.read_bytes() for path in (tmp_path / "folder").iterdir()] == [b"before"]


def test_a_reader_that_has_enough_is_no_error(registry: Path) -> None:
    run(registry, "-", stdin=lines(environments(2000))).ok()
    with subprocess.Popen(
        [sys.executable, "-m", "kstore", "--registry", registry, "export"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        assert program.stdout.readline().startswith(b"{")
        program.stdout.close()
        assert program.stderr.read() == b""
    assert program.returncode == 1
