"""A policy's keys as OpenSSH's allowed signers, for `git verify-commit` and `ssh-keygen -Y verify`.

The format: ssh-keygen(1), "ALLOWED SIGNERS". OpenSSH's window includes both its ends, and a policy's excludes the later
one. Times end in `Z`, which OpenSSH understands since version 9.1; older ones refuse the line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kstore.attest.instant import instant_of, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kstore.attest.policy import Listed, Policy

NAMESPACES = "git,file"
"""What git signs, and what `ssh-keygen -Y sign -n file` does."""


def allowed_signers(policy: Policy, time: int) -> Iterator[str]:
    """Write the lines of an allowed signers file.

    A key that is revoked at `time`, in seconds since 1970, is left out, with all that it ever signed: git judges a
    commit by the date that the committer gave it, which whoever holds a stolen key is free to choose.
    """
    yield f"# The signers of trust policy {policy.number}, as `kstore trust export --allowed-signers` wrote them."
    for entry in policy.signers:
        if entry.is_revoked(time):
            yield f"# revoked from {entry.revoked_from}: {entry.name} {entry.id}"
            continue
        options = _options(entry)
        yield f"# never valid: {entry.name} {entry.id}" if options is None else f"{entry.name} {options} {entry.key}"


def _options(entry: Listed) -> str | None:
    """Write the options of an entry, or None where no time that OpenSSH knows is in its window."""
    options = [f'namespaces="{NAMESPACES}"']
    # Zero means no limit to OpenSSH, and it knows no time before 1970.
    if entry.valid_after and seconds_of(entry.valid_after) > 0:
        options.append(f'valid-after="{_stamp(seconds_of(entry.valid_after))}"')
    ends = [seconds_of(each) for each in (entry.valid_before, entry.revoked_from) if each]
    if ends:
        last = min(ends) - 1
        if last <= 0:
            return None
        options.append(f'valid-before="{_stamp(last)}"')
    return ",".join(options)


def _stamp(seconds: int) -> str:
    return instant_of(seconds).translate({ord(mark): None for mark in "-:T"})
