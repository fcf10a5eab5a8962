"""Check a change before it becomes history: what a commit adds is sound, and what was there stays as it was."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.diagnose import diagnose
from kstore.actions.inspect import Finding, inspect
from kstore.actions.refer import DAMAGED, Said, reference_problems, said_unchecked
from kstore.actions.report import Report
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.layout import SETTINGS, Settings, path_of, place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kstore.actions.inspect import Severity
    from kstore.git.change import Change
    from kstore.layout import Place
    from kstore.registry import Registry

_LOST = {
    "objects": ("object-removed", "an object never goes; a wrong one is retracted or superseded"),
    "metadata": ("missing-metadata", "a record that stays keeps its metadata"),
}


class Remedy(msgspec.Struct, frozen=True):
    """What to do about a change that is refused; `{path}` stands for the path, as a shell reads it.

    Attributes:
        undo: Brings back what was there before.
        drop: Takes something new out of the change.
    """

    undo: str
    drop: str


def check_change(
    registry: Registry, changes: Sequence[Change], before: Sequence[Settings], remedy: Remedy, *, strict: bool = False
) -> Report:
    """Check what differs between a snapshot of a registry and those that it was made from.

    Args:
        registry: The new snapshot.
        changes: Everything under store/ that differs.
        before: The settings of the snapshots before, of those that are registries.
        remedy: What to tell people.
        strict: Count references to what the registry need not have as incomplete.
    """
    check = _Check(registry, remedy)
    if any(settings.fanout != registry.settings.fanout for settings in before):
        check.refuse("invalid-settings", SETTINGS, "a registry keeps the fan-out that it was made with", remedy.undo)
    else:
        for change in changes:
            check.enter(change)
        check.pairs({change.path for change in changes if change.now is None})
        # What is required from now on is required of the records that are there already, too.
        required = set(registry.settings.requires)
        everything = any(not required.issubset(settings.requires) for settings in before)
        check.references(registry.digests() if everything else ())
    check.findings.sort(key=lambda finding: (finding.path, finding.code, finding.message))
    unresolved = any(finding.code == "unresolved-reference" for finding in check.findings)
    return Report(dict(check.checked), not (strict and unresolved), tuple(check.findings))


def settings_gone(remedy: Remedy) -> Report:
    """Report that a change would make a registry no registry any more."""
    message = f"a registry keeps its settings{_advice(remedy.undo, SETTINGS)}"
    return Report({"objects": 0, "metadata": 0}, True, (Finding("error", "invalid-settings", SETTINGS, None, message),))


class _Check:
    """One change on its way through the check."""

    def __init__(self, registry: Registry, remedy: Remedy) -> None:
        self._registry = registry
        self._remedy = remedy
        self._fanout = registry.settings.fanout
        self._objects: dict[Digest, Said] = {}
        self._metadata: set[Digest] = set()
        self._looked_up: dict[bytes, Said | None] = {}
        self.checked = Counter(objects=0, metadata=0)
        self.findings: list[Finding] = []

    def refuse(self, code: str, path: str, message: str, advice: str = "", digest: Digest | None = None) -> None:
        """Add a finding."""
        self.findings.append(Finding("error", code, path, digest, message + _advice(advice, path)))

    def enter(self, change: Change) -> None:
        """Look at one path that changes."""
        place = place_of(change.path, self._fanout)
        if place is not None and place.right != change.path:
            place = None
        was_there = any(before is not None and before.type == "file" for before in change.before)
        if change.now is None:
            if place is not None and place.part == "objects" and was_there:
                self._refuse_lost(place)
            return
        if change.now in change.before and all(before in (None, change.now) for before in change.before):
            # Part of the commit that it came with, and of others not; it was checked there.
            return
        inspected = inspect(self._registry.files, change.now, self._fanout, {})
        advice = self._remedy.undo if was_there else self._remedy.drop
        for finding in inspected.findings:
            if place is not None and finding.code == "digest-mismatch":
                self._refuse_bytes(change, place, was_there, advice)
            else:
                message = finding.message + _advice(advice, change.path)
                self.findings.append(msgspec.structs.replace(finding, message=message))
        if inspected.place is not None:
            self.checked[inspected.place.part] += 1
        if place is None or change.now.type != "file":
            return
        if place.part == "objects":
            self._objects[place.digest] = inspected.said
            self._looked_up[place.digest.raw] = inspected.said
        else:
            self._metadata.add(place.digest)

    def pairs(self, gone: set[str]) -> None:
        """Check that objects and metadata come and stay together; `gone` are the paths that are there no longer."""
        for path in gone:
            place = place_of(path, self._fanout)
            if place is None or place.part != "metadata" or place.right != path:
                continue
            if self._said(place.digest.raw) is not None:
                self._refuse_lost(place)
        for digest in self._objects:
            path = path_of("metadata", digest, self._fanout)
            if digest not in self._metadata and path not in gone and not self._is_there(path):
                message = "expected the metadata of a record that this adds; `kstore add` writes both"
                self.refuse("missing-metadata", path, message, digest=digest)
        for digest in self._metadata:
            path = path_of("objects", digest, self._fanout)
            # An object that goes is said to go; its metadata need not be said to be alone.
            if digest not in self._objects and path not in gone and not self._is_there(path):
                message = f"expected their record at {path}; `kstore add` writes both"
                self.refuse("orphan-metadata", path_of("metadata", digest, self._fanout), message, digest=digest)

    def references(self, others: Iterable[Digest]) -> None:
        """Check what the records that came refer to, and what others do."""
        for digest in sorted({*self._objects, *others}):
            said = self._objects.get(digest) or self._said(digest.raw) or DAMAGED
            for problem in reference_problems(said, self._said, self._registry.settings.requires):
                severity: Severity = "error" if problem.refused else "warning"
                path = path_of("objects", digest, self._fanout)
                message = f"{problem.field}: {problem.message}"
                self.findings.append(Finding(severity, problem.code, path, digest, message))

    def _said(self, raw: bytes) -> Said | None:
        if raw not in self._looked_up:
            self._looked_up[raw] = self._read(path_of("objects", Digest.from_raw(raw), self._fanout))
        return self._looked_up[raw]

    def _read(self, path: str) -> Said | None:
        try:
            data = self._registry.files.read(path)
        except KstoreError:
            return DAMAGED
        return None if data is None else said_unchecked(data)

    def _is_there(self, path: str) -> bool:
        try:
            return self._registry.files.read(path) is not None
        except KstoreError:
            return True

    def _refuse_lost(self, place: Place) -> None:
        code, message = _LOST[place.part]
        self.refuse(code, place.right, message, self._remedy.undo, place.digest)

    def _refuse_bytes(self, change: Change, place: Place, was_there: bool, advice: str) -> None:
        """Say of bytes that are not those of their name what happened to them."""
        assert change.now is not None, "what goes has no bytes"
        data = self._registry.files.load(change.now)[1]
        what = diagnose(place.digest, data) or "it is no JSON"
        if was_there:
            self.refuse("object-changed", place.right, f"an object never changes; {what}", advice, place.digest)
            return
        expected = f"expected bytes that hash to {place.digest}, found {Digest.of(data)}; {what}"
        advice += "; `kstore add FILE` adds a document as it should be"
        self.refuse("digest-mismatch", place.right, expected, advice, place.digest)


def _advice(advice: str, path: str) -> str:
    if not advice:
        return ""
    import shlex

    return f": {advice.replace('{path}', shlex.quote(path))}"
