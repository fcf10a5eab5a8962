"""The kinds that say by whom and how something is implemented: SoftwareProject, ImplementationRevision."""

from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from kstore.schema.primitives import (
    Commit,
    Digest,
    Name,
    Positive,
    RecordDigest,
    Strict,
    Text50,
    Text100,
    Text200,
    Text500,
    Text1000,
    Token,
)
from kstore.schema.url import Url

_SET = Meta(description="A set: order and duplicates are no part of the record.")
_Item = TypeVar("_Item", bound=str)
_Set = Annotated[list[_Item], _SET]


class ProjectHost(Strict, frozen=True):
    """Where a project lives."""

    kind: Literal["github", "huggingface", "gitlab", "other"]
    id: Text200


class Package(Strict, frozen=True):
    """A package of a project."""

    ecosystem: Token
    name: Text200


class SoftwareProject(Strict, frozen=True):
    """The spec of a SoftwareProject: somebody or something that publishes implementations."""

    name: Text200
    kind: Literal["library", "individual", "vendor"] | UnsetType = UNSET
    repository: Url | UnsetType = UNSET
    homepage: Url | UnsetType = UNSET
    host: ProjectHost | UnsetType = UNSET
    packages: list[Package] | UnsetType = UNSET


class ProjectRevision(Strict, frozen=True):
    """The state of a project that holds an implementation."""

    repository: Url | UnsetType = UNSET
    commit: Commit | UnsetType = UNSET
    version: Text100 | UnsetType = UNSET
    tree_digest: Digest | UnsetType = UNSET


class ImplementedOperation(Strict, frozen=True):
    """The operation that is implemented."""

    spec_digest: RecordDigest


class EntryPoint(Strict, frozen=True):
    """What to call (`callable`)."""

    language: Token
    path: Text500 | UnsetType = UNSET
    symbol: Text200 | UnsetType = UNSET
    interface: Token | UnsetType = UNSET


class Support(Strict, frozen=True):
    """What an implementation supports; every field is a set."""

    hardware_architectures: _Set[Token]
    dtypes: _Set[Token]
    products_tested: _Set[Text100] | UnsetType = UNSET
    axes: _Set[Text200] | UnsetType = UNSET
    layouts: _Set[Text50] | UnsetType = UNSET

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            items = getattr(self, field)
            if items is not UNSET and len(items) > 1:
                msgspec.structs.force_setattr(self, field, sorted(set(items), key=_utf16))


def _utf16(text: str) -> bytes:
    """Order texts by UTF-16 code units, as RFC 8785 (section 3.2.3) orders keys."""
    return text.encode("utf-16-be", "surrogatepass")


class Source(Strict, frozen=True):
    """An implementation's own source file."""

    content_digest: Digest
    file_name: Text200 | UnsetType = UNSET
    size_bytes: Positive | UnsetType = UNSET


class Install(Strict, frozen=True):
    """How a build variant is installed."""

    kind: Literal["git", "pip", "package", "container", "source"]
    repository: Url | UnsetType = UNSET
    commit: Commit | UnsetType = UNSET
    package: Text200 | UnsetType = UNSET
    version: Text100 | UnsetType = UNSET
    command: Text1000 | UnsetType = UNSET


class BuildVariant(Strict, frozen=True):
    """A way to build an implementation."""

    name: Name
    install: Install
    requirements: dict[Token, Text200] | UnsetType = UNSET


class LicenseEvidence(Strict, frozen=True):
    """The file that a licence was found in."""

    path: Text500
    digest: Digest | UnsetType = UNSET


class Licensing(Strict, frozen=True):
    """Under which licence an implementation may be used."""

    declared: Text200 | UnsetType = UNSET
    concluded: Text200 | UnsetType = UNSET
    evidence: LicenseEvidence | UnsetType = UNSET


class ImplementationRevision(Strict, frozen=True):
    """The spec of an ImplementationRevision: one implementation of one operation, as it was at one time."""

    project_revision: ProjectRevision
    operation: ImplementedOperation
    callable: EntryPoint
    support: Support
    licensing: Licensing
    source: Source | UnsetType = UNSET
    build_variants: list[BuildVariant] | UnsetType = UNSET
