"""Check what a change does to signed files before it becomes history, and whether what must be signed is signed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.actions.inspect import Finding
from kstore.actions.signed_files import look_at
from kstore.actions.statements import COUNTED, evidence_findings, missing_signatures, statement_findings
from kstore.attest.chain import FOLDER
from kstore.attest.judge import examine
from kstore.attest.statements import attestations
from kstore.layout import attestation_folder, path_of, policy_path, signed_place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kstore.attest.evidence import Evidence
    from kstore.digest import Digest
    from kstore.git.change import Change
    from kstore.registry import Registry


class SignedChange:
    """What a change does to the signed files of a registry.

    Attributes:
        checked: How many attestations, policies and checkpoints it adds.
        lost: What it takes away or alters: findings whose cure is to bring back what was there.
        wrong: What is wrong with what it adds: findings whose cure is to leave that out.
        untrusted: Why no policy can be believed: then nothing can be checked, whatever the change does.
    """

    def __init__(self, registry: Registry, known: Evidence) -> None:
        """Look at a new snapshot of a registry, by what is known of it and of what it was made from."""
        self._registry = registry
        self._known = known
        self.checked = dict.fromkeys(COUNTED.values(), 0)
        self.lost: list[Finding] = []
        self.wrong: list[Finding] = []
        # A policy that is pinned and missing, and policies of which none holds, would otherwise require nothing.
        unbelieved = known.trust.exists and not known.trust.policies
        self.untrusted = [
            Finding("error", each.code, each.path, None, each.message)
            for each in known.trust.problems
            if unbelieved or each.path == FOLDER
        ]

    def check(self, changes: Iterable[Change]) -> None:
        """Check those of some changes that lie in the folders of signed files.

        What a merge brings together is looked at anew: what counted on a branch need not count where others have gone
        on, and nobody may have checked that branch.
        """
        added = set()
        for change in changes:
            before = [each for each in change.before if each is not None]
            if change.now is None or (before and any(each != change.now for each in before)):
                if any(each.type == "file" for each in before):
                    self.lost.append(_lost(change))
            else:
                self._check_new(change)
                added.add(change.path)
        told = {finding.path for finding in (*self.wrong, *self.untrusted)}
        self.wrong += [each for each in evidence_findings(self._known) if each.path in added - told]

    def required(self, records: Mapping[Digest, str]) -> Iterator[Finding]:
        """Say which new records are not signed although the latest policy wants it.

        Args:
            records: The new records, and their kinds.
        """
        policy, fanout = self._known.trust.latest, self._registry.settings.fanout
        wanted = [digest for digest, kind in records.items() if policy is not None and policy.requires(kind)]
        endorsed = frozenset(digest for digest in wanted if self._is_endorsed(digest))
        yield from missing_signatures(((digest, path_of("objects", digest, fanout)) for digest in wanted), endorsed)

    def missed(self, merged: Iterable[Change], signed: Iterable[Change]) -> Iterator[Change]:
        """Give those records that a merge brings where the latest policy was in force already.

        That is the parents, or the only one, with the highest policy. Else a record that must be signed could come by
        a branch that is older than the policy that says so.

        Args:
            merged: The objects that some parents have and others have not.
            signed: What the merge changes in the folders of signed files.
        """
        policies = self._known.trust.policies
        if not policies or not policies[-1].requires_signature:
            return
        by_path = {change.path: change for change in signed}
        for policy in reversed(policies):
            change = by_path.get(policy_path(policy.number))
            # What no parent lacks does not change.
            having = None if change is None else {at for at, each in enumerate(change.before) if each == change.now}
            if having is None or having:
                for each in merged:
                    if any(each.before[at] is None for at in (range(len(each.before)) if having is None else having)):
                        yield each
                return

    def _check_new(self, change: Change) -> None:
        assert change.now is not None, "it is new"
        files = self._registry.files
        findings, place, data = look_at(files, change.now, self._registry.settings.fanout)
        self.wrong.extend(findings)
        if place is None:
            return
        self.checked[COUNTED[place.part]] += 1
        if place.part == "attestations":
            judged = self._known.judge(examine(change.path, place, data, self._known.trust.keys))
            self.wrong.extend(statement_findings(judged, self._registry.__contains__))

    def _is_endorsed(self, digest: Digest) -> bool:
        files, fanout = self._registry.files, self._registry.settings.fanout
        for entry, place in attestations(files, attestation_folder(digest, fanout), fanout):
            judged = self._known.judge(examine(entry.path, place, files.load(entry)[1], self._known.trust.keys))
            if judged.counts and judged.statement is not None and judged.statement.kind == "endorsement":
                return True
        return False


def _lost(change: Change) -> Finding:
    place = signed_place_of(change.path, 1)
    digest = None if place is None else place.subject
    if change.now is None:
        message = "what was signed never goes; what is wrong is retracted, and a key that is lost is revoked"
        return Finding("error", "object-removed", change.path, digest, message)
    return Finding("error", "object-changed", change.path, digest, "what was signed never changes")
