"""From a document to a record: validated, normalized, spelled canonically, named by its digest.

There are two roads. The fast one is msgspec's decoder; it stops at the first error, and there are documents that it
refuses (`2.0` for an integer) or accepts (a text that is too long only in UTF-16 code units) against the format. These
take the slow road of `kstore.schema.explain`, which has the last word.
"""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from kstore.canonical import CanonicalError, canonical_struct, has_astral
from kstore.digest import Digest
from kstore.schema.custom import read
from kstore.schema.kinds import API_VERSION, KINDS, body_type, document_type, spec_type
from kstore.schema.metadata import Metadata
from kstore.schema.plain import plain, with_integers
from kstore.schema.primitives import Strict
from kstore.schema.problems import Problem, SchemaError
from kstore.schema.references import Reference, references

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from msgspec.json import Decoder


class Body(msgspec.Struct, frozen=True):
    """What a record's identity says.

    Attributes:
        kind: One of `KINDS`.
        spec: The normalized spec, of the type that has the kind's name.
    """

    kind: str
    spec: Any

    def references(self) -> tuple[Reference, ...]:
        """Give the records that this one refers to."""
        return references(self.kind, self.spec)


class Record(Body, frozen=True):
    """A valid document.

    Attributes:
        kind: One of `KINDS`.
        spec: The normalized spec, of the type that has the kind's name.
        metadata: What is editorial.
        body: The canonical bytes of `{apiVersion, kind, spec}`, which are the record's identity.
        metadata_bytes: The canonical bytes of the metadata.
        digest: The SHA-256 of the body.
    """

    metadata: Metadata
    body: bytes
    metadata_bytes: bytes
    digest: Digest

    @property
    def name(self) -> str:
        """The name that people use."""
        return self.metadata.name

    @property
    def title(self) -> str:
        """The title, or an empty string."""
        return self.metadata.title or ""

    def document(self) -> bytes:
        """Give the canonical bytes of the whole document, metadata included."""
        head = _head(self.kind)
        return b'%b,"metadata":%b,"spec":%b' % (head, self.metadata_bytes, self.body[len(head) + len(_SPEC) :])


_Struct = TypeVar("_Struct", bound=msgspec.Struct)


class _Envelope(Strict, frozen=True):
    api_version: str
    kind: str
    metadata: msgspec.Raw
    spec: msgspec.Raw


_SPEC = b',"spec":'
_BODY = re.compile(rb'\{"apiVersion":"%b","kind":"([A-Za-z]+)","spec":' % re.escape(API_VERSION.encode())).match
_ENVELOPE = msgspec.json.Decoder(_Envelope)
_METADATA = msgspec.json.Decoder(Metadata, dec_hook=read)

# How msgspec refuses: UnicodeError is for what is no UTF-8 and for a lone surrogate where a name was expected.
_REFUSED = (msgspec.DecodeError, UnicodeError, RecursionError)

_ESCAPE_BEYOND = re.compile(rb"\\u[dD]").search
"""Finds how an escape of a character beyond U+FFFF begins."""


def check(value: object) -> Record:
    """Make a record of a document that was read.

    Args:
        value: A plain JSON value: dicts with string keys, lists, strings, ints, floats, booleans, None.

    Raises:
        SchemaError: It is no valid document; the error has every problem.
    """
    kind = _kind(value)
    cls = document_type(kind)
    try:
        document: Any = msgspec.convert(value, cls, dec_hook=read)
    except _REFUSED:
        document = _slowly(cls, value)
    return _record(kind, document.spec, document.metadata, lambda: value)


def check_json(data: bytes) -> Record:
    """Make a record of the JSON text of one document; the same verdicts as `check` has.

    It is for text that is known to repeat no key: repetitions are not seen.

    Raises:
        SchemaError: It is no valid document; the error has every problem.
    """
    try:
        envelope = _ENVELOPE.decode(data)
        if envelope.api_version != API_VERSION or envelope.kind not in KINDS:
            return check(plain(data))
        spec = _spec_decoder(envelope.kind).decode(envelope.spec)
        metadata = _METADATA.decode(envelope.metadata)
    except _REFUSED:
        return check(plain(data))
    return _record(envelope.kind, spec, metadata, partial(plain, data))


