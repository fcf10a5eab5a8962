"""Where everything lies in a registry: paths from digests, digests from paths, the registry's settings.

Pure functions. Paths are relative to the repository's root, with `/`, as git has them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import msgspec

from kstore.canonical import canonical
from kstore.digest import Digest
from kstore.errors import KstoreError
from kstore.schema import REFERENCE_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    _Match: TypeAlias = Callable[[str], re.Match[str] | None]

STORE = "store"
SETTINGS = "store/kstore.json"
ATTRIBUTES = ".gitattributes"

ATTRIBUTES_LINE = "/store/** -text diff=kstore"
"""Keeps git from translating line ends under store/, and names the driver that shows records readably."""

MAX_FILE = 1_048_576
"""The most bytes that a file under store/ may have: a document is at most this long, and so is every part of it."""

Part: TypeAlias = Literal["objects", "metadata"]
SignedPart: TypeAlias = Literal["attestations", "trust", "checkpoints"]

SIGNED_FOLDERS: dict[SignedPart, str] = {
    "attestations": f"{STORE}/attestations",
    "trust": f"{STORE}/trust",
    "checkpoints": f"{STORE}/checkpoints",
}
"""Where signed files lie: there nothing ever changes or goes."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `store/kstore.json` says of a registry; all three fields are always written.

    Attributes:
        fanout: The number of two-digit folders above a record's file.
        format: The version of the layout; this program knows version 1.
        requires: The reference fields whose targets must be in the registry.
    """

    fanout: Annotated[int, msgspec.Meta(ge=1, le=2)]
    format: Literal[1]
    requires: tuple[str, ...]

    def to_bytes(self) -> bytes:
        """Give the canonical bytes of `store/kstore.json`."""
        return canonical(msgspec.to_builtins(self))

    @classmethod
    def from_bytes(cls, data: bytes) -> Settings:
        """Read `store/kstore.json`.

        Raises:
            KstoreError: These are not the settings of a registry that this program knows.
        """
        remedy = "a newer kstore may know it; otherwise restore the file (git log -- store/kstore.json has its history)"
        try:
            settings = msgspec.json.decode(data, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise KstoreError(
                f"{SETTINGS}: expected the settings of a registry of format 1: {error}; {remedy}"
            ) from None
        unknown = sorted(set(settings.requires) - REFERENCE_FIELDS)
        if unknown:
            raise KstoreError(
                f"{SETTINGS}: requires: expected names of reference fields ({', '.join(sorted(REFERENCE_FIELDS))}), "
                f"found {', '.join(map(repr, unknown))}; {remedy}"
            )
        if settings.to_bytes() != data:
            raise KstoreError(f"{SETTINGS}: expected canonical JSON, {settings.to_bytes().decode()}; {remedy}")
        return settings


DEFAULT_REQUIRES = ("environmentDigest", "protocolDigest")


@cache
def _in_place(fanout: int) -> _Match:
    """Match the path of a record's file that lies where it belongs.

    Patterns are made when the first path is asked about, since making all of them takes as long as reading a record.
    """
    return re.compile(rf"store/(objects|metadata)/{_named_after_folders(fanout, 2)}\.json").fullmatch


@cache
def _statement_in_place(fanout: int) -> _Match:
    """Match the path of a statement that lies where it belongs."""
    return re.compile(rf"store/attestations/{_named_after_folders(fanout, 1)}/([0-9a-f]{{64}})\.json").fullmatch


def _named_after_folders(fanout: int, group: int) -> str:
    """Spell 64 digits below the folders that their first ones name; these folders are groups of that number and on."""
    above = "".join(rf"\{group + folder}" for folder in range(fanout))
    return "([0-9a-f]{2})/" * fanout + f"((?={above})[0-9a-f]{{64}})"


@cache
def _record_file() -> _Match:
    return re.compile(r"store/(objects|metadata)/(?:.*/)?([0-9a-f]{64})\.json", re.DOTALL).fullmatch


@cache
def _signed_file() -> _Match:
    return re.compile(
        r"store/(?:(attestations)/(?:.*/)?([0-9a-f]{64})/([0-9a-f]{64})\.json"
        r"|(trust)/([1-9][0-9]{0,4})\.json|(checkpoints)/(?!0{10})([0-9]{10})\.json)",
        re.DOTALL,
    ).fullmatch


@cache
def _folder(fanout: int) -> _Match:
    return re.compile(rf"store|store/(?:objects|metadata)(?:/[0-9a-f]{{2}}){{0,{fanout}}}").fullmatch


@cache
def _signed_folder(fanout: int) -> _Match:
    return re.compile(
        rf"store/(?:trust|checkpoints|attestations(?:/[0-9a-f]{{2}}){{0,{fanout}}}"
        rf"|attestations(?:/[0-9a-f]{{2}}){{{fanout}}}/[0-9a-f]{{64}})"
    ).fullmatch


class Place(msgspec.Struct, frozen=True, gc=False):
    """What a path under store/ says that its file is.

    Attributes:
        part: The folder that it lies in.
        digest: The record whose name the file has.
        right: The path where that record's file belongs.
    """

    part: Part
    digest: Digest
    right: str


def path_of(part: Part, digest: Digest, fanout: int) -> str:
    """Give the path of a record's object or metadata: `store/objects/ab/ab….json` for a fan-out of 1."""
    name = digest.hex
    folders = name[:2] if fanout == 1 else f"{name[:2]}/{name[2:4]}"
    return f"{STORE}/{part}/{folders}/{name}.json"


