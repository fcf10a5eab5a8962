"""Judge a signed statement: whether it is what its file says, whose it is, and whether it counts.

Whether a signer was allowed to state something is told by when the statement first appeared in history, and by the
policies that were in force before and by then (`kstore.attest.in_force`): what it says of itself proves nothing.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import msgspec

from kstore.attest.envelope import Envelope, EnvelopeError
from kstore.attest.in_force import rules
from kstore.attest.instant import instant_of, now, seconds_of
from kstore.attest.statement import PAYLOAD_TYPE, Statement, StatementError, read_statement
from kstore.digest import Digest
from kstore.git.uncommitted import blob_id

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kstore.attest.appearance import Appearance
    from kstore.attest.chain import Trust
    from kstore.attest.key import PublicKey
    from kstore.attest.policy import Listed
    from kstore.layout import SignedPlace

Severity: TypeAlias = Literal["error", "warning"]

_VERDICTS = 4096
"""How many verdicts are kept at most."""


class Trouble(msgspec.Struct, frozen=True, array_like=True):
    """Something about a statement that is wrong, or that a reader should know; see `Finding`."""

    severity: Severity
    code: str
    message: str


class Examined(msgspec.Struct, frozen=True, array_like=True):
    """What a statement's file came to by itself: no history and no clock are asked.

    Attributes:
        path: The file.
        subject: The record that it is about, as its folder says.
        digest: The SHA-256 of the file, as its name says.
        blob: The id, 20 bytes, that git gives to its bytes.
        statement: What is stated; None where the file is no statement about that record.
        keys: The ids of the keys that have signed it rightly.
        unknown: The ids of keys that no policy lists, so that nothing can be said of their signatures.
        faults: Why it does not count, whoever signed it.
    """

    path: str
    subject: Digest
    digest: Digest
    blob: bytes = b""
    statement: Statement | None = None
    keys: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


class Witness(NamedTuple):
    """What good checkpoints say of when a statement came, in seconds since 1970.

    Attributes:
        absent: When the last checkpoint was made that does not have it: it came later. 0 where there is none.
        present: When the first checkpoint was made that has it: it came before. None where there is none.
    """

    absent: int = 0
    present: int | None = None


class Judged(msgspec.Struct, frozen=True):
    """What to think of one statement.

    Attributes:
        path: Its file.
        subject: The record that it is about.
        digest: The SHA-256 of the file, which is its name.
        statement: What is stated; None where the file is no statement about that record.
        signers: The names of those who state it and whose statement counts, each once, sorted.
        keys: The ids of their keys, sorted.
        problems: What is wrong with it, and what a reader should know.
        appearance: How it came into history; None where it is not committed.
    """

    path: str
    subject: Digest
    digest: Digest
    statement: Statement | None
    signers: tuple[str, ...]
    keys: tuple[str, ...]
    problems: tuple[Trouble, ...]
    appearance: Appearance | None

    @property
    def counts(self) -> bool:
        """Whether at least one signer states it whose statement counts."""
        return self.statement is not None and bool(self.signers)


def examine(path: str, place: SignedPlace, data: bytes, keys: Mapping[str, PublicKey]) -> Examined:
    """Look at a statement's file, and check its signatures.

    Args:
        path: Where it lies.
        place: What that path says; of an attestation.
        data: Its bytes.
        keys: All keys that may have signed it, by their ids.
    """
    assert place.subject is not None, "an attestation has a subject"
    assert place.digest is not None, "an attestation's name is a digest"
    found, blob = Digest.of(data), blob_id(data)
    try:
        envelope = Envelope.from_bytes(data)
        if found != place.digest:
            raise EnvelopeError(f"expected bytes that hash to the file's name, found {found}")
        statement = _statement(envelope, place.subject)
    except (EnvelopeError, StatementError) as error:
        return Examined(path, place.subject, place.digest, blob, faults=(str(error),))
    signed = envelope.signed
    good, unknown, wrong = [], [], []
    for signature in envelope.signatures:
        key = keys.get(signature.keyid)
        if key is None:
            unknown.append(signature.keyid)
        elif key.verifies(signature.sig, signed):
            good.append(signature.keyid)
        else:
            wrong.append(
                f"the signature is not one of the key {signature.keyid} over these bytes: they were changed, or "
                "another key claims that key's name"
            )
    return Examined(path, place.subject, place.digest, blob, statement, tuple(good), tuple(unknown), tuple(wrong))


class Judge:
    """Judges statements by the policies of a registry."""

    def __init__(self, trust: Trust, policy: int) -> None:
        """Judge by some policies.

        Args:
            trust: The policies that are believed.
            policy: The highest number of a policy that HEAD has: in force for what is not committed.
        """
        self._trust = trust
        self._policy = policy
        # Thousands of statements may be of one signer and have come at one time: the same is to be said of all.
        self._verdict = lru_cache(maxsize=_VERDICTS)(self._find_verdict)

    def judge(self, examined: Examined, appearance: Appearance | None, witness: Witness) -> Judged:
        """Say what to think of a statement.

        Args:
            examined: What its file came to.
            appearance: How it came into history; None where it is not committed: it comes now.
            witness: What checkpoints say of when it came.
        """
        if examined.faults:
            wrong = tuple(Trouble("error", "bad-signature", fault) for fault in examined.faults)
            verdict = _Verdict((), (), wrong)
        elif appearance is None:
            verdict = self._verdict(examined.keys, examined.unknown, None, self._policy, False, witness)
        else:
            time, policy, cut = appearance.time, appearance.policy, appearance.cut
            verdict = self._verdict(examined.keys, examined.unknown, time, policy, cut, witness)
        return Judged(examined.path, examined.subject, examined.digest, examined.statement, *verdict, appearance)

    def _find_verdict(
        self,
        keys: tuple[str, ...],
        unknown: tuple[str, ...],
        time: int | None,
        policy: int,
        cut: bool,
        witness: Witness,
    ) -> _Verdict:
        case = _Case(self._trust, time, policy, cut, witness)
        problems = []
        names: dict[str, str] = {}
        for key in sorted((*keys, *unknown)):
            listed = case.listed(key)
            trouble = case.trouble(listed) if listed else case.unlisted(key)
            if trouble is not None:
                problems.append(trouble)
            elif key in keys:
                names[key] = listed[-1].name
        return _Verdict(tuple(sorted(set(names.values()))), tuple(names), tuple(problems))


class _Verdict(NamedTuple):
    """What is said of a statement; see `Judged`."""

    signers: tuple[str, ...]
    keys: tuple[str, ...]
    problems: tuple[Trouble, ...]


def _statement(envelope: Envelope, subject: Digest) -> Statement:
    if envelope.payload_type != PAYLOAD_TYPE:
        raise EnvelopeError(f"expected a payload of type {PAYLOAD_TYPE}, found {envelope.payload_type}")
    statement = read_statement(envelope.payload)
    found = statement.subject[0].digest.digest
    if found != subject:
        raise StatementError(f"expected a statement about {subject}, as its folder says, found one about {found}")
    return statement


class _Case:
    """Statements and the time when they came: None for what is not committed."""

    def __init__(self, trust: Trust, time: int | None, policy: int, cut: bool, witness: Witness) -> None:
        self._trust = trust
        self._witness = witness
        self._committed = time is not None
        self._cut = cut
        self._time = max(now() if time is None else time, witness.absent)
        self._number = policy
        self._rules = rules(trust, policy, self._time)

    def listed(self, key: str) -> tuple[Listed, ...]:
        """Find a key in all policies that must list it; nothing where one of them does not."""
        if not self._cut:
            found = [entry for entry in (policy.entry(key) for policy in self._rules) if entry is not None]
            return tuple(found) if len(found) == len(self._rules) else ()
        # Of what may be older than it seems, the policy before may be an older one, and nothing is known of later ones.
        older = reversed(self._trust.policies[: self._trust.upto(self._number)])
        return tuple(islice((entry for entry in (policy.entry(key) for policy in older) if entry is not None), 1))

    def unlisted(self, key: str) -> Trouble:
        """Say of a key that one of those policies does not list it."""
        if not self._trust.policies:
            message = f"expected a policy that lists the key {key}, found none that could be believed"
            return Trouble("warning", "unknown-signer", message)
        numbers = [policy.number for policy in self._trust.policies if policy.entry(key) is not None]
        late = bool(numbers) and numbers[0] > self._number
        in_force = self._rules[: 1 if late else 2]
        here = f"policy {in_force[-1].number} was in force" if in_force else "there was no policy yet"
        came = f"came {instant_of(self._time)}" if self._committed else "is not committed yet"
        if not numbers:
            where = "which no policy of this registry lists"
        elif late:
            where = f"which policy {numbers[0]} was the first to list, at the same time or later"
        else:
            where = f"which policy {numbers[-1]} was the last to list"
        return Trouble("error", "unknown-signer", f"signed by the key {key}, {where}; it {came}, when {here}")

    def trouble(self, listed: tuple[Listed, ...]) -> Trouble | None:
        """Say why what a listed key has signed does not count, or None where it does."""
        key = listed[-1].id
        who = f"{listed[-1].name} ({key})"
        for late, limit in (each for entry in listed for each in self._window(entry)):
            said = f"until {limit}" if late else f"from {limit} on"
            message = f"expected that it came while the key of {who} was valid, {said}, found {instant_of(self._time)}"
            return Trouble("error", "signer-not-valid", message)
        revoked = self._trust.revoked_from(key)
        if revoked is None or seconds_of(revoked) > now():
            return None
        if self._witness.present is not None and self._witness.present <= seconds_of(revoked):
            return None
        unproven = (
            f"the key of {who} is revoked from {revoked} on, and no checkpoint made before then has this statement"
        )
        if any(entry.is_revoked(self._time) for entry in listed) and not self._cut:
            return Trouble("error", "signer-not-valid", f"{unproven}; it came {instant_of(self._time)}, after that")
        return Trouble("warning", "signer-not-valid", f"{unproven}: it does not count any more")

    def _window(self, listed: Listed) -> Iterator[tuple[bool, str]]:
        """Give the limit of a key's window beyond which the statement came, and whether that is the later one."""
        after, before = listed.valid_after, listed.valid_before
        if after and self._time < seconds_of(after):
            yield False, after
        if before and self._time >= seconds_of(before) and not self._cut:
            yield True, before
