"""Telling people how a record stands: who signed it, who reproduced it, and above all when it is withdrawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias

import msgspec
import typer

from kstore.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kstore.attest.standing import Claims, Standing, Withdrawal

WithAttestations: TypeAlias = Annotated[
    bool,
    typer.Option("--with-attestations", help="Put what is said of it, and what follows from that, into the JSON too."),
]

UNTRUSTED = "not trusted here: pin a policy with `kstore trust pin`"


def tell(standings: Mapping[str, Standing], *, quiet: bool = False) -> None:
    """Say on stderr how records stand.

    Args:
        standings: What each record is called, and how it stands.
        quiet: Say only what nobody should miss.
    """
    for what, standing in standings.items():
        for alarming, message in lines(standing):
            if alarming:
                output.warn(f"{what}: {message}")
            else:
                output.note(f"{what}: {message}", quiet=quiet)


def lines(standing: Standing) -> Iterator[tuple[bool, str]]:
    """Say how a record stands: line by line, and whether a line is one that nobody should miss."""
    yield from _claims(standing, "", "")
    if standing.untrusted is not None:
        yield from _claims(standing.untrusted, "key ", f" ({UNTRUSTED})")
    if standing.uncounted:
        many = "1 statement does" if standing.uncounted == 1 else f"{standing.uncounted:,} statements do"
        yield False, f"{many} not count: `kstore verify` says why"


def as_json(standing: Standing | None) -> bytes:
    """Write a standing as JSON; of a record that nothing is said of, None is enough."""
    from kstore.attest.standing import Standing

    return msgspec.json.encode(standing or Standing(), enc_hook=str)


def _claims(claims: Claims, kind: str, end: str) -> Iterator[tuple[bool, str]]:
    for each in claims.retractions:
        yield True, f"retracted by {_names(each.by, kind)}{end}: {_reason(each)}"
    for each in claims.supersessions:
        yield True, f"superseded by {each.replacement}, says {_names(each.by, kind)}{end}: {_reason(each)}"
    if claims.not_reproduced_by:
        yield True, f"not reproduced by {_names(claims.not_reproduced_by, kind)}{end}"
    for each in claims.objections:
        wish = "retracted" if each.replacement is None else f"superseded by {each.replacement}"
        who = _names(each.by, kind)
        yield True, f"{who}, who neither signed it nor is a maintainer, wants it {wish}{end}: {_reason(each)}"
    if claims.signed_by:
        yield False, f"signed by {_names(claims.signed_by, kind)}{end}"
    if claims.stale_metadata:
        yield False, f"its metadata changed since {_names(claims.stale_metadata, kind)} signed it{end}"
    if claims.reproduced_by:
        yield False, f"reproduced by {_names(claims.reproduced_by, kind)}{end}"


def _names(names: Sequence[str], kind: str) -> str:
    return ", ".join(f"{kind}{name}" for name in names)


def _reason(withdrawal: Withdrawal) -> str:
    return output.escape(withdrawal.reason)
