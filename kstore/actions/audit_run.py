"""What an audit knows while it goes from commit to commit: what it found, and what the records say that it met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from kstore.actions.ledger import Ledger
from kstore.actions.refer import DAMAGED, Said, said_by
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.git.files import UnreadableError
from kstore.git.raw import MissingObjectError
from kstore.layout import SETTINGS, Settings
from kstore.schema import SchemaError, check_body

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.git.history import Commit, History


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


class Addition(msgspec.Struct, frozen=True):
    """What one commit added.

    Attributes:
        author: Who made it.
        date: When, by the author's clock.
        kinds: The kind of each record that is new, by its digest, 32 bytes.
    """

    author: str
    date: str
    kinds: dict[bytes, str]


class Run:
    """What is known while commits are checked one after another, parents before children, in one process.

    Attributes:
        history: Whose commits they are.
        findings: What is wrong so far.
        missing: What a partial clone lacks, one text for each object.
        additions: What each commit added that added something.
        ledger: What the records say that were met.
    """

    def __init__(self, history: History, settings: Settings) -> None:
        """Begin with the settings that hold where a commit has none."""
        self.history = history
        self.findings: list[AuditFinding] = []
        self.missing: set[str] = set()
        self.additions: list[Addition] = []
        self.ledger = Ledger()
        self._default = settings
        self._settings: dict[bytes, Settings | None] = {}
        self._older: dict[bytes, Said] = {}
        self._told: set[str] = set()

    def __reduce__(self) -> tuple[type[Run], tuple[History, Settings]]:
        """Travel to another process as what it begins with."""
        return Run, (self.history, self._default)

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
