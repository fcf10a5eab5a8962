"""What a verification found: findings, and whether they make a registry unsound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from kstore.actions.inspect import Finding


class Report(msgspec.Struct, frozen=True):
    """What a verification found.

    Attributes:
        checked: How many objects and metadata files were looked at.
        complete: Whether everything that was asked about could be checked.
        findings: Everything that was found, by path.
    """

    checked: dict[str, int]
    complete: bool
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong; warnings are not."""
        return all(finding.severity == "warning" for finding in self.findings)
