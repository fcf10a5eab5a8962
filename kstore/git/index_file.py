"""Looking whether git's index is damaged, without git (gitformat-index(5))."""

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
