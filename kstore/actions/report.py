"""What a verification found: findings, and whether they make a registry unsound."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from kstore.actions.inspect import Finding


class Report(msgspec.Struct, frozen=True):
    """What a verification found.

    Attributes:
        checked: How many files of each sort were looked at.
        complete: Whether everything that was asked about could be checked.
        findings: Everything that was found, by path.
        notes: What else a person should know: why it is not complete, or that nothing is signed.
    """

    checked: dict[str, int]
    complete: bool
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong; warnings are not."""
        return all(finding.severity == "warning" for finding in self.findings)
