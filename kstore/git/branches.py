"""Where HEAD leads, and which branches there are, read from git's own files (gitrepository-layout(5)).

dulwich is not imported here: it takes as long as looking up a record.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kstore.git.place import Place

_HEAD = "HEAD"
_HEADS = "refs/heads/"
_ID = re.compile(rb"[0-9a-f]{40}")
_LINE = re.compile(rb"([0-9a-f]{40}) ([^\r\n]+)\r?\n?")
_NAME = re.compile(r"refs(/(?!\.)[^/\0]+)+")
_LONGEST_CHAIN = 5
_LONGEST = 4096
_SHOWN = 5


class Head(NamedTuple):
    """What HEAD says.

    Attributes:
        branch: The branch that it names, `refs/heads/main`, or None where it names a commit itself.
        commit: The commit that it leads to, 40 hexadecimal digits, or None where the branch has none.
    """

    branch: str | None
    commit: bytes | None


def head_of(place: Place) -> Head:
    """Follow HEAD.

    Raises:
        KstoreError: It cannot be read, or leads to something that is no commit id.
    """
    name = _HEAD
    for _ in range(_LONGEST_CHAIN):
        data = _stored(place, name)
        branch = None if name == _HEAD else name
        if data is None or _ID.fullmatch(data):
            return Head(branch, data)
        if not data.startswith(b"ref:"):
            raise KstoreError(
                f"{place.root}: {name}: expected that it leads to a commit's id, found {data!r}; run git fsck"
            )
        name = data[4:].strip().decode("utf-8", "surrogateescape")
        if _NAME.fullmatch(name) is None:
            raise KstoreError(f"{place.root}: HEAD: expected a branch, refs/heads/…, found {name!r}; run git fsck")
    raise KstoreError(f"{place.root}: HEAD: expected that it leads to a commit, found branches that name one another")


def lost_head(place: Place, head: Head) -> str | None:
    """Say of a HEAD that leads to no commit why that cannot be right, or None where it can: nobody has committed yet.

    Another branch has commits, or the log of its own branch says that there were some.
    """
    if head.commit is not None or head.branch is None:
        return None
    others = sorted(branches(place))
    if others:
        names = ", ".join(others[:_SHOWN]) + (f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else "")
        return (
            f"HEAD names {head.branch}, which has no commit, while there are commits on {names}; "
            f"`git symbolic-ref HEAD {others[0]}` makes it name that branch"
        )
    log = place.common_dir / "logs" / head.branch
    if log.is_file() and log.stat().st_size:
        return (
            f"HEAD names {head.branch}, which has no commit, while its log says that it had; "
            f"`tail -n 1 '{log}'` tells the last one, the second of the two ids, and `git update-ref HEAD ID` brings "
            "it back"
        )
    return None


def branches(place: Place) -> Iterator[str]:
    """Give the names of the branches that have a commit, some of them perhaps twice."""
    top = place.common_dir
    loose = {path.relative_to(top).as_posix() for path in (top / _HEADS).rglob("*") if path.is_file()}
    for name in loose:
        data = _read(top / name)
        if data is not None and _ID.fullmatch(data):
            yield name
    yield from (name for name in _packed(place) if name.startswith(_HEADS) and name not in loose)


def _stored(place: Place, name: str) -> bytes | None:
    """Give what is stored under a name: an id, or `ref:` and another name; None where nothing is."""
    try:
        data = _read((place.git_dir if name == _HEAD else place.common_dir) / name)
    except (OSError, ValueError) as error:
        raise KstoreError(f"{place.root}: {name} cannot be read: {error}; run git fsck") from error
    if data is None and name == _HEAD:
        raise KstoreError(f"{place.root}: there is no HEAD; run git fsck")
    return _packed(place).get(name) if data is None else data


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            return file.read(_LONGEST).strip()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _packed(place: Place) -> dict[str, bytes]:
    try:
        with (place.common_dir / "packed-refs").open("rb") as file:
            matches = [_LINE.fullmatch(line) for line in file]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise KstoreError(f"{place.root}: packed-refs cannot be read: {error.strerror}; run git fsck") from error
    return {match[2].decode("utf-8", "surrogateescape"): match[1] for match in matches if match}
