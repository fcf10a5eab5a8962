"""The next policy, made from the one before by one change; nothing is signed here."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from kstore.attest.instant import seconds_of
from kstore.attest.policy import Listed, Policy, PolicyError, Role, SignerName
from kstore.attest.statement import Sha256
from kstore.errors import KstoreError, UsageError
from kstore.schema.kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from kstore.attest.key import PublicKey
    from kstore.digest import Digest

Amendment: TypeAlias = "Callable[[Policy], Policy]"
"""Gives a policy with one thing changed; its number and `previous` are those of the old one still."""


def first_policy(name: str, key: PublicKey) -> Policy:
    """Make policy 1, of one key, which may do everything.

    Raises:
        UsageError: The name is none.
    """
    return Policy(1, 1, 1, (listed(name, key, ("maintainer", "signer")),))


def successor(amended: Policy, last: Policy, digest: Digest) -> Policy:
    """Number an amended policy as the one after the last, whose file has that digest.

    Raises:
        KstoreError: It would make no sense, or nobody could change it any more.
    """
    policy = msgspec.structs.replace(amended, number=last.number + 1, previous=Sha256.of(digest))
    if policy.threshold > len(policy.lasting):
        raise KstoreError(
            f"policy {policy.number} would need {policy.threshold} maintainers and have {len(policy.lasting)} that are "
            f"not revoked ({', '.join(policy.lasting) or 'none'}; all keys of one name count once), so that nobody "
            "could change it any more; add a maintainer or lower the threshold first"
        )
    try:
        policy.check()
        # What the types say of a number or a length holds for what is made here as well.
        msgspec.convert(msgspec.to_builtins(policy), Policy)
    except PolicyError as error:
        raise KstoreError(f"policy {policy.number} would make no sense: {error}") from None
    except msgspec.ValidationError as error:
        raise KstoreError(f"policy {policy.number} would be out of bounds: {error}") from None
    return policy


def listed(
    name: str,
    key: PublicKey,
    roles: Iterable[Role],
    valid_after: str | UnsetType = UNSET,
    valid_before: str | UnsetType = UNSET,
) -> Listed:
    """Make an entry of a policy.

    Raises:
        UsageError: The name is none, or the window is empty.
    """
    try:
        msgspec.convert(name, SignerName)
    except msgspec.ValidationError:
        raise UsageError(
            "a signer's name: expected a lower-case letter or digit, then lower-case letters, digits, ., _, @, + and "
            f"-, at most 100, found {name!r}"
        ) from None
    if valid_after and valid_before and seconds_of(valid_after) >= seconds_of(valid_before):
        raise UsageError(f"expected a window that ends after it begins, found {valid_after} to {valid_before}")
    return Listed(name, str(key), tuple(sorted(set(roles))), valid_after, valid_before)


def with_key(entry: Listed) -> Amendment:
    """List a key; where the same name has it already, its roles and its window become those that are said now.

    Raises, when it is applied:
        KstoreError: The key is another name's, or is revoked.
    """

    def amend(policy: Policy) -> Policy:
        present = policy.entry(entry.id)
        if present is not None and present.name != entry.name:
            raise KstoreError(f"{entry.id} is the key of {present.name} already; a key belongs to one name")
        if present is not None and present.revoked_from:
            raise KstoreError(
                f"{entry.id}, a key of {present.name}, is revoked from {present.revoked_from}, and stays so; "
                "add another key"
            )
        return _with_entries(policy, [*(each for each in policy.signers if each.key != entry.key), entry])

    return amend


def with_revoked(who: str, since: str) -> Amendment:
    """Revoke the key that has an id, or all keys of a name, from an instant.

    What is revoked already from an earlier instant stays so.

    Raises, when it is applied:
        KstoreError: Nothing that is listed is that.
    """

    def amend(policy: Policy) -> Policy:
        if not any(who in (each.id, each.name) for each in policy.signers):
            names = ", ".join(sorted({each.name for each in policy.signers}))
            raise KstoreError(f"no signer is named {who!r}, and no key has that id; the names are {names}")
        return _with_entries(
            policy, (_revoked(each, since) if who in (each.id, each.name) else each for each in policy.signers)
        )

    return amend


def with_threshold(threshold: int) -> Amendment:
    """Let so many maintainers be needed."""
    return lambda policy: msgspec.structs.replace(policy, threshold=threshold)


def with_required(kinds: Sequence[str] | bool) -> Amendment:
    """Let records of some kinds need a signature; True is all kinds, and False, or no kind, is nothing.

    Raises:
        UsageError: There is no such kind.
    """
    if isinstance(kinds, bool):
        required: bool | tuple[str, ...] | UnsetType = kinds or UNSET
    else:
        for kind in kinds:
            if kind not in KINDS:
                raise UsageError(f"there is no kind {kind!r}; the kinds are {', '.join(KINDS)}")
        required = tuple(sorted(set(kinds))) or UNSET
    return lambda policy: msgspec.structs.replace(policy, requires_signature=required)


def differences(before: Policy | None, after: Policy) -> Iterator[str]:
    """Say in words what a policy changes, for who is to sign it."""
    known = {} if before is None else {each.key: each for each in before.signers}
    for entry in after.signers:
        old = known.pop(entry.key, None)
        if old is None:
            yield f"add {_words(entry)}"
        elif old.revoked_from != entry.revoked_from and entry.revoked_from:
            yield f"revoke {entry.name} {entry.id} from {entry.revoked_from}"
            old = msgspec.structs.replace(old, revoked_from=entry.revoked_from)
        if old is not None and old != entry:
            yield f"change {_words(old)} to {_words(entry)}"
    for gone in known.values():
        yield f"drop {_words(gone)}"
    if before is None or before.threshold != after.threshold:
        yield f"need {after.threshold} maintainer{'s' * (after.threshold > 1)}"
    if (before.requires_signature if before else UNSET) != after.requires_signature:
        yield f"require signatures of {required_words(after)}"


def required_words(policy: Policy) -> str:
    """Say what must be signed."""
    kinds = policy.requires_signature
    if isinstance(kinds, tuple):
        return ", ".join(kinds)
    return "all records" if kinds is True else "nothing"


def _revoked(entry: Listed, since: str) -> Listed:
    if entry.revoked_from and seconds_of(entry.revoked_from) <= seconds_of(since):
        return entry
    return msgspec.structs.replace(entry, revoked_from=since)


def _words(entry: Listed) -> str:
    window = [
        f"{word} {instant}"
        for word, instant in (
            ("valid from", entry.valid_after),
            ("valid before", entry.valid_before),
            ("revoked from", entry.revoked_from),
        )
        if instant
    ]
    return f"{entry.name} {entry.id} ({', '.join([*entry.roles, *window])})"


def _with_entries(policy: Policy, entries: Iterable[Listed]) -> Policy:
    return msgspec.structs.replace(policy, signers=tuple(sorted(entries, key=lambda each: (each.name, each.key))))
