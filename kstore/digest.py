"""The identity of a record: a SHA-256, written `sha256:<64 hex>` in text and bare in paths."""

from __future__ import annotations

import hashlib
import re

_TEXT = re.compile(r"(?:sha256:)?([0-9a-f]{64})")


class Digest(str):
    """A SHA-256 in its text form, `sha256:` and 64 lower-case hexadecimal digits.

    It is a string, so that it sorts, hashes and prints as what it is; having one means that it was checked.
    """

    __slots__ = ()

    @classmethod
    def of(cls, data: bytes) -> Digest:
        """Hash bytes."""
        return cls("sha256:" + hashlib.sha256(data).hexdigest())

    @classmethod
    def parse(cls, text: str) -> Digest:
        """Read a digest with or without its `sha256:`.

        Raises:
            ValueError: The text is not 64 lower-case hexadecimal digits.
        """
        match = _TEXT.fullmatch(text)
        if match is None:
            raise ValueError(f"expected sha256: and 64 lower-case hexadecimal digits, found {text!r}")
        return cls("sha256:" + match[1])

    @property
    def hex(self) -> str:
        """The 64 hexadecimal digits alone, as paths have them."""
        return self[7:]

    @property
    def raw(self) -> bytes:
        """The 32 bytes themselves, as those have them who keep millions."""
        return bytes.fromhex(self[7:])

    @classmethod
    def from_raw(cls, data: bytes) -> Digest:
        """Make a digest of its 32 bytes."""
        return cls("sha256:" + data.hex())
