"""The editorial part of every record: what it is called, by whom, from where; never part of its identity."""

from msgspec import UNSET, UnsetType

from kstore.schema.primitives import Name, Strict, Text100, Text200, Text2000, Token
from kstore.schema.url import Url


class Author(Strict, frozen=True):
    """Somebody who made what the record describes."""

    name: Text200 | UnsetType = UNSET
    github: Text100 | UnsetType = UNSET


class SourceRef(Strict, frozen=True):
    """Where the record's content came from."""

    url: Url


class Metadata(Strict, frozen=True):
    """The metadata of a record."""

    name: Name
    title: Text200 | UnsetType = UNSET
    description: Text2000 | UnsetType = UNSET
    labels: dict[Token, Text200] | UnsetType = UNSET
    authors: list[Author] | UnsetType = UNSET
    source_refs: list[SourceRef] | UnsetType = UNSET
