"""Verify what git says of a working tree: that HEAD and the index are whole, and that nothing was changed unseen."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from kstore.actions.inspect import UNFINISHED, Finding
from kstore.errors import KstoreError
from kstore.git.branches import head_of, lost_head
from kstore.git.files import UnreadableError
from kstore.git.finished import noted
from kstore.git.index_file import index_damage, staged
from kstore.git.raw import RawObjects
from kstore.git.snapshot import files_of
from kstore.git.tree import TreeFiles
from kstore.git.uncommitted import Differing, blob_id
from kstore.layout import SETTINGS, STORE, is_signed, place_of, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kstore.git.place import Place
    from kstore.registry import Registry

DOUBTFUL = "uncommitted-change"
"""The code of what may be an edit, or damage."""


def committed_files(registry: Registry, findings: list[Finding]) -> TreeFiles | None:
    """Give what HEAD has, to compare a working tree with it; None where that makes no sense.

    Args:
        registry: The registry.
        findings: Takes what is wrong with HEAD.
    """
    place = registry.checked_out
    if place is None:
        return None
    try:
        head = head_of(place)
        files = files_of(RawObjects(place.common_dir / "objects"), head.commit)
        for folder in ("objects", "metadata"):
            files.folder(f"{STORE}/{folder}")
    except KstoreError as error:
        findings.append(Finding("error", "unreadable", ".git/HEAD", None, str(error)))
        return None
    lost = lost_head(place, head)
    if lost is not None:
        findings.append(Finding("error", "unborn-head", ".git/HEAD", None, lost))
    return files


def checkout_findings(
    registry: Registry, place: Place, committed: TreeFiles | None, differing: list[Differing], found: Sequence[Finding]
) -> Iterator[Finding]:
    """Say what is wrong with the index, and what differs from HEAD and is not staged.

    Args:
        registry: The registry, which is read from a working tree.
        place: Where that lies.
        committed: What HEAD has, or None where nobody knows.
        differing: The records' files that are not as HEAD has them.
        found: What was found already: it is not said twice of one file that something is wrong with it.
    """
    damage = index_damage(place)
    if damage is not None:
        message = f"{damage}; `rm .git/index` and `git reset` make it anew, and lose only what was staged"
        yield Finding("error", "damaged-index", ".git/index", None, message)
    if committed is not None:
        yield from _unstaged(registry, place, [*_settings(registry, committed), *differing], found)


def signed_differing(place: Place, here: Mapping[str, bytes]) -> Iterator[Differing]:
    """Give the signed files that are staged otherwise than they are here; without an index nobody can tell.

    Args:
        place: Where the working tree lies.
        here: The ids that git gives to the signed files that are here, by path.
    """
    for path, oid in (staged(place) or {}).items():
        if is_signed(path) and here.get(path) != oid:
            yield Differing(path, here.get(path), oid)


def _settings(registry: Registry, committed: TreeFiles) -> Iterator[Differing]:
    data = registry.files.read(SETTINGS)
    here, there = None if data is None else blob_id(data), _id_in(committed, SETTINGS)
    if here != there:
        yield Differing(SETTINGS, here, there)


def _id_in(files: TreeFiles, path: str) -> bytes | None:
    try:
        found = files.find(path)
    except UnreadableError:
        return None
    return None if found is None else bytes.fromhex(found[1].decode())


def _unstaged(
    registry: Registry, place: Place, differing: list[Differing], found: Sequence[Finding]
) -> Iterator[Finding]:
    paths = {finding.path for finding in found}
    digests = {finding.digest for finding in found}
    left = [each for each in differing if each.path not in paths]
    if not left:
        return
    index = staged(place)
    planned = TreeFiles(RawObjects(place.common_dir / "objects"), noted(place))
    for path, here, there in ((each.path, each.here, each.committed) for each in left):
        # Without an index that can be read, it is as if nothing were staged.
        expected = there if index is None else index.get(path)
        # What neither git's index nor HEAD has is nothing that git would call changed.
        if expected is None or here == expected:
            continue
        of = place_of(path, registry.settings.fanout)
        signed = signed_place_of(path, registry.settings.fanout)
        digest = of.digest if of else signed.subject if signed else None
        if here is not None and _id_in(planned, path) == here:
            yield Finding("warning", "unfinished-write", path, digest, UNFINISHED)
            continue
        if here is None and signed is not None:
            message = f"expected this signed file, which HEAD has; `git restore {shlex.quote(path)}` brings it back"
        elif here is not None:
            message = (
                f"expected what is committed or staged, found a change that is neither, an edit or damage: `git diff "
                f"-- {shlex.quote(path)}` shows it, `git restore {shlex.quote(path)}` takes it back, and `kstore add` "
                "is how metadata are changed"
            )
        elif of is not None and of.part == "objects" and digest not in digests:
            both = f"{STORE}/*/{path.partition('/objects/')[2]}"
            message = f"expected this record, which HEAD has; `git restore '{both}'` brings it back"
        else:
            # Of a record whose object is gone, or which has no metadata left, enough is said.
            continue
        yield Finding("warning", DOUBTFUL, path, digest, message)
