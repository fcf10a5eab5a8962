"""Reading git's index without git: whether it is damaged, and what is staged (gitformat-index(5))."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kstore.git.place import Place

_SIGNATURE = b"DIRC"
_HASH = 20
_SMALLEST = 12 + _HASH
_BLOCK = 1 << 20


def index_damage(place: Place) -> str | None:
    """Say what is wrong with the index of a working tree, or None; where there is none, nothing is wrong with it.

    Its checksum is compared, as `git fsck` does it; it may be left out (index.skipHash in git-config(1)).
    """
    path = place.git_dir / "index"
    hashed = hashlib.sha1(usedforsecurity=False)
    try:
        with path.open("rb") as file:
            block = file.read(_BLOCK)
            if len(block) < _SMALLEST or not block.startswith(_SIGNATURE):
                return "expected git's index, found something else"
            while more := file.read(_BLOCK):
                hashed.update(block[:-_HASH])
                block = block[-_HASH:] + more
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"it cannot be read: {error.strerror}"
    hashed.update(block[:-_HASH])
    if block[-_HASH:] in {hashed.digest(), bytes(_HASH)}:
        return None
    return f"expected bytes that hash to {block[-_HASH:].hex()}, found {hashed.hexdigest()}"


def staged(place: Place) -> dict[str, bytes] | None:
    """Give the id, 20 bytes, of each file that is staged and that the working tree should have, by path.

    What a sparse checkout leaves out is not among them, nor what is in conflict. None stands for an index that is not
    there, or that cannot be read here: a damaged one, or one that is split in two files.
    """
    if any(place.git_dir.glob("sharedindex.*")):
        return None
    # It takes a while, and mostly nobody asks.
    from dulwich.index import IndexEntry, read_index_dict_with_version

    try:
        with (place.git_dir / "index").open("rb") as file:
            entries, _, _ = read_index_dict_with_version(file)
    except Exception:
        # dulwich has no common parent for what damaged bytes come to.
        return None
    return {
        path.decode("utf-8", "surrogateescape"): bytes.fromhex(entry.sha.decode())
        for path, entry in entries.items()
        if isinstance(entry, IndexEntry) and not entry.skip_worktree
    }
