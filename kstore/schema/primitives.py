r"""The named primitives of the record format, as annotated types.

A pattern is written so that Python's `re` and ECMAScript read it alike, because JSON Schema shares it: `(?!\n)$` is
the end of the string in both (Python's `$` alone lets a final newline through), and digits are `[0-9]` (Python's `\d`
has other scripts' digits). Each type's title and description are what messages and JSON Schema say about it.

`Meta(max_length=n)` counts code points, text(n) counts UTF-16 code units. The two differ only where a text holds
characters beyond U+FFFF; `kstore.schema.record` takes the slow road for such documents.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

SAFE = 2**53 - 1
"""The largest integer of the format, and, negated, the smallest: what a double counts without gaps."""

LARGEST = 1.7976931348623157e308
"""The largest finite double. As a bound it keeps out infinities, and NaN, which no comparison lets through."""

END = r"(?!\n)$"


class Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", gc=False):
    """An object of the format: no field beyond those named, none of them null, absent ones `msgspec.UNSET`.

    No object can be part of a cycle, so the garbage collector need not look (`gc=False`).
    """


_DIGEST = "sha256: and 64 lower-case hexadecimal digits"
_DIGEST_PATTERN = "^sha256:[0-9a-f]{64}" + END

Digest = Annotated[str, Meta(title="digest", description=_DIGEST, pattern=_DIGEST_PATTERN)]

RecordDigest = Annotated[
    str, Meta(title="digest", description=_DIGEST, pattern=_DIGEST_PATTERN, extra={"refers to a record": True})
]
"""A digest that names another record; `kstore.schema.references` says of which kind."""

Token = Annotated[
    str,
    Meta(
        title="token",
        description="a lower-case letter, then lower-case letters, digits and _",
        pattern="^[a-z][a-z0-9_]*" + END,
    ),
]

Axis = Annotated[
    str,
    Meta(
        title="axis",
        description="a lower-case letter, then lower-case letters, digits and _",
        pattern="^[a-z][a-z0-9_]*" + END,
    ),
]

Slug = Annotated[
    str,
    Meta(
        title="slug",
        description="a lower-case letter or digit, then lower-case letters, digits and -, at most 100 characters",
        pattern="^[a-z0-9][a-z0-9-]*" + END,
        max_length=100,
    ),
]

Name = Annotated[
    str,
    Meta(
        title="name",
        description="a lower-case letter or digit, then lower-case letters, digits, ., _ and -, at most 200 characters",
        pattern="^[a-z0-9][a-z0-9._-]*" + END,
        max_length=200,
    ),
]

Commit = Annotated[
    str, Meta(title="commit", description="40 lower-case hexadecimal digits", pattern="^[0-9a-f]{40}" + END)
]

_DAY_OF_ANY_YEAR = (
    "[0-9]{4}-(?:"
    "(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    "|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))"
)
_LEAP_DAY = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29"
_TIME = r"(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?"

Instant = Annotated[
    str,
    Meta(
        title="instant",
        description="YYYY-MM-DDTHH:MM[:SS[.d...]]Z, a date that exists in the Gregorian calendar, in UTC",
        pattern=f"^(?:{_DAY_OF_ANY_YEAR}|{_LEAP_DAY})T{_TIME}Z{END}",
    ),
]

Expression = Annotated[
    str,
    Meta(
        title="expression",
        description="lower-case letters, digits, spaces and _ + - * % / ( ), at least one, at most 200",
        pattern=r"^[a-z0-9_+\-*%/() ]+" + END,
        max_length=200,
    ),
]

_UNITS: dict[str, Any] = {"$comment": "maxLength counts UTF-16 code units, which JSON Schema cannot say."}

Text50 = Annotated[str, Meta(max_length=50, extra_json_schema=_UNITS)]
Text100 = Annotated[str, Meta(max_length=100, extra_json_schema=_UNITS)]
Text120 = Annotated[str, Meta(max_length=120, extra_json_schema=_UNITS)]
Text200 = Annotated[str, Meta(max_length=200, extra_json_schema=_UNITS)]
Text500 = Annotated[str, Meta(max_length=500, extra_json_schema=_UNITS)]
Text1000 = Annotated[str, Meta(max_length=1000, extra_json_schema=_UNITS)]
Text2000 = Annotated[str, Meta(max_length=2000, extra_json_schema=_UNITS)]

Int = Annotated[int, Meta(ge=-SAFE, le=SAFE)]
Count = Annotated[int, Meta(ge=0, le=SAFE)]
"""int≥0."""
Positive = Annotated[int, Meta(ge=1, le=SAFE)]
"""int>0."""

# An integral number stays the int that msgspec reads, whose spelling is canonical: as a double it would have to be
# spelled anew each time (`274874.0`).
Num = Int | Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
NumNotNegative = Count | Annotated[float, Meta(ge=0, le=LARGEST)]
NumPositive = Positive | Annotated[float, Meta(gt=0, le=LARGEST)]
Ratio = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]

Dim = Count | Axis
