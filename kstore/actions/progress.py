"""How an action that takes long says how far it is, without knowing who listens."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeAlias

Progress: TypeAlias = Callable[[int], AbstractContextManager[Callable[[int], None] | None]]
"""Makes, of the number of steps to come, what is called with the number of steps whenever some are done."""


def silent(_steps: int) -> AbstractContextManager[None]:
    """Be a `Progress` that nobody listens to."""
    return contextlib.nullcontext()
