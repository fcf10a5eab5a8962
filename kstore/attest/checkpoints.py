"""The checkpoints of a registry, checked: who signed them, what they state, and that each contains the one before."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from kstore.attest.checkpoint import Checkpoint, CheckpointError, read_checkpoint
from kstore.attest.checkpoint_report import CODE, Checkpoints, Good, Problem, Severity
from kstore.attest.checkpoint_signers import signers_of
from kstore.attest.contained import Ancestry, Growth
from kstore.attest.instant import instant_of, now
from kstore.attest.root import IncompleteError, Root, RootError
from kstore.digest import Digest
from kstore.git.files import UnreadableError
from kstore.git.raw import MissingObjectError
from kstore.layout import STORE, checkpoint_path, numbers_in

if TYPE_CHECKING:
    from kstore.attest.appearance import Appearance, Appearances
    from kstore.attest.chain import Trust
    from kstore.attest.envelope import Envelope
    from kstore.attest.seen import SeenCheckpoints
    from kstore.git.files import Files
    from kstore.git.history import Commit, History

FOLDER = f"{STORE}/checkpoints"

TOLERANCE = 86_400
"""By how many seconds clocks may differ: what a checkpoint says of its time must fit history but for that much."""

Roots: TypeAlias = Callable[[Iterable[bytes]], Mapping[bytes, Root | RootError]]
"""Works out the roots of commits, by the ids of their trees; see `kstore.attest.root.roots`."""


class _Candidate(msgspec.Struct):
    """A checkpoint on its way to being good.

    Attributes:
        path: Its file, and
        digest: that file's SHA-256.
        envelope: What it came in.
        checkpoint: What it says.
        commit: The commit that it is about, once found.
        appearance: How it came into history, or None where it is not committed.
        time: When it came into history, in seconds since 1970: now, where it is not committed.
        signers: Whose signatures count, by name: the last instant at which the key was not revoked, or None.
        sound: Whether what it states was found to be so.
    """

    path: str
    digest: Digest
    envelope: Envelope
    checkpoint: Checkpoint
    appearance: Appearance | None
    time: int
    commit: Commit | None = None
    signers: dict[str, int | None] = {}
    sound: bool = True


def check_checkpoints(
    history: History,
    files: Files,
    trust: Trust,
    appeared: Appearances,
    roots: Roots | None,
    seen: SeenCheckpoints | None = None,
) -> Checkpoints:
    """Check every checkpoint of a snapshot.

    Args:
        history: The history of HEAD.
        files: The snapshot whose checkpoints they are.
        trust: Whose signatures count.
        appeared: How files came into history.
        roots: Works out roots. None takes them as they are stated, relies on git's ids for what they cover, and
            compares the records of the last checkpoint alone, with HEAD's, which costs no more than what changed since.
        seen: What this clone has seen before, and is to remember where everything is good; None for a snapshot that
            need not be the newest.
    """
    return _Check(history, files, trust, appeared, seen).run(roots)


def checkpoint_numbers(files: Files) -> list[int]:
    """Give the numbers of all files of checkpoints, sorted; names that are none are not looked at here.

    Raises:
        UnreadableError: The folder cannot be read.
    """
    return numbers_in("checkpoints", files.names(FOLDER))


class _Check:
    """One check of all checkpoints."""

    def __init__(
        self, history: History, files: Files, trust: Trust, appeared: Appearances, seen: SeenCheckpoints | None
    ) -> None:
        self._history = history
        self._files = files
        self._trust = trust
        self._appeared = appeared
        self._seen = seen
        self._ancestry = Ancestry(history)
        self._cut = bool(history.shallow) or history.partial
        self._problems: list[Problem] = []
        self._gaps: dict[str, None] = {}
        self._first: dict[str, int] = {}

    def run(self, roots: Roots | None) -> Checkpoints:
        """Do it."""
        try:
            numbers = checkpoint_numbers(self._files)
        except UnreadableError as error:
            self._report(FOLDER, str(error))
            numbers = []
        candidates = self._read(numbers)
        time = 0
        for each in candidates:
            # It names the one before, and so came later, whatever its commit is dated.
            each.time = max(each.time, time)
            self._check_signers(each)
            self._find_commit(each)
            if each.sound and None in each.signers.values():
                time = min(max(time, each.checkpoint.time), now())
        if roots is not None:
            self._check_roots(candidates, roots)
        self._check_growth(candidates, thorough=roots is not None)
        good = self._good(candidates)
        self._check_seen(candidates, good)
        return Checkpoints(len(numbers), tuple(good), tuple(self._problems), tuple(self._gaps))

    def _report(self, path: str, message: str, code: str = CODE, severity: Severity = "error") -> None:
        self._problems.append(Problem(severity, path, code, message))

    def _doubt(self, each: _Candidate, message: str, *, missing: bool) -> None:
        """Take note that a checkpoint does not hold, or cannot be checked because the clone lacks what it needs."""
        each.sound = False
        if missing and self._cut:
            self._gaps[f"{each.path}: {message}"] = None
        else:
            self._report(each.path, message)

    def _read(self, numbers: list[int]) -> list[_Candidate]:
        """Read them, and check how each follows the one before."""
        candidates: list[_Candidate] = []
        expected, before = 1, None
        for number in numbers:
            path = checkpoint_path(number)
            if number != expected:
                what = f"{expected}" if number == expected + 1 else f"{expected} to {number - 1}"
                self._report(path, f"expected checkpoint {expected} before this one: {what} was skipped or removed")
                before = None
            expected = number + 1
            try:
                data = self._files.read(path)
                if data is None:
                    raise CheckpointError("it was there a moment ago and is gone")
                digest = Digest.of(data)
                envelope, checkpoint = read_checkpoint(data, number)
            except (CheckpointError, UnreadableError) as error:
                self._report(path, str(error))
                before = None
                continue
            appearance = self._appeared.of(path, data)
            time = now() if appearance is None else min(appearance.time, now())
            each = _Candidate(path, digest, envelope, checkpoint, appearance, time)
            if before is not None and checkpoint.previous != before:
                self._doubt(
                    each,
                    f"previous: expected the SHA-256 of checkpoint {number - 1}'s file, {before}, found "
                    f"{checkpoint.previous}",
                    missing=False,
                )
            before = digest
            candidates.append(each)
        return candidates

    def _check_signers(self, each: _Candidate) -> None:
        """Find out whose signatures count by the policy that was in force before it."""
        if not self._trust.exists:
            self._report(
                each.path,
                "this registry has no trust policy, so that nobody's signature counts",
                "unknown-signer",
                "warning",
            )
            self._gaps["there are checkpoints and no trust policy that says who may sign them"] = None
            return
        appearance = each.appearance
        number = self._appeared.before(appearance, self._trust)
        found = signers_of(each.envelope, number, self._trust, each.time)
        each.signers = found.names
        for code, message in found.troubles:
            each.sound = False
            if appearance is not None and appearance.cut and code != CODE:
                self._gaps[f"{each.path}: {message}; it may have appeared earlier, which is cut off here"] = None
            else:
                self._report(each.path, message, code)

    def _find_commit(self, each: _Candidate) -> None:
        """Find the commit that it is about, which must be one that the commit that brought it descends from."""
        oid = bytes.fromhex(each.checkpoint.commit)
        try:
            commit = self._history.commit(oid)
        except UnreadableError as error:
            missing = isinstance(error, MissingObjectError)
            self._doubt(each, f"the commit that it is about is not in this history: {error}", missing=missing)
            return
        start = self._history.head if each.appearance is None else bytes.fromhex(each.appearance.commit)
        if start is None or not self._ancestry.has(start, oid):
            self._doubt(
                each,
                f"expected that history contains {each.checkpoint.commit}, the commit that it is about: history was "
                "rewritten, or this checkpoint is another registry's",
                missing=self._ancestry.cut,
            )
            return
        each.commit = commit
        self._check_time(each, commit)

    def _check_time(self, each: _Candidate, commit: Commit) -> None:
        """Check that it says of its time what can be: not before the commit that it is about, and not after it came."""
        stated, earliest, latest = each.checkpoint.time, self._time_of(commit) - TOLERANCE, each.time + TOLERANCE
        if stated < earliest:
            expected = f"no time before {instant_of(earliest)}, as the commit that it is about is not much older"
        elif stated > latest:
            came = "came into history" if each.appearance is not None else "is about to come"
            expected = f"no time after {instant_of(latest)}, as it {came} {instant_of(each.time)}"
        else:
            return
        self._doubt(each, f"createdAt: expected {expected}, found {instant_of(stated)}", missing=False)

    def _time_of(self, commit: Commit) -> int:
        """Say when a commit was made, in seconds since 1970: not before those that it descends from."""
        known = self._appeared
        time = known.tables[0].row(bytes.fromhex(commit.id)).time if known.complete and known.tables else commit.time
        return min(time, now())

    def _check_roots(self, candidates: list[_Candidate], roots: Roots) -> None:
        found = roots([each.commit.tree for each in candidates if each.commit is not None])
        for each in candidates:
            if each.commit is None:
                continue
            root, stated = found[each.commit.tree], each.checkpoint
            if isinstance(root, RootError):
                self._doubt(each, f"its root cannot be told: {root}", missing=isinstance(root, IncompleteError))
            elif root.hash.hex() != stated.root:
                self._doubt(
                    each, f"root of {stated.commit}: expected {root.hash.hex()}, found {stated.root}", missing=False
                )
            elif root.records != stated.records:
                self._doubt(each, f"records: expected {root.records:,}, found {stated.records:,}", missing=False)

    def _check_growth(self, candidates: list[_Candidate], *, thorough: bool) -> None:
        """Check that each contains the one before, and HEAD the last one."""
        last: _Candidate | None = None
        time = 0
        for each in candidates:
            if each.commit is None or not each.sound:
                continue
            if each.checkpoint.time < time:
                self._doubt(each, "createdAt: expected no time before that of the checkpoint before", missing=False)
                continue
            before = None if last is None else last.commit
            growth = Growth(self._history, each.commit, before, records=thorough and before is not None)
            if self._grew(each, growth, "compared with the checkpoint before,"):
                for path in growth.signed:
                    self._first.setdefault(path, each.checkpoint.number)
                last = each
                # What a key says that was revoked since binds nobody.
                if None in each.signers.values():
                    time = each.checkpoint.time
        if last is not None and self._history.head is not None:
            growth = Growth(self._history, self._history.commit(self._history.head), last.commit, records=True)
            self._grew(last, growth, "in HEAD,")

    def _grew(self, each: _Candidate, growth: Growth, where: str) -> bool:
        if growth.lost:
            self._doubt(each, f"{where} {growth}: what a checkpoint has, all later commits have", missing=False)
        if growth.unreadable is not None:
            self._doubt(each, f"{where} it cannot be compared: {growth.unreadable}", missing=growth.missing)
        return each.sound

    def _good(self, candidates: list[_Candidate]) -> list[Good]:
        """Keep those that somebody signed whose word holds; going back, as a later one may show that one was there."""
        good: list[Good] = []
        for each in reversed(candidates):
            if not each.sound or not each.signers:
                continue
            earliest = min((later.time for later in good), default=None)
            shown = earliest is not None and each.checkpoint.time <= earliest
            if not any(
                since is None or (shown and earliest is not None and earliest <= since)
                for since in each.signers.values()
            ):
                self._report(
                    each.path,
                    f"the key of {', '.join(sorted(each.signers))} is revoked, and no checkpoint of another's from "
                    "before that time shows that this one was there already: it counts no longer",
                    "signer-not-valid",
                    "warning",
                )
                continue
            stated = each.checkpoint
            good.append(
                Good(
                    stated.number,
                    each.path,
                    each.digest,
                    stated.commit,
                    stated.time,
                    stated.records,
                    tuple(sorted(each.signers)),
                    self._first,
                )
            )
        return good[::-1]

    def _check_seen(self, candidates: list[_Candidate], good: list[Good]) -> None:
        """Name a rollback; or remember the last checkpoint where nothing is wrong."""
        branch = self._history.branch
        if self._seen is None or branch is None:
            return
        seen = self._seen.recall(branch)
        digests = {each.checkpoint.number: each.digest for each in candidates}
        if seen is not None and digests.get(seen.number) != seen.file.digest:
            latest = max(digests, default=0)
            found = f"{latest or 'none'} as the last one" if seen.number > latest else "another one of this number"
            self._report(
                checkpoint_path(seen.number),
                f"rollback: this clone has seen checkpoint {seen.number} ({seen.file.digest}) on {branch}, and finds "
                f"{found}; what was signed since may be missing. If this was meant, remove {self._seen.path}",
            )
        elif (
            good
            and not self._problems
            and not self._gaps
            and good[-1].path == candidates[-1].path
            and candidates[-1].appearance
        ):
            self._seen.keep(branch, good[-1].number, good[-1].digest)
