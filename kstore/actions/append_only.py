"""The check of one commit: what it adds is sound, and what its parents have is still there as it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.audit_run import Addition, AuditFinding
from kstore.actions.inspect import inspect_bytes, unexpected
from kstore.actions.refer import DAMAGED, Said, kind_of, reference_problems
from kstore.actions.signed_names import misplaced, wrong_mode
from kstore.digest import Digest
from kstore.git.files import UnreadableError, too_large
from kstore.git.raw import DamagedObjectError, HugeObjectError, MissingObjectError
from kstore.layout import (
    SETTINGS,
    STORE,
    Place,
    is_known_folder,
    is_signed,
    path_of,
    place_of,
    signed_place_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.actions.audit_run import Run
    from kstore.git.difference import Difference
    from kstore.git.files import Entry
    from kstore.git.history import Commit

_OBJECTS = f"{STORE}/objects/"

_SHORT = 12

UNREADABLE = ("missing-object", "damaged-object", "unreadable")
"""The codes of what cannot be read, which may be met many times."""


class CommitCheck:
    """The check of one commit against its parents."""

    def __init__(self, run: Run, commit: Commit, parents: Sequence[Commit], *, whole: bool) -> None:
        """Check `commit` in a run; `whole` tells whether `parents` are all that it has."""
        self._run = run
        self._commit = commit
        self._parents = parents
        self._distinct = list({parent.tree: parent for parent in reversed(parents)}.values())[::-1]
        self._whole = whole
        self._kinds: dict[bytes, str] = {}
        self._new: dict[str, dict[Digest, str]] = {"objects": {}, "metadata": {}}
        self._removed: list[tuple[int, bytes]] = []
        self._settings = run.settings([commit, *parents])

    def check(self) -> None:
        """Go through everything that the commit changed."""
        moved: dict[bytes, str] = {}
        first = len(self._run.findings)
        differences = self._run.history.differences(self._commit, self._distinct, self._enters, self._trouble)
        for difference in differences:
            now, path = difference.now, difference.path
            if path == SETTINGS:
                self._compare_settings(difference)
            elif path.startswith(_OBJECTS) or is_signed(path):
                self._compare(difference)
            if now is None:
                self._gone(path)
            elif now not in difference.before:
                before = len(self._run.findings)
                self._inspect(now, new=not any(difference.before))
                if len(self._run.findings) > before:
                    moved[now.oid] = path
        self._pair()
        findings = self._run.findings
        for place, oid in self._removed:
            if oid in moved:
                message = f"moved to {moved[oid]}; {findings[place].message}"
                findings[place] = msgspec.structs.replace(findings[place], message=message)
        findings[first:] = sorted(findings[first:], key=lambda each: (each.path, each.code))
        if self._kinds:
            self._run.additions.append(Addition(self._commit.author, self._commit.date, self._kinds))

    def _enters(self, path: str) -> bool:
        return is_known_folder(path, self._settings.fanout)

    def _report(self, code: str, path: str, digest: Digest | None, message: str) -> None:
        commit = self._commit
        self._run.findings.append(AuditFinding(code, commit.id, commit.author, commit.date, path, digest, message))

    def _trouble(self, path: str, error: UnreadableError) -> None:
        if self._run.is_news(error):
            self._report(_code(error), path, None, str(error))

    def _compare(self, difference: Difference) -> None:
        """Report what a parent has under a folder where nothing ever changes, and the commit has otherwise or not."""
        place = place_of(difference.path, self._settings.fanout)
        signed = signed_place_of(difference.path, self._settings.fanout)
        digest = place.digest if place else signed.subject if signed else None
        # Without parents there is one `before`, of nothing.
        for parent, before in zip(self._distinct, difference.before, strict=False):
            if before is None or before == difference.now:
                continue
            source = f"`git show {parent.id[:_SHORT]}:{difference.path}`"
            dropped = f"the merge dropped what its parent {parent.id[:_SHORT]} has" if len(self._parents) > 1 else ""
            if difference.now is None:
                message = f"{dropped or 'removed'}; nothing here ever goes; {source} has it still"
                self._removed.append((len(self._run.findings), before.oid))
                self._report("object-removed", difference.path, digest, message)
            else:
                what = _change(before, difference.now)
                self._report("object-changed", difference.path, digest, f"{what}; {source} has it as it was")

    def _compare_settings(self, difference: Difference) -> None:
        for before in difference.before:
            if before is None or before == difference.now:
                continue
            if difference.now is None:
                self._report("settings-changed", SETTINGS, None, "removed; a registry keeps its settings")
                continue
            try:
                old, new = (self._run.settings_in(each.oid) for each in (before, difference.now))
            except UnreadableError:
                continue
            if old is not None and new is not None and old.fanout != new.fanout:
                message = f"expected the fan-out that the registry was made with, {old.fanout}, found {new.fanout}"
                self._report("settings-changed", SETTINGS, None, message)

    def _inspect(self, entry: Entry, *, new: bool) -> None:
        """Look at what no parent has; `new` tells whether none has anything at that path."""
        fanout = self._settings.fanout
        if is_signed(entry.path):
            # What it states is judged when all of history was seen.
            signed = signed_place_of(entry.path, fanout)
            finding = misplaced(entry, fanout) or (signed and wrong_mode(signed, entry.mode))
            if finding:
                self._report(finding.code, entry.path, finding.digest, finding.message)
            return
        stranger = unexpected(entry, fanout)
        if stranger is not None:
            self._report(stranger.code, entry.path, None, stranger.message)
            return
        place = place_of(entry.path, fanout)
        try:
            data = self._run.history.blob(entry.oid)
        except UnreadableError as error:
            if self._run.is_news(error):
                text = str(too_large(entry.path, error.size) if isinstance(error, HugeObjectError) else error)
                self._report(_code(error), entry.path, place.digest if place else None, text)
            return
        # Metadata are no records, and must not pass for sound because a record has the same bytes.
        ledger = self._run.ledger
        known = ledger.entries() if place is not None and place.part == "objects" else {}
        inspected = inspect_bytes(entry.path, entry.mode, data, fanout, known)
        for finding in inspected.findings:
            self._report(finding.code, entry.path, finding.digest, finding.message)
        if inspected.place is None:
            return
        if inspected.place.part == "objects":
            self._enter(inspected.place, inspected.hash, inspected.said, new=new)
        if new:
            self._new[inspected.place.part][inspected.place.digest] = entry.path

    def _enter(self, place: Place, hashed: bytes, said: Said, *, new: bool) -> None:
        """Take in a record: count it, and look up what it refers to in the commit's own tree."""
        if not hashed:
            return
        if new and self._whole:
            self._kinds[place.digest.raw] = kind_of(said) or "damaged"
        self._run.ledger.enter(place.digest.raw, said)
        for problem in reference_problems(said, self._look_up, self._settings.requires):
            if problem.refused:
                self._report(problem.code, place.right, place.digest, f"{problem.field}: {problem.message}")

    def _pair(self) -> None:
        """Report new objects without metadata, and new metadata without an object; mostly both come together."""
        objects, metadata = self._new["objects"], self._new["metadata"]
        for digest in objects.keys() - metadata.keys():
            if self._find("metadata", digest) is None:
                message = f"expected its metadata in the same commit, at {self._path('metadata', digest)}"
                self._report("missing-metadata", objects[digest], digest, message)
        for digest in metadata.keys() - objects.keys():
            if self._find("objects", digest) is None:
                message = f"expected their record in the same commit, at {self._path('objects', digest)}"
                self._report("orphan-metadata", metadata[digest], digest, message)

    def _gone(self, path: str) -> None:
        """Report metadata that went and left their record behind."""
        place = place_of(path, self._settings.fanout)
        if place is None or place.right != path or place.part != "metadata":
            return
        if self._find("objects", place.digest) is not None:
            message = "removed, and their record is still here; metadata may change, and never go"
            self._report("missing-metadata", path, place.digest, message)

    def _look_up(self, digest: bytes) -> Said | None:
        found = self._find("objects", Digest.from_raw(digest))
        if found is None:
            return None
        return self._run.said(digest, found) if found else DAMAGED

    def _find(self, part: str, digest: Digest) -> bytes | None:
        """Give the id of a record's file in the commit, or None; nothing where that cannot be read."""
        try:
            found = self._run.history.find(self._commit, self._path(part, digest))
        except UnreadableError:
            return b""
        return None if found is None else found[1]

    def _path(self, part: str, digest: Digest) -> str:
        return path_of("objects" if part == "objects" else "metadata", digest, self._settings.fanout)


def _code(error: UnreadableError) -> str:
    if isinstance(error, MissingObjectError):
        return "missing-object"
    return "damaged-object" if isinstance(error, DamagedObjectError) else "unreadable"


def _change(before: Entry, now: Entry) -> str:
    if before.oid == now.oid:
        return f"its mode was changed from {before.mode:06o} to {now.mode:06o}"
    if before.type != now.type:
        return f"a {now.type} took the place of a {before.type}"
    return "its bytes were changed"
