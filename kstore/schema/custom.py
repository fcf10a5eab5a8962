"""Types that msgspec does not know, and asks for: how one is read is a function of its class.

The value that is read stays a plain `str` or `int`, so that encoding and comparing it need no second hook. msgspec asks
`isinstance(value, cls)` after reading; the metaclass answers for the plain type.
"""

from __future__ import annotations

from typing import Any, ClassVar


class _Reads(type):
    plain: type

    def __instancecheck__(cls, value: object) -> bool:
        return type(value) is cls.plain


class Custom(metaclass=_Reads):
    """A type with its own reader.

    Attributes:
        plain: The type of a value that was read.
        expected: What messages say was expected.
        json_schema: How JSON Schema describes what may be written.
    """

    plain: ClassVar[type] = object
    expected: ClassVar[str]
    json_schema: ClassVar[dict[str, Any]]

    @classmethod
    def read(cls, value: object) -> object:
        """Turn what a document says into the plain value.

        Raises:
            ValueError: It says something else than `expected`; the message tells both.
        """
        raise NotImplementedError


def read(cls: type[Custom], value: object) -> object:
    """Be msgspec's `dec_hook`."""
    return cls.read(value)
