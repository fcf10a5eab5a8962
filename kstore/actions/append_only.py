"""The check of one commit: what it adds is sound, and what its parents have is still there as it was."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from kstore.actions.inspect import inspect_bytes, unexpected
from kstore.actions.ledger import Ledger
from kstore.actions.refer import DAMAGED, Said, kind_of, reference_problems, said_by
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.git.files import UnreadableError, too_large
from kstore.git.raw import DamagedObjectError, HugeObjectError, MissingObjectError
from kstore.layout import SETTINGS, STORE, Place, Settings, is_folder, path_of, place_of
from kstore.schema import SchemaError, check_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.git.difference import Difference
    from kstore.git.files import Entry
    from kstore.git.history import Commit, History

KEPT = tuple(f"{STORE}/{folder}/" for folder in ("objects", "attestations", "trust", "checkpoints"))
"""Where nothing ever changes or goes."""

_SIGNED = re.compile(rf"{STORE}/(?:attestations(?:/[0-9a-f]{{2}}(?:/[0-9a-f]{{64}})?)?|trust|checkpoints)")
_SHORT = 12


class AuditFinding(msgspec.Struct, frozen=True):
    """One thing that is wrong with history.

    Attributes:
        code: What it is, in a word that scripts can rely on.
        commit: The commit that did it.
        author: Who made that.
        date: When, by the author's clock.
        path: The file, from the repository's root; empty where it is about the commit itself.
        digest: The record that it is about, where there is one.
        message: What happened, and what to do.
    """

    code: str
    commit: str
    author: str
    date: str
    path: str
    digest: Digest | None
    message: str


class Tally(msgspec.Struct):
    """What an author added so far."""

    first: str
    last: str = ""
    commits: int = 0
    kinds: Counter[str] = msgspec.field(default_factory=Counter)


class Run:
    """What is known while commits are checked one after another, parents before children.

    Attributes:
        findings: What is wrong so far.
        missing: What a partial clone lacks, one text for each object.
        authors: What each author added.
        added: How many records were added.
        ledger: What the records say that were met.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        """Begin with the settings that hold where a commit has none."""
        self.history = history
        self.findings: list[AuditFinding] = []
        self.missing: set[str] = set()
        self.authors: dict[str, Tally] = {}
        self.added = 0
        self.ledger = Ledger()
        self._default = settings
        self._settings: dict[bytes, Settings | None] = {}
        self._older: dict[bytes, Said] = {}
        self._told: set[str] = set()

    def settings(self, commits: Sequence[Commit]) -> Settings:
        """Give the settings of the first of some commits that has any."""
        for commit in commits:
            try:
                found = self.history.find(commit, SETTINGS)
                settings = None if found is None else self.settings_in(found[1])
            except UnreadableError:
                continue
            if settings is not None:
                return settings
        return self._default

    def settings_in(self, oid: bytes) -> Settings | None:
        """Read settings; None where they are none.

        Raises:
            UnreadableError: There is no reading that file.
        """
        if oid not in self._settings:
            data = self.history.blob(oid)
            try:
                self._settings[oid] = Settings.from_bytes(data)
            except KstoreError:
                self._settings[oid] = None
        return self._settings[oid]

    def said(self, digest: bytes, oid: bytes) -> Said:
        """Give what a record says that is stored in a blob, and that may have been there before the first commit."""
        said = self.ledger.get(digest) or self._older.get(digest)
        if said is None:
            said = DAMAGED
            try:
                data = self.history.blob(oid)
                if Digest.of(data).raw == digest:
                    said = said_by(check_body(data))
            except (UnreadableError, SchemaError):
                # It is reported where it was added.
                pass
            self._older[digest] = said
        return said

    def is_news(self, error: UnreadableError) -> bool:
        """Take in that something cannot be read; tell whether that is to be reported, which is done once."""
        text = str(error)
        if isinstance(error, MissingObjectError) and self.history.partial:
            self.missing.add(text)
            return False
        if text in self._told:
            return False
        self._told.add(text)
        return True


class CommitCheck:
    """The check of one commit against its parents."""

    def __init__(self, run: Run, commit: Commit, parents: Sequence[Commit], *, whole: bool) -> None:
        """Check `commit` in a run; `whole` tells whether `parents` are all that it has."""
        self._run = run
        self._commit = commit
        self._parents = parents
        self._distinct = list({parent.tree: parent for parent in reversed(parents)}.values())[::-1]
        self._whole = whole
        self._kinds: Counter[str] = Counter()
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
            elif path.startswith(KEPT):
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
        self._count()

    def _enters(self, path: str) -> bool:
        return is_folder(path, self._settings.fanout) or _SIGNED.fullmatch(path) is not None

    def _report(self, code: str, path: str, digest: Digest | None, message: str) -> None:
        commit = self._commit
        self._run.findings.append(AuditFinding(code, commit.id, commit.author, commit.date, path, digest, message))

    def _trouble(self, path: str, error: UnreadableError) -> None:
        if self._run.is_news(error):
            self._report(_code(error), path, None, str(error))

    def _compare(self, difference: Difference) -> None:
        """Report what a parent has under a folder where nothing ever changes, and the commit has otherwise or not."""
        place = place_of(difference.path, self._settings.fanout)
        digest = place.digest if place else None
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
        if self._run.ledger.get(place.digest.raw) is None and new and self._whole:
            self._kinds[kind_of(said) or "damaged"] += 1
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

    def _count(self) -> None:
        if not self._kinds:
            return
        commit = self._commit
        tally = self._run.authors.setdefault(commit.author, Tally(commit.date))
        tally.last = commit.date
        tally.commits += 1
        tally.kinds.update(self._kinds)
        self._run.added += self._kinds.total()


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
