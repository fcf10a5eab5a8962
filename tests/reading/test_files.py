from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from kstore.errors import KstoreError
from kstore.reading import read_file
from kstore.reading.limits import MAX_FILE_BYTES

if TYPE_CHECKING:
    from pathlib import Path

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
CODE = "import sys; from kstore.reading import read_file; sys.stdout.buffer.write(read_file('-'))"


def refused(path: Path | str) -> str:
    with pytest.raises(KstoreError) as caught:
        read_file(str(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b"\x00\xff\r\n")
    assert read_file(str(file)) == b"\x00\xff\r\n"
    file.write_bytes(b"")
    assert read_file(str(file)) == b""


def test_what_is_not_there(tmp_path: Path) -> None:
    assert refused(tmp_path / "a") == f"{tmp_path / 'a'}: no such file"
    assert refused("") == ": expected the name of a file, found an empty one"
    assert "no name of a file" in refused("a\0b")
    assert "too long" in refused("a" * 5000)


def test_a_folder(tmp_path: Path) -> None:
    assert refused(tmp_path) == f"{tmp_path}: expected a file, found a folder; name the files in it"


@posix
def test_links(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("gone")
    assert refused(link) == f"{link}: this link leads to gone, which does not exist"
    (tmp_path / "gone").write_bytes(b"here")
    assert read_file(str(link)) == b"here"
    circle = tmp_path / "circle"
    circle.symlink_to("circle")
    assert "symbolic links" in refused(circle)


@posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x")
    file.chmod(0)
    assert refused(file) == f"{file}: no permission to read it"


def test_the_limit(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * MAX_FILE_BYTES)
    assert len(read_file(str(file))) == MAX_FILE_BYTES
    with file.open("ab") as end:
        end.write(b"x")
    assert refused(file) == f"{file}: expected at most 16,777,216 bytes, found 16,777,217; split the file"


@posix
def test_devices_are_read_up_to_the_limit() -> None:
    assert read_file("/dev/null") == b""
    assert refused("/dev/zero") == "/dev/zero: expected at most 16,777,216 bytes, found more; split the file"


@posix
def test_pipes(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refused(pipe) == f"{pipe}: expected a document, found a pipe that nobody writes to"
    reader, writer = os.pipe()

    def feed() -> None:
        os.write(writer, b"late")
        os.close(writer)

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert read_file(f"/dev/fd/{reader}") == b"late"
    feeder.join()
    os.close(reader)


@pytest.mark.parametrize("size", [0, 5, MAX_FILE_BYTES])
def test_standard_input(size: int) -> None:
    done = subprocess.run([sys.executable, "-c", CODE], input=b"x" * size, capture_output=True, check=True)
    assert done.stdout == b"x" * size


@posix
@pytest.mark.parametrize(
    ("redirection", "message"),
    [
        ("</dev/zero", "standard input: expected at most 16,777,216 bytes, found more; split the file"),
        ("<&-", "standard input is closed; give a file, or pipe a document in"),
    ],
)
def test_standard_input_that_cannot_be_read(redirection: str, message: str) -> None:
    command = ["sh", "-c", f'"$0" -c "$1" {redirection}', sys.executable, CODE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert message in done.stderr
