"""What is wrong with a document: places and messages, all of them together in one error."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from kstore.errors import KstoreError, Path, dotted

if TYPE_CHECKING:
    from collections.abc import Iterable

Problem: TypeAlias = tuple[Path, str]
"""A place in a document, and what was expected and found there."""

MOST = 100
"""How many problems of one document are reported."""


class SchemaError(KstoreError):
    """A document is no record; `problems` has every reason, up to `MOST`."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        found = tuple(islice(problems, MOST + 1))
        if len(found) > MOST:
            found = (*found[:MOST], ((), f"there are more problems; only the first {MOST} are listed"))
        self.problems: tuple[Problem, ...] = found
        super().__init__("\n".join(f"{dotted(path)}: {text}" if path else text for path, text in found))