def place_of(path: str, fanout: int) -> Place | None:
    """Say which record's file a path names, or None where the path names none.

    The file may lie in a wrong folder: then `right` differs from the path.
    """
    match = _in_place(fanout)(path)
    if match is not None:
        return Place("objects" if match[1] == "objects" else "metadata", Digest("sha256:" + path[-69:-5]), path)
    match = _record_file()(path)
    if match is None:
        return None
    part: Part = "objects" if match[1] == "objects" else "metadata"
    digest = Digest("sha256:" + match[2])
    return Place(part, digest, path_of(part, digest, fanout))


def name_in_place(path: str, fanout: int) -> str | None:
    """Give the 64 hexadecimal digits of a record's name, where a path is where one of its files belongs; else None."""
    return None if _in_place(fanout)(path) is None else path[-69:-5]


def is_folder(path: str, fanout: int) -> bool:
    """Tell whether a folder of this path belongs in a registry; what lies below one that does not is not looked at."""
    return _folder(fanout)(path) is not None


def holds_records(path: str, fanout: int) -> bool:
    """Tell whether a folder that belongs is one of those that records' files lie in."""
    return path.count("/") == 1 + fanout


class SignedPlace(msgspec.Struct, frozen=True):
    """What a path under store/ says that its signed file is.

    Attributes:
        part: The folder that it lies in.
        right: The path where that file belongs.
        subject: The record that an attestation is about.
        digest: The SHA-256 of an attestation's bytes, which is its name.
        number: The number of a policy or a checkpoint, counted from 1.
    """

    part: SignedPart
    right: str
    subject: Digest | None = None
    digest: Digest | None = None
    number: int | None = None


def attestation_folder(subject: Digest, fanout: int) -> str:
    """Give the folder of the statements about a record: `store/attestations/ab/ab…` for a fan-out of 1."""
    return path_of("objects", subject, fanout).removesuffix(".json").replace("/objects/", "/attestations/", 1)


def attestation_path(subject: Digest, digest: Digest, fanout: int) -> str:
    """Give the path of a signed statement about a record, whose name is the SHA-256 of its bytes."""
    return f"{attestation_folder(subject, fanout)}/{digest.hex}.json"


def policy_path(number: int) -> str:
    """Give the path of a trust policy, counted from 1."""
    return f"{STORE}/trust/{number}.json"


def checkpoint_path(number: int) -> str:
    """Give the path of a checkpoint, counted from 1."""
    return f"{STORE}/checkpoints/{number:010d}.json"


def signed_place_of(path: str, fanout: int) -> SignedPlace | None:
    """Say which signed file a path names, or None where the path names none.

    An attestation may lie in a wrong folder: then `right` differs from the path.
    """
    if _statement_in_place(fanout)(path):
        return SignedPlace("attestations", path, Digest("sha256:" + path[-134:-70]), Digest("sha256:" + path[-69:-5]))
    match = _signed_file()(path)
    if match is None:
        return None
    if match[1]:
        subject, digest = Digest("sha256:" + match[2]), Digest("sha256:" + match[3])
        return SignedPlace("attestations", attestation_path(subject, digest, fanout), subject, digest)
    if match[4]:
        return SignedPlace("trust", path, number=int(match[5]))
    return SignedPlace("checkpoints", path, number=int(match[7]))


def numbers_in(part: SignedPart, names: Iterable[str]) -> list[int]:
    """Give the numbers of the policies or checkpoints among the names in their folder, sorted; other names are none."""
    places = (signed_place_of(f"{SIGNED_FOLDERS[part]}/{name}", 1) for name in names)
    return sorted(place.number for place in places if place is not None and place.number is not None)


def is_signed(path: str) -> bool:
    """Tell whether a path lies in one of the folders of signed files."""
    return path.startswith(tuple(f"{folder}/" for folder in SIGNED_FOLDERS.values()))


def is_signed_folder(path: str, fanout: int) -> bool:
    """Tell whether a folder of this path is one that signed files lie in, or lie below."""
    return _signed_folder(fanout)(path) is not None


def is_known_folder(path: str, fanout: int) -> bool:
    """Tell whether a folder of this path belongs in a registry, be it for records or for signed files."""
    return is_folder(path, fanout) or is_signed_folder(path, fanout)
