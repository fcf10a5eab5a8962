"""URLs: what the WHATWG parser accepts without a base, with scheme https, kept as written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from kstore.schema.custom import Custom
from kstore.schema.found import found

_LONGEST = 2000
_EXPECTED = f"an https URL of at most {_LONGEST} characters"

# What every accepted text begins with: the parser passes over C0 controls and spaces in front, and over tabs and line
# breaks anywhere (https://url.spec.whatwg.org/#concept-basic-url-parser).
_SCHEME = "^[\\u0000-\\u0020]*" + "".join(rf"[{letter}{letter.upper()}][\t\n\r]*" for letter in "https") + ":"

# A subset of what the parser accepts, to spare ordinary URLs its import and its call. The host is lower-case ASCII
# labels without punycode (which could be malformed), the last of which starts with a letter (so that it is no IPv4
# number). After a host and a port of at most four digits the URL standard knows no failure: whatever else is written
# there is percent-encoded (https://url.spec.whatwg.org/#url-parsing).
_PLAIN = re.compile(r"https://(?:(?!xn--)[a-z0-9-]+\.)*(?!xn--)[a-z][a-z0-9-]*(?::[0-9]{1,4})?(?:[/?#][!-~]*)?")


def is_url(text: str) -> bool:
    """Tell whether a text is a url of the format."""
    try:
        # Units are counted only where characters beyond U+FFFF could make a difference.
        if len(text) > _LONGEST or (not text.isascii() and len(text.encode("utf-16-le")) > 2 * _LONGEST):
            return False
        if _PLAIN.fullmatch(text):
            return True
        import can_ada

        return bool(can_ada.parse(text).protocol == "https:")
    except ValueError:  # from the parser, or because a lone surrogate has no UTF-16
        return False


class _Url(Custom):
    plain = str
    expected = _EXPECTED
    json_schema: ClassVar[dict[str, Any]] = {
        "title": "url",
        "description": "Accepted by the WHATWG URL parser without a base, with scheme https, at most 2000 UTF-16 code "
        "units (JSON Schema can say neither).",
        "type": "string",
        "maxLength": _LONGEST,
        "pattern": _SCHEME,
    }

    @classmethod
    def read(cls, value: object) -> object:
        if type(value) is str and is_url(value):
            return value
        raise ValueError(f"expected {_EXPECTED}, found {found(value)}")


if TYPE_CHECKING:
    Url: TypeAlias = str
else:
    Url = _Url
