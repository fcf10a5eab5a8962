"""The message of a commit: what came, of which kinds, and a trailer for each record."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kstore.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kstore.attest.statement import Kind
    from kstore.digest import Digest
    from kstore.schema import Record

TRAILERS = 100
"""How many records a message names one by one; beyond that the commit itself is the list."""

_VERBS = {"endorsement": "Sign", "replication": "Attest", "retraction": "Retract", "supersession": "Supersede"}
"""What the commands are called that make each kind of statement."""


def commit_message(new: Sequence[Record], updated: Sequence[Record], message: str | None = None) -> str:
    """Write the message of a commit that adds a few records.

    Args:
        new: The records that are new.
        updated: The records whose metadata change.
        message: What a person says instead of the usual subject and body.

    Raises:
        UsageError: The message is no UTF-8, as git wants it.
    """
    body: list[str]
    if len(new) == 1 and not updated:
        subject, body = f"Add {new[0].kind} {new[0].name}", []
    elif len(updated) == 1 and not new:
        subject, body = f"Update the metadata of {updated[0].kind} {updated[0].name}", []
    else:
        subject, body = _summary(Counter(each.kind for each in new), Counter(each.kind for each in updated))
    digests = [record.digest for record in (*new, *updated)]
    return _compose(subject, body, digests[:TRAILERS], len(digests), message)


def import_message(
    new: Counter[str], updated: Counter[str], first: Sequence[Digest], message: str | None = None
) -> str:
    """Write the message of a commit that imports many records.

    Args:
        new: How many records of each kind are new.
        updated: How many of each kind have new metadata.
        first: The first `TRAILERS` of them.
        message: What a person says instead of the usual subject and body.

    Raises:
        UsageError: The message is no UTF-8, as git wants it.
    """
    subject, body = _summary(new, updated)
    return _compose(subject, body, first, new.total() + updated.total(), message)


def statement_message(said: Sequence[tuple[Kind, Record]], message: str | None = None) -> str:
    """Write the message of a commit that adds statements, all of one kind.

    Args:
        said: The kind of each, and the record that it is about.
        message: What a person says instead of the usual subject.

    Raises:
        UsageError: The message is no UTF-8, as git wants it.
    """
    kind, record = said[0]
    subject = f"{_VERBS[kind]} " + (f"{record.kind} {record.name}" if len(said) == 1 else f"{len(said)} records")
    return _compose(subject, [], [record.digest for _, record in said[:TRAILERS]], len(said), message)


def _summary(new: Counter[str], updated: Counter[str]) -> tuple[str, list[str]]:
    """Give a subject and the lines of a body that count records by kind."""
    parts = []
    if new:
        parts.append(f"add {new.total()} record{'s' * (new.total() > 1)}")
    if updated:
        parts.append(f"update the metadata of {updated.total()}")
    subject = " and ".join(parts)
    lines = [f"{count} {kind} added" for kind, count in sorted(new.items())]
    lines += [f"{count} {kind} with new metadata" for kind, count in sorted(updated.items())]
    return subject[0].upper() + subject[1:], lines


def _compose(subject: str, body: list[str], named: Sequence[Digest], count: int, message: str | None) -> str:
    if message is not None and message.strip():
        try:
            message.encode()
        except UnicodeEncodeError:
            raise UsageError("the commit's message: expected UTF-8 text, as git wants it, found other bytes") from None
        subject, body = message.strip(), []
    if count > len(named):
        body = [*body, f"Too many records to name here: {count} in all, of which the first {len(named)} follow."]
    trailers = [f"Kstore-Record: {digest}" for digest in named]
    paragraphs = [subject, "\n".join(body), "\n".join(trailers)]
    return "\n\n".join(part for part in paragraphs if part) + "\n"
