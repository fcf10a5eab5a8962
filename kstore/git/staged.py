"""Reading what is staged: the index that git hands to a hook, and what it changes, through the `git` program.

git knows the index in all its forms, and compares its 40,000 entries with HEAD in a few milliseconds. Two processes do
everything, so that a hook costs little: one that lists what changes, and one that reads objects for as long as needed.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import subprocess
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.errors import KstoreError, NoRegistryError
from kstore.git.change import Change
from kstore.git.files import Entry, Type, UnreadableError, printable, too_large
from kstore.git.place import Place, place_at, place_named, places_upwards
from kstore.git.program import Environment, finish, handed_down, of_its_own, output, start
from kstore.layout import MAX_FILE, STORE, is_signed

if TYPE_CHECKING:
    from collections.abc import Iterator

_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_STORE = f":(top){STORE}"
_RAW = (
    "--cached",
    "--raw",
    "-z",
    "--no-abbrev",
    "--no-renames",
    "--ignore-submodules=none",
    "--ita-invisible-in-index",
)
_MERGED = re.compile(r"GITHEAD_([0-9a-f]{40})")
_CHUNK = 1 << 16
_TYPES: dict[int, Type] = {stat.S_IFREG: "file", stat.S_IFLNK: "link", 0o160000: "submodule"}


class StagedFiles:
    """The files of a repository's index (a `Files`, of which nothing is read before it is asked for).

    A context manager, which ends the processes.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Look at the index of the repository around a folder, or of the one that git's environment names.

        Args:
            folder: The top of a working tree; None is for what git's environment says, or the current folder.

        Raises:
            NoRegistryError: There is no repository, or it has no index.
        """
        place, self._environment = _repository(folder)
        if place is None or place.work_tree is None:
            raise NoRegistryError(f"{folder or Path.cwd()}: nothing can be staged here: this is no working tree of git")
        self.place = place
        self._top = place.work_tree
        # Both start now, while the caller still imports what it needs.
        self._listing = self._start_listing("HEAD")
        self._objects = self._start_reading()

    def __enter__(self) -> StagedFiles:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (self._listing, self._objects):
            process.kill()
            process.communicate()

    def changes(self) -> list[Change]:
        """Give what the next commit changes under store/, in the order of the paths; see `_changed`.

        Raises:
            KstoreError: git cannot tell.
        """
        return [self._changed[path] for path in sorted(self._changed)]

    @cached_property
    def _changed(self) -> dict[str, Change]:
        """Find what the next commit changes under store/, by path.

        That is what differs from HEAD; and where a merge is being concluded, also what differs from what is merged in
        and would be lost.
        """
        code, listed = finish(self._listing, good=(0, 128))
        if code:
            if self._object("HEAD") is not None:
                finish(self._start_listing("HEAD"))
            listed = finish(self._start_listing(_EMPTY_TREE))[1]
        found = {path: Change(path, now, (before,)) for path, before, now in _parse(listed)}
        for merged in self.merged():
            for path, before, now in _parse(finish(self._start_listing(merged))[1]):
                if before is not None:
                    known = found.get(path)
                    found[path] = Change(path, now, (*(known.before if known else ()), before))
        return found

    def merged(self) -> list[str]:
        """Name the commits that are being merged into HEAD.

        `git merge` names them in the environment of its hook, before it writes MERGE_HEAD; `git commit`, which
        concludes a merge that had conflicts, finds them there.
        """
        try:
            noted = (self.place.git_dir / "MERGE_HEAD").read_text().split()
        except OSError:
            noted = []
        return sorted({*noted, *(match[1] for name in os.environ if (match := _MERGED.fullmatch(name)))})

    def committed(self, path: str) -> bytes | None:
        """Give the bytes that a file has in HEAD, or None."""
        return self._object(f"HEAD:{path}", path)

    def read(self, path: str) -> bytes | None:
        """Give a file's bytes, or None; see `Files.read`."""
        if path not in self._changed:
            # What does not change is as HEAD has it, and git need not read the whole index once more to find it.
            return self.committed(path)
        entry = self._changed[path].now
        return None if entry is None else self.load(entry)[1]

    def enter(self, entry: Entry) -> Iterator[Entry]:
        """Give everything in a folder that a scan met; see `Files.enter`."""
        return self.scan(entry.path)

    def load(self, entry: Entry) -> tuple[int, bytes]:
        """Give mode and bytes of a file that was listed; see `Files.load`."""
        data = self._object(entry.oid.decode(), entry.path)
        if data is None:
            raise UnreadableError(f"{entry.path}: git object {entry.oid.decode()} is missing; run git fsck")
        return entry.mode, data

    def names(self, folder: str) -> list[str]:
        """Give the names in a folder; see `Files.names`."""
        return [entry.path.rpartition("/")[2] for entry in self.scan(folder)]

    def scan(self, folder: str) -> Iterator[Entry]:
        """Give everything in one folder; see `Files.scan`."""
        # There are few signed files where many records are; git finds them without telling of all that there is.
        folders = self._listed(folder) if is_signed(f"{folder}/") else self._folders
        found = folders.get(folder, {})
        return (found[path] for path in sorted(found))

    @cached_property
    def _folders(self) -> dict[str, dict[str, Entry]]:
        return self._listed(STORE)

    def _listed(self, top: str) -> dict[str, dict[str, Entry]]:
        """Give everything that the index has in a folder and below it: entries by path, by the folder they lie in."""
        folders: dict[str, dict[str, Entry]] = {}
        names = output(self._top, self._environment, "ls-files", "-s", "-z", "--", f":(top,literal){top}")
        for line in names.split(b"\0")[:-1]:
            facts, _, name = line.partition(b"\t")
            mode, oid, _ = facts.split(b" ")
            entry = _entry(_path(name), mode, oid)
            while entry is not None and entry.path:
                folder = entry.path.rpartition("/")[0]
                folders.setdefault(folder, {})[entry.path] = entry
                entry = Entry(folder, "folder")
        return folders

    def _start_listing(self, commit: str) -> subprocess.Popen[bytes]:
        return start(self._top, self._environment, "diff-index", *_RAW, commit, "--", _STORE)

    def _start_reading(self) -> subprocess.Popen[bytes]:
        return start(self._top, self._environment, "cat-file", "--batch", stdin=subprocess.PIPE)

    def _object(self, name: str, path: str = "") -> bytes | None:
        """Read an object by its id, or by a name as gitrevisions(7) has it; None where there is none."""
        process = self._objects
        assert process.stdin is not None, "it was started with a pipe"
        assert process.stdout is not None, "it was started with a pipe"
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(name.encode() + b"\n")
            process.stdin.flush()
        answer = process.stdout.readline()
        if not answer.endswith(b"\n"):
            complaint = process.communicate()[1].decode(errors="replace").strip()
            raise KstoreError(f"git cannot read objects here: {complaint}")
        if answer.endswith(b" missing\n"):
            return None
        size = int(answer.rpartition(b" ")[2])
        if size <= MAX_FILE:
            return process.stdout.read(size + 1)[:-1]
        left = size + 1
        while left and (piece := process.stdout.read(min(left, _CHUNK))):
            left -= len(piece)
        raise too_large(path, size)