def check_body(data: bytes) -> Body:
    """Read an identity body, `{apiVersion, kind, spec}`, strictly.

    Whether the bytes are canonical is another question: they are if they equal `identity` of what they say.

    Raises:
        SchemaError: It says something that is no record; the error has every problem.
    """
    match = _BODY(data)
    kind = match[1].decode() if match else ""
    if match and kind in KINDS and data.endswith(b"}"):
        try:
            spec = _spec_decoder(kind).decode(memoryview(data)[match.end() : -1])
        except _REFUSED:
            pass
        else:
            if _may_count_differently(data):
                _refuse(body_type(kind), plain(data))
            return Body(kind, spec)
    value = plain(data)
    kind = _kind(value)
    document: Any = _slowly(body_type(kind), value)
    return Body(kind, document.spec)


def check_metadata(data: bytes) -> Metadata:
    """Read a record's metadata strictly.

    Raises:
        SchemaError: It is no metadata; the error has every problem.
    """
    try:
        metadata = _METADATA.decode(data)
    except _REFUSED:
        return _slowly(Metadata, plain(data))
    if _may_count_differently(data):
        _refuse(Metadata, plain(data))
    return metadata


def stored_record(body: bytes, metadata: bytes) -> Record:
    """Read a record from its two files.

    Raises:
        SchemaError: One of them is invalid or not in its canonical form.
    """
    said = check_body(body)
    editorial = check_metadata(metadata)
    for part, data, spelled in (
        ("identity body", body, identity(said.kind, said.spec)),
        ("metadata", metadata, canonical_struct(editorial)),
    ):
        if data != spelled:
            raise SchemaError([((), f"expected the canonical form of the {part}, found another spelling of it")])
    return Record(said.kind, said.spec, editorial, body, metadata, Digest.of(body))


def identity(kind: str, spec: msgspec.Struct) -> bytes:
    """Spell the identity body of a validated spec canonically.

    Raises:
        CanonicalError: The spec holds what has no canonical form.
    """
    # The three keys sort in this order, so that their object can be put together.
    return b"%b%b%b}" % (_head(kind), _SPEC, canonical_struct(spec))


@cache
def _head(kind: str) -> bytes:
    return f'{{"apiVersion":"{API_VERSION}","kind":"{kind}"'.encode()


@cache
def _spec_decoder(kind: str) -> Decoder[Strict]:
    return msgspec.json.Decoder(spec_type(kind), dec_hook=read)


def _kind(value: object) -> str:
    """Give the kind that a value says, or an empty string where it says none of the thirteen."""
    kind = value.get("kind") if isinstance(value, dict) else None
    return kind if isinstance(kind, str) and kind in KINDS else ""


def _record(kind: str, spec: msgspec.Struct, metadata: Metadata, value: Callable[[], object]) -> Record:
    """Put a record together.

    Args:
        kind: Its kind.
        spec: What the fast road made of the spec.
        metadata: What the fast road made of the metadata.
        value: Gives the document as a plain value, in case the slow road has to look at it.
    """
    try:
        body = identity(kind, spec)
        metadata_bytes = canonical_struct(metadata)
    except CanonicalError:  # a lone surrogate, which the slow road finds the place of
        _refuse(document_type(kind), value())
        raise
    # What was spelled here has no escapes of such characters.
    if has_astral(body) or has_astral(metadata_bytes):
        _refuse(document_type(kind), value())
    return Record(kind, spec, metadata, body, metadata_bytes, Digest.of(body))


def _may_count_differently(data: bytes) -> bool:
    """Tell whether a text in here may have more UTF-16 code units than characters."""
    return has_astral(data) or (b"\\u" in data and _ESCAPE_BEYOND(data) is not None)


def _refuse(cls: type[msgspec.Struct], value: object) -> None:
    """Raise an error if the slow road finds a problem."""
    problems = _problems(cls, with_integers(value))
    first = next(problems, None)
    if first is not None:
        raise SchemaError(chain([first], problems))


def _slowly(cls: type[_Struct], value: object) -> _Struct:
    value = with_integers(value)
    _refuse(cls, value)
    return msgspec.convert(value, cls, dec_hook=read)


def _problems(cls: type[msgspec.Struct], value: object) -> Iterator[Problem]:
    # Imported here because it takes a while, and documents are mostly valid.
    from kstore.schema.explain import explain

    return explain(cls, value)
