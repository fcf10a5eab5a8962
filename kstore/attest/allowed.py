"""Whether a key may make statements now, by the latest policy that a registry has.

Whether that policy is itself to be believed is for those who read the statements to say (`kstore.attest.chain`): a
statement under a policy that nobody believes counts nowhere, and does no harm.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.attest.chain import policy_numbers
from kstore.attest.instant import now
from kstore.attest.policy import PolicyError, read_policy
from kstore.errors import KstoreError, NoTrustError
from kstore.layout import policy_path

if TYPE_CHECKING:
    from kstore.attest.key import PublicKey
    from kstore.attest.policy import Listed, Policy
    from kstore.git.files import Files


class NotAllowedError(KstoreError):
    """A key may not make statements here, or not now."""


def allowed(files: Files, key: PublicKey) -> Listed:
    """Give the entry of a key in the latest policy, having checked that what it signs now will count.

    Args:
        files: The commit that the statement will follow; a policy that comes with the statement is no authority for it.
        key: Whose statement it is to be.

    Raises:
        NoTrustError: There is no policy.
        NotAllowedError: The key is not listed, revoked, or outside its window.
        KstoreError: The policy is damaged.
    """
    policy = _latest(files)
    entry = policy.entry(key.id)
    whom = f"ask one of the maintainers ({', '.join(sorted({each.name for each in policy.maintainers}))})"
    here = f"{policy_path(policy.number)}, the latest trust policy here,"
    if entry is None:
        raise NotAllowedError(
            f"{here} does not list the key {key.id}, so that nothing it signs would count; {whom} to add it: "
            f"kstore trust add NAME '{key}' --key ..."
        )
    state = entry.state(now())
    if state != "valid":
        says = {
            "revoked": f"is revoked from {entry.revoked_from} on",
            "not yet valid": f"is valid from {entry.valid_after} on, not before",
            "no longer valid": f"was valid until {entry.valid_before}",
        }
        raise NotAllowedError(
            f"{here} says that the key {key.id} of {entry.name} {says[state]}, so that nothing it signs now would "
            f"count; {whom} for another window, or to add another key of yours"
        )
    return entry


def _latest(files: Files) -> Policy:
    number = max(policy_numbers(files), default=0)
    data = files.read(policy_path(number)) if number else None
    if data is None:
        raise NoTrustError(
            "this registry has no trust policy yet, so that no signature would count; make the first one with "
            "`kstore trust init --name NAME --key FILE`"
        )
    try:
        return read_policy(data)[1]
    except PolicyError as error:
        raise KstoreError(f"{policy_path(number)}: {error}; `kstore verify` says more") from None
