"""How large and how deep a text may be; what is over a limit is refused, never cut.

The format fixes the size of a document and the number of aliases. The other numbers are this project's own: they keep
the time that any input costs well under a second, and lie far above what real records have (9 KiB, 8 levels).
"""

from __future__ import annotations

from typing import Final

MAX_DOCUMENT_BYTES: Final = 1_048_576
"""Of one document: its text in a file of its own, its compact JSON in a bundle. All of a YAML text."""

MAX_FILE_BYTES: Final = 16 * 1_048_576
"""Of one file, which may be a JSON bundle of many documents."""

MAX_FILE_VALUES: Final = 500_000
"""Commas and opening brackets in a file of over 1 MiB; real documents have one in 33 bytes, packed tightly."""

MAX_MEMBERS: Final = 100_000
"""Members of one object or array in a file of over 1 MiB."""

MAX_NESTING: Final = 32
"""Objects and arrays around a value."""

MAX_ALIASES: Final = 99
"""Aliases of one YAML anchor."""

MAX_YAML_NODES: Final = 100_000
"""Keys, values and collections of a YAML text, with its aliases written out."""

MAX_TAG_DIRECTIVES: Final = 16
"""`%TAG` lines in a YAML text: libyaml compares each with all before it."""

MAX_HEADING: Final = 65_536
"""Characters above a document that may be something else."""

MAX_BUNDLE_DEPTH: Final = 4
"""Keys and indices that lead from the root of a bundle to a document."""

MAX_FAULTS: Final = 200
"""Faults reported for one file; further ones are only mentioned."""

MAX_SAFE_INTEGER: Final = 2**53 - 1
"""The largest integer up to which a double holds every integer (RFC 8785, section 3.2.2.3)."""
