"""Check a change before it becomes history: what a commit adds is sound, and what was there stays as it was."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, ClassVar

import msgspec

from kstore.actions.diagnose import diagnose
from kstore.actions.inspect import Finding, inspect
from kstore.actions.refer import DAMAGED, Said, kind_of, reference_problems, said_unchecked
from kstore.actions.report import Report
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.layout import SETTINGS, Settings, is_signed, path_of, place_of, policy_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kstore.actions.inspect import Severity
    from kstore.attest.evidence import Evidence
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
    registry: Registry,
    changes: Sequence[Change],
    before: Sequence[Settings],
    remedy: Remedy,
    known: Callable[[], Evidence],
    *,
    strict: bool = False,
    settled: Callable[[Digest], bool] = lambda _: False,
) -> Report:
    """Check what differs between a snapshot of a registry and those that it was made from.

    Args:
        registry: The new snapshot.
        changes: Everything under store/ that differs.
        before: The settings of the snapshots before, of those that are registries.
        remedy: What to tell people.
        known: Gives what tells whose signatures count; only asked where there are signed files.
        strict: Count references to what the registry need not have as incomplete.
        settled: Tells which records need no signature although a merge brings them to where a policy wants it: those
            that were taken before there was that policy.
    """
    check = _Check(registry, remedy)
    if any(settings.fanout != registry.settings.fanout for settings in before):
        check.refuse("invalid-settings", SETTINGS, "a registry keeps the fan-out that it was made with", remedy.undo)
    else:
        for change in changes:
            if not is_signed(change.path):
                check.enter(change)
        check.signatures([change for change in changes if is_signed(change.path)], known, settled)
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
    return Report(dict(_Check.CHECKED), True, (Finding("error", "invalid-settings", SETTINGS, None, message),))


class _Check:
    """One change on its way through the check."""

    CHECKED: ClassVar = dict.fromkeys(("objects", "metadata", "attestations", "policies", "checkpoints"), 0)

    def __init__(self, registry: Registry, remedy: Remedy) -> None:
        self._registry = registry
        self._remedy = remedy
        self._fanout = registry.settings.fanout
        self._objects: dict[Digest, Said] = {}
        self._metadata: set[Digest] = set()
        self._looked_up: dict[bytes, Said | None] = {}
        self._merged: list[Change] = []
        self.checked = Counter(self.CHECKED)
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
        if self._is_merged(change, place):
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

    def signatures(
        self, changes: Sequence[Change], known: Callable[[], Evidence], settled: Callable[[Digest], bool]
    ) -> None:
        """Check signed files that change, and that what must be signed is."""
        # Where the registry has no policy, nothing must be signed, and nothing of cryptography is imported.
        if not changes and (not (self._objects or self._merged) or not self._is_there(policy_path(1))):
            return
        from kstore.actions.signed_change import SignedChange

        signed = SignedChange(self._registry, known())
        signed.check(changes)
        self.checked.update(signed.checked)
        kinds = {digest: kind_of(said) for digest, said in self._objects.items()}
        for change in signed.missed(self._merged, changes):
            place = place_of(change.path, self._fanout)
            assert place is not None, "it is an object's"
            if not settled(place.digest):
                kinds[place.digest] = kind_of(self._said(place.digest.raw) or DAMAGED)
        self.findings += [
            *signed.untrusted,
            *self._advised(signed.lost, self._remedy.undo),
            *self._advised(signed.wrong, self._remedy.drop),
        ]
        self.findings += signed.required({digest: kind for digest, kind in kinds.items() if kind})

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

    def _advised(self, findings: Iterable[Finding], advice: str) -> Iterator[Finding]:
        for finding in findings:
            yield msgspec.structs.replace(finding, message=finding.message + _advice(advice, finding.path))

    def _is_merged(self, change: Change, place: Place | None) -> bool:
        """Tell whether it is part of the commit that it came with, where it was checked, and of others not."""
        if change.now not in change.before or any(before not in (None, change.now) for before in change.before):
            return False
        if place is not None and place.part == "objects" and change.now is not None and change.now.type == "file":
            self._merged.append(change)
        return True

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
