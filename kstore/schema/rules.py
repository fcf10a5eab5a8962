"""Rules across the fields of one object, written once for validation, explanation and JSON Schema.

A rule names fields by a name that is the same in documents and in Python, and asks for a field's value through a
function that gives `msgspec.UNSET` for an absent one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import msgspec
from msgspec import UNSET

from kstore.schema.primitives import Strict

Ask: TypeAlias = Callable[[str], object]


class AtLeastOne(msgspec.Struct, frozen=True):
    """One of the fields must be there."""

    fields: tuple[str, ...]

    def broken(self, ask: Ask) -> str:
        """Say what is wrong, or give an empty string."""
        if all(ask(field) is UNSET for field in self.fields):
            return f"expected at least one of the fields {' and '.join(self.fields)}, found none"
        return ""

    def json_schema(self) -> dict[str, Any]:
        """Express the rule."""
        return {"anyOf": [{"required": [field]} for field in self.fields]}


class ExactlyOne(msgspec.Struct, frozen=True):
    """One of the fields must be there, and no more than one."""

    fields: tuple[str, ...]

    def broken(self, ask: Ask) -> str:
        """Say what is wrong, or give an empty string."""
        present = [field for field in self.fields if ask(field) is not UNSET]
        if len(present) != 1:
            return f"expected exactly one of the fields {' and '.join(self.fields)}, found {len(present) or 'none'}"
        return ""

    def json_schema(self) -> dict[str, Any]:
        """Express the rule."""
        return {"oneOf": [{"required": [field]} for field in self.fields]}


class Needs(msgspec.Struct, frozen=True):
    """Where a field has a certain value, another one must be there."""

    field: str
    value: str
    needed: str

    def broken(self, ask: Ask) -> str:
        """Say what is wrong, or give an empty string."""
        if ask(self.field) == self.value and ask(self.needed) is UNSET:
            return f"expected the field {self.needed} because {self.field} is {self.value}, found none"
        return ""

    def json_schema(self) -> dict[str, Any]:
        """Express the rule."""
        return {
            "if": {"properties": {self.field: {"const": self.value}}, "required": [self.field]},
            "then": {"required": [self.needed]},
        }


Rule: TypeAlias = AtLeastOne | ExactlyOne | Needs


class Ruled(Strict, frozen=True):
    """An object whose fields depend on each other."""

    rules: ClassVar[tuple[Rule, ...]] = ()

    def __post_init__(self) -> None:
        for rule in self.rules:
            message = rule.broken(self.__getattribute__)
            if message:
                raise ValueError(message)
