"""The canonical form of a JSON value: its one spelling in bytes by RFC 8785 (JCS).

msgspec's encoder is fast and nearly agrees with the standard: it leaves out white space, escapes strings as
section 3.2.2.2 asks for, and sorts keys. It differs in how it spells some numbers, in the order of keys beyond
U+FFFF, and in taking what is no JSON. So each value is looked through first, and what msgspec would spell
differently is replaced; most records hold nothing of the kind and are not even copied.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple

from kstore.errors import Path, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_SAFE_INTEGER = 2**53 - 1
"""The largest integer that has no other integer for its double (RFC 8785, section 3.2.2.3; RFC 7493, 2.2)."""

MAX_DEPTH = 200
"""How many arrays and objects may lie inside each other."""

_encode_sorted = msgspec.json.Encoder(order="sorted").encode
_encode_as_is = msgspec.json.Encoder().encode
_BELOW_ASTRAL = bytes(range(0xF0))  # UTF-8 begins each character from U+10000 on with a greater one

# A member whose number msgspec may spell otherwise: a whole one as a double (`1.0`), or one with an exponent (`1e16`).
# Where it stands in a string it does no harm. Looking back for the quote lets the search run from colon to colon.
_may_differ = re.compile(rb':[-0-9](?<=":.)[0-9]*+(?:\.0[,}]|[0-9.]*+e)').search


class CanonicalError(ValueError):
    """A value has no canonical form; `message` says what is wrong, `path` where inside the value."""

    def __init__(self, message: str, path: Path = ()) -> None:
        super().__init__(message)
        self.message = message
        self.path = path

    def __str__(self) -> str:
        """Give `path: message`."""
        return f"{dotted(self.path)}: {self.message}" if self.path else self.message


def canonical(value: object) -> bytes:
    """Spell a value as RFC 8785 does.

    Args:
        value: A dict with string keys, a list or tuple, str, int, float, bool, None, or a msgspec Struct,
            which is the object of its fields under their encoded names, without those that are UNSET.

    Returns:
        UTF-8 without white space and without a final newline.

    Raises:
        CanonicalError: The value holds a lone surrogate, NaN or an infinity, an integer beyond ±(2^53-1), a
            key that is no string, or something that is no JSON; or it is nested more than `MAX_DEPTH` deep.
    """
    try:
        return _by_survey(value) or _encoded(_respelled(_plain(value, ())))
    except RecursionError:
        raise CanonicalError("nested too deeply for the stack that is left") from None


def canonical_struct(value: msgspec.Struct) -> bytes:
    """Spell a Struct that msgspec has decoded by its types, as `canonical` does and several times faster.

    What its types rule out need not be looked for; a look at msgspec's bytes tells whether it may have spelled a number
    or sorted a key otherwise than the standard.

    Args:
        value: A Struct of strings, integers in the safe range, finite doubles, booleans, arrays without doubles, maps,
            and such Structs.

    Raises:
        CanonicalError: A string holds a lone surrogate.
    """
    try:
        data = _encode_sorted(value)
    except UnicodeEncodeError:
        return canonical(value)
    return canonical(value) if _may_differ(data) or has_astral(data) else data


def has_astral(data: bytes) -> bool:
    """Tell whether UTF-8 has a character from U+10000 on, which takes two units in UTF-16."""
    # Several times as fast as a regular expression.
    return not data.isascii() and len(data.translate(None, _BELOW_ASTRAL)) > 0


def number(value: float) -> str:
    """Spell a number as ECMAScript does (RFC 8785, section 3.2.2.3; ECMA-262, section 6.1.6.1.20).

    Raises:
        CanonicalError: The number is NaN, an infinity, or an int beyond ±(2^53-1).
    """
    if isinstance(value, int):
        if not -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            found = str(value) if value.bit_length() <= 128 else f"one of {value.bit_length()} bits"
            raise CanonicalError(f"expected an integer within ±(2^53-1), found {found}")
        return str(int(value))
    if not math.isfinite(value):
        raise CanonicalError(f"expected a finite number, found {float(value)}")
    if value == 0:
        return "0"  # negative zero, too
    # ECMA-262 takes the fewest digits that read back as the same double, and of those the closest; so does
    # repr(). The letters are the standard's: k digits s, and a point such that the value is 0.s times 10^n.
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    significant = (whole + fraction).lstrip("0")
    n = len(significant) - len(fraction) + int(exponent or 0)
    digits = significant.rstrip("0")
    k = len(digits)
    if k <= n <= 21:
        return f"{sign}{digits}{'0' * (n - k)}"
    if 0 < n <= 21:
        return f"{sign}{digits[:n]}.{digits[n:]}"
    if -6 < n <= 0:
        return f"{sign}0.{'0' * -n}{digits}"
    return f"{sign}{digits[0]}{'.' if k > 1 else ''}{digits[1:]}e{n - 1:+d}"


def _by_survey(value: Any) -> bytes | None:
    """Give the canonical form the fast way; None where something is odd, or wrong, and `_plain` shall tell which."""
    floats: list[float] = []
    try:
        _survey((value,), MAX_DEPTH + 1, floats)
        return _encoded(_respelled(msgspec.to_builtins(value)) if floats else value)
    except (CanonicalError, TypeError, UnicodeEncodeError):
        return None


class _WritesFields(dict[type, bool]):
    """For each class: whether it is a Struct that msgspec writes as the object of its fields, no more, no less.

    A dict that fills itself: at one look per Struct, `functools.cache` took a third of the whole time.
    """

    def __missing__(self, kind: type) -> bool:
        config = kind.__struct_config__ if issubclass(kind, msgspec.Struct) else None
        odd = config is None or config.array_like or config.omit_defaults or config.tag is not None
        self[kind] = not odd
        return not odd


_writes_fields = _WritesFields()


def _survey(items: Iterable[Any], room: int, floats: list[float]) -> None:
    """Look at all items, and everything inside them, for what msgspec would not spell canonically.

    Every value of every record passes here, so what is frequent comes first. Keys and the characters of strings
    need no look, as msgspec refuses those that are wrong.

    Args:
        items: Anything.
        room: How many arrays and objects may still be inside each other, counting the one that has the items.
        floats: Receives the floats that msgspec would spell otherwise.

    Raises:
        CanonicalError: There is something else than JSON values of exactly Python's own types, and Structs. It
            may be harmless, and the error does not say what it is.
    """
    if not room:
        raise CanonicalError("nested too deeply")
    for item in items:
        kind: Any = type(item)
        if kind is str or (kind is int and -MAX_SAFE_INTEGER <= item <= MAX_SAFE_INTEGER):
            continue
        if kind is dict:
            _survey(item.values(), room - 1, floats)
        elif kind is list:
            _survey(item, room - 1, floats)
        elif kind is float:
            if not _is_spelled_alike(item):
                floats.append(item)
        elif kind is bool or item is None or item is msgspec.UNSET:
            continue  # msgspec itself refuses UNSET that is no field of a Struct.
        elif _writes_fields[kind]:
            _survey(astuple(item), room - 1, floats)
        else:
            raise CanonicalError(f"found a Python {kind.__name__}")


def _is_spelled_alike(value: float) -> bool:
    """Tell whether msgspec, too, spells this as a fraction with a plain decimal point."""
    return bool(value % 1) and 1e-5 <= abs(value) < 1e15


def _respelled(value: Any) -> Any:
    """Replace the finite floats that msgspec would not spell canonically; dicts and lists are changed in place."""
    kind = type(value)
    if kind is dict or kind is list:
        for key, item in value.items() if kind is dict else enumerate(value):
            kind = type(item)
            if kind is dict or kind is list or kind is float:
                value[key] = _respelled(item)
    elif kind is float and not _is_spelled_alike(value):
        if value.is_integer() and abs(value) <= MAX_SAFE_INTEGER:
            return int(value)
        return msgspec.Raw(number(value).encode())
    return value


def _encoded(value: Any) -> bytes:
    data = _encode_sorted(value)
    # Section 3.2.3 sorts keys by UTF-16 code units, msgspec by code points. The orders differ only where UTF-16
    # needs two units for a character.
    return data if not has_astral(data) else _encode_as_is(_sorted_by_utf16(value))


def _sorted_by_utf16(value: Any) -> Any:
    """Copy a value with all keys in the order of section 3.2.3.

    Big-endian code units compare as their bytes do.
    """
    if isinstance(value, msgspec.Struct):
        value = _object(value)
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return {key: _sorted_by_utf16(value[key]) for key in keys}
    return [_sorted_by_utf16(item) for item in value] if isinstance(value, list) else value


def _plain(value: Any, path: Path) -> Any:
    """Copy a value into dicts, lists and scalars of exactly Python's own types.

    Raises:
        CanonicalError: As `canonical` says, with the place.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _plain_text(value, path)
    if isinstance(value, int | float):
        try:
            number(value)
        except CanonicalError as error:
            raise CanonicalError(error.message, path) from None
        return int(value) if isinstance(value, int) else float(value)
    if len(path) >= MAX_DEPTH:
        expected = f"expected at most {MAX_DEPTH} arrays and objects inside each other"
        raise CanonicalError(f"{expected}, found more", path)
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, index)) for index, item in enumerate(value)]
    if _writes_fields[type(value)]:
        value = _object(value)
    if isinstance(value, dict):
        return {_plain_text(key, path): _plain(item, (*path, key)) for key, item in value.items()}
    raise CanonicalError(f"expected a JSON value, found a Python {type(value).__name__}", path)


def _plain_text(text: object, path: Path) -> str:
    if not isinstance(text, str):
        raise CanonicalError(f"expected a string as key, found {text!r}", path)
    try:
        text.encode()  # Half a surrogate pair has no UTF-8 (section 3.2.2.2).
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise CanonicalError(f"expected Unicode text, found the lone surrogate {code}", path) from None
    return str.__str__(text)


def _object(struct: msgspec.Struct) -> dict[str, Any]:
    fields = zip(struct.__struct_encode_fields__, astuple(struct), strict=True)
    return {name: item for name, item in fields if item is not msgspec.UNSET}
