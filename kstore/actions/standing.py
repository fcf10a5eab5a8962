"""Find out how records stand, by the statements that the registry has about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.digest import Digest
from kstore.git.files import UnreadableError
from kstore.layout import STORE, attestation_folder
from kstore.registry.lookup import lookup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kstore.attest.judge import Judged
    from kstore.attest.standing import Standing
    from kstore.registry import Registry

_ATTESTATIONS = f"{STORE}/attestations"


def standing(registry: Registry, ref: str) -> Standing:
    """Say how a record stands: who signed it, who reproduced it, whether it is retracted, superseded or disputed.

    Args:
        registry: Where the record is.
        ref: A digest, a unique start of one, or a name; see `lookup`.

    Raises:
        NotFoundError: No record is called that.
        KstoreError: What is pinned in this clone cannot be read.
    """
    from kstore.attest.standing import Standing

    digest = lookup(registry, ref)
    return standings(registry, [digest]).get(digest) or Standing()


def standings(registry: Registry, digests: Iterable[Digest] | None = None) -> dict[Digest, Standing]:
    """Say how those of some records stand that the registry has statements about; the others are `reported`.

    A registry without statements pays nothing but a look into a folder for each record.

    Args:
        registry: Where the records are.
        digests: Which records; None is all.

    Raises:
        KstoreError: What is pinned in this clone cannot be read.
    """
    fanout = registry.settings.fanout
    if digests is not None:
        digests = [digest for digest in digests if _has_any(registry, attestation_folder(digest, fanout))]
    if digests == [] or not _has_any(registry, _ATTESTATIONS):
        return {}
    from kstore.attest.standing import standing
    from kstore.attest.statements import judged_statements

    judgement = judged_statements(registry, digests)
    by_record: dict[Digest, list[Judged]] = {}
    for judged in judgement.judged:
        by_record.setdefault(judged.subject, []).append(judged)
    return {
        digest: standing(statements, _metadata(registry, digest), judgement.trust)
        for digest, statements in by_record.items()
    }


def _has_any(registry: Registry, folder: str) -> bool:
    try:
        return bool(registry.files.names(folder))
    except UnreadableError:
        return False


def _metadata(registry: Registry, digest: Digest) -> Digest | None:
    """Give the SHA-256 of a record's metadata; of what nobody can read, as of none, nobody has signed it."""
    try:
        metadata = registry.metadata(digest)
    except UnreadableError:
        return None
    return None if metadata is None else Digest.of(metadata)
