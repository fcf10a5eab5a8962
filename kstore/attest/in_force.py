"""Which policies the signer of a statement or a checkpoint must satisfy.

Whoever makes a commit chooses what it descends from, and from an old commit old policies can be seen for ever. So what
came by history is not all that counts: a policy that had come before then counts as well, wherever it lies.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kstore.attest.chain import Trust
    from kstore.attest.policy import Policy


def rules(trust: Trust, number: int, time: int) -> tuple[Policy, ...]:
    """Give the policies that must all list a key, as one that is valid: one or two, the later one last.

    The first is the one before by history, so that no key vouches for itself; the last is the one in force by then.

    Args:
        trust: The policies that are believed.
        number: The highest number of a believed policy that came before by history, or 0.
        time: When what was signed came, in seconds since 1970.

    Returns:
        Nothing where no policy came before.
    """
    count = trust.upto(number)
    if not count:
        return ()
    # Their times never go back.
    last = max(count, bisect_left(trust.times, time))
    return (trust.policies[count - 1],) if last == count else (trust.policies[count - 1], trust.policies[last - 1])
