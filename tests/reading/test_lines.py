"""Bulk files of every shape come as whole lines with their numbers, and what is broken or too large is refused."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from kstore.errors import KstoreError
from kstore.reading.lines import MAX_LINE_BYTES, read_lines

MIB = 1 << 20
SKIPPABLE = b"\x50\x2a\x4d\x18\x04\0\0\0abcd"
compress = zstandard.ZstdCompressor().compress


def written(folder: Path, data: bytes, name: str = "file.jsonl") -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


def numbered(path: str) -> list[tuple[int, bytes]]:
    """Give every line with its number, having looked at the pieces that they came in."""
    found: list[tuple[int, bytes]] = []
    pieces = list(read_lines(path))
    for number, piece in pieces[:-1]:
        assert piece.endswith(b"\n"), number
    for first, piece in pieces:
        lines = piece.split(b"\n")
        found += enumerate(lines if lines[-1] else lines[:-1], first)
    return found


def expected(data: bytes) -> list[tuple[int, bytes]]:
    lines = data.split(b"\n")
    return list(enumerate(lines if lines[-1] else lines[:-1], 1))


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"a", b"a\n", b"a\nb", b"a\r\nb\r\n", b"\n\na\n\n", "ä\u2028ö\n".encode()]
)
@pytest.mark.parametrize("name", ["file.jsonl", "file.jsonl.zst"])
def test_short_files(data: bytes, name: str, tmp_path: Path) -> None:
    path = written(tmp_path, compress(data) if name.endswith(".zst") else data, name)
    assert numbered(path) == expected(data)


@pytest.mark.parametrize("size", [1, 99, 4096, 600_000])
@pytest.mark.parametrize("name", ["file", "file.zst"])
def test_lines_keep_their_numbers_across_pieces(size: int, name: str, tmp_path: Path) -> None:
    lines = [bytes((97 + number % 26,)) * (size - number % size // 2) for number in range(max(4, 3 * MIB // size // 2))]
    data = b"\n".join(lines)
    path = written(tmp_path, compress(data) if name.endswith(".zst") else data, name)
    assert len(list(read_lines(path))) > 1
    assert numbered(path) == expected(data)


@given(st.lists(st.binary(max_size=60), max_size=8), st.lists(st.integers(0, 400), max_size=4))
def test_any_number_of_frames_is_one_content(lines: list[bytes], cuts: list[int]) -> None:
    data = b"\n".join(lines)
    ends = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    frames = [compress(data[start:end]) for start, end in pairwise(ends)]
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), SKIPPABLE + SKIPPABLE.join(frames), "file.zst")
        assert numbered(path) == expected(data)


def test_many_empty_frames_and_then_a_line(tmp_path: Path) -> None:
    assert numbered(written(tmp_path, compress(b"") * 5000 + compress(b"a\n"), "file.zst")) == [(1, b"a")]


def test_progress_adds_up_to_the_size_of_the_file(tmp_path: Path) -> None:
    data = compress(bytes(range(256)) * 5000 + b"\n" + b"\n".join(b"%d" % number for number in range(300_000)))
    path = written(tmp_path, data, "file.zst")
    steps: list[int] = []
    assert sum(len(piece) for _, piece in read_lines(path, steps.append)) > len(data) == sum(steps)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\nb\n")))
    assert list(read_lines("-")) == [(1, b"a\nb\n")]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "end in the middle"),
        (compress(b"a\n" * 999)[:-3], "end in the middle"),
        (compress(b"a\n") + compress(b"b\n")[:2], "end in the middle"),
        (compress(b"a\n") + b"hello, here is something else", "expected zstd data, as the name says"),
        (b'{"apiVersion": "kernelindex.dev/v1alpha1"}\n', "expected zstd data, as the name says"),
        (zstandard.ZstdCompressor(write_checksum=True).compress(b"a\n")[:-1] + b"\0", "checksum"),
    ],
    ids=["empty", "cut", "second frame cut", "junk behind", "plain", "checksum"],
)
def test_broken_zstd_is_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, data, "file.zst")
    with pytest.raises(KstoreError, match=message) as caught:
        list(read_lines(path))
    assert path in str(caught.value)


def test_a_file_that_is_not_there_or_is_a_folder(tmp_path: Path) -> None:
    with pytest.raises(KstoreError, match="gone: cannot be opened: No such file"):
        list(read_lines(str(tmp_path / "gone")))
    with pytest.raises(KstoreError, match="Is a directory"):
        list(read_lines(str(tmp_path)))


@pytest.mark.parametrize("before", [b"", b"x\n" * 10, b"x" * 600_000 + b"\n"], ids=["first", "after ten", "after one"])
@pytest.mark.parametrize("after", [b"", b"\nz\n"], ids=["last", "followed"])
@pytest.mark.parametrize("name", ["file", "file.zst"])
def test_a_line_has_at_most_16_mib(before: bytes, after: bytes, name: str, tmp_path: Path) -> None:
    number = before.count(b"\n") + 1
    for size in (MAX_LINE_BYTES, MAX_LINE_BYTES + 1):
        data = before + b"y" * size + after
        path = written(tmp_path, compress(data) if name.endswith(".zst") else data, name)
        if size == MAX_LINE_BYTES:
            assert numbered(path)[number - 1] == (number, b"y" * size)
        else:
            with pytest.raises(KstoreError, match=rf"{name}:{number}: expected a line of at most 16,777,216 bytes"):
                list(read_lines(path))


def bomb(line: bytes, times: int) -> bytes:
    """Write a frame by hand that says the same byte again and again.

    A block of type 1 is one byte and how often it stands there, 128 KiB at most (RFC 8878, section 3.1.1.2).
    """
    header = b"\x28\xb5\x2f\xfd\x00\x58"  # no content size, no checksum, a window of 2 MiB
    block = struct.pack("<I", (128 * 1024) << 3 | 1 << 1)[:3] + line
    last = struct.pack("<I", 1 << 3 | 1 << 1 | 1)[:3] + line
    return header + block * times + last


@pytest.mark.parametrize("line", [b"\0", b"\n"], ids=["one endless line", "nothing but line ends"])
def test_what_unpacks_to_gigabytes_takes_little_memory(line: bytes, tmp_path: Path) -> None:
    path = written(tmp_path, bomb(line, 4096 if line == b"\n" else 32768), "file.zst")
    assert Path(path).stat().st_size < MIB
    code = """if True:
        import resource, sys
        from kstore.errors import KstoreError
        from kstore.reading.lines import read_lines
        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        import zstandard
        before, largest = peak(), 0
        try:
            for _, piece in read_lines(sys.argv[1]):
                largest = max(largest, len(piece))
        except KstoreError as error:
            print(error)
        print(largest, (peak() - before) // 1024)
    """
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, check=True, text=True)
    *errors, numbers = done.stdout.splitlines()
    largest, grown = map(int, numbers.split())
    assert largest <= 2 * MIB
    assert grown < 150
    assert [error.partition(": ")[2] for error in errors] == (
        [] if line == b"\n" else ["expected a line of at most 16,777,216 bytes, found a longer one"]
    )
