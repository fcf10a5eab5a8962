"""The objects that several kinds have."""

from msgspec import UNSET, UnsetType

from kstore.schema.primitives import Digest, Num, Positive, Strict, Text2000, Token


class Artifact(Strict, frozen=True):
    """Bytes that lie elsewhere, pinned by their digest."""

    uri: Text2000
    digest: Digest


class Measurement(Strict, frozen=True):
    """One number that was measured."""

    metric: Token
    unit: Token
    statistic: Token
    value: Num
    sample_count: Positive | UnsetType = UNSET