def _repository(folder: Path | None) -> tuple[Place | None, Environment]:
    """Find the repository that is meant, and the environment in which git finds it too."""
    named = os.environ.get("GIT_DIR")
    given: Place | None = None
    if named:
        # Without GIT_WORK_TREE the current folder is the top (git(1), "GIT_WORK_TREE").
        given = place_named(Path(named), Path(os.environ.get("GIT_WORK_TREE") or ".").absolute())
    elif around := places_upwards(Path.cwd()):
        given = around[0]
    place = given if folder is None else place_at(folder.absolute())
    if place is None or given is None or place.git_dir.resolve() != given.git_dir.resolve():
        return place, of_its_own()
    return given, handed_down()


def _parse(listed: bytes) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    """Give path, old and new entry of each line of git-diff-index(1)'s raw output format."""
    fields = listed.split(b"\0")
    for facts, name in zip(fields[0:-1:2], fields[1::2], strict=True):
        old_mode, new_mode, old, new, status = facts[1:].split(b" ")
        path = _path(name)
        if status == b"U":
            raise KstoreError(f"{path}: this file has a merge conflict; resolve it, `git add` it, and run this again")
        yield path, _entry(path, old_mode, old), _entry(path, new_mode, new)


def _path(name: bytes) -> str:
    return printable(name.decode("utf-8", "surrogateescape"))


def _entry(path: str, mode: bytes, oid: bytes) -> Entry | None:
    number = int(mode, 8)
    return Entry(path, _TYPES.get(stat.S_IFMT(number), "special"), number, oid) if number else None
