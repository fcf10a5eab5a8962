"""The passphrase of a key: from the environment, or asked for on a terminal without showing it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kstore.errors import UsageError

if TYPE_CHECKING:
    from kstore.attest.signing import Signer

VARIABLE = "KSTORE_KEY_PASSPHRASE"


def signer_of(key: str) -> Signer:
    """Open a key file; an encrypted one asks for its passphrase, once.

    Raises:
        KstoreError: It cannot be opened.
    """
    from kstore.attest.signing import open_signer

    return open_signer(key, lambda: passphrase(key))


def passphrase(key: str) -> str:
    """Give the passphrase of a key that is there, or an empty one where nobody can be asked."""
    return os.environ.get(VARIABLE) or (_ask(f"Passphrase of {key}: ") if _on_terminal() else "")


def new_passphrase() -> str:
    """Give the passphrase for a new key, asked for twice; an empty one is for no encryption.

    Raises:
        UsageError: The two differ.
    """
    given = os.environ.get(VARIABLE)
    if given is not None or not _on_terminal():
        return given or ""
    first = _ask("Passphrase for the new key (empty for none): ")
    if first and _ask("The same passphrase again: ") != first:
        raise UsageError("the two passphrases differ; no key was made")
    return first


def _on_terminal() -> bool:
    """Tell whether somebody can be asked, even where standard input comes from elsewhere."""
    if not sys.stderr.isatty():
        return False
    try:
        with Path("/dev/tty").open("rb"):
            return True
    except OSError:
        return False


def _ask(prompt: str) -> str:
    from getpass import getpass

    try:
        return getpass(prompt)
    except EOFError:
        return ""
