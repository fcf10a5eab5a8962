"""Fetching a whole repository from elsewhere: a local path, ssh or http, as dulwich gives them."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

from kstore.errors import KstoreError, UsageError
from kstore.git.place import Place
from kstore.git.program import of_its_own, output

if TYPE_CHECKING:
    from pathlib import Path

_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")


def fetch_repository(url: str, target: Path) -> Place:
    """Make a copy of a repository, with all its branches and nothing checked out.

    Args:
        url: A path, `ssh://…`, `host:path`, `https://…` or `http://…`.
        target: The folder to make.

    Raises:
        UsageError: The URL is none of these, or smuggles in an option for ssh.
        KstoreError: It could not be fetched; nothing stays behind.
    """
    from dulwich.client import get_transport_and_path
    from dulwich.config import StackedConfig

    if url.startswith("-") or re.search(r"://(?:[^/@]*@)?-", url):
        raise UsageError(
            f"{without_credentials(url)}: expected a path or a URL, found what ssh would take for an option"
        )
    try:
        client, path = get_transport_and_path(url, config=StackedConfig.default(), operation="pull", quiet=True)
        client.clone(path, str(target), mkdir=True, bare=False, checkout=False, origin_url=url).close()
    except Exception as error:
        # What a server, or damage, can make dulwich raise has no end: zlib.error, KeyError, struct.error, errors of
        # its own without a common parent.
        shutil.rmtree(target, ignore_errors=True)
        raise _failed(url, error) from error
    return Place(target / ".git", target / ".git", target)


def _failed(url: str, error: Exception) -> KstoreError:
    said = without_credentials(str(error)) or type(error).__name__
    if not isinstance(error, OSError | ValueError):
        said = f"{type(error).__name__}: {said}"
    return KstoreError(f"{without_credentials(url)}: cannot be cloned: {said}")


def without_credentials(text: str) -> str:
    """Take the user and password out of every URL in a text."""
    return _CREDENTIALS.sub("", text)


def check_out(place: Place) -> None:
    """Fill the working tree of a fresh clone with the files of HEAD.

    Raises:
        KstoreError: They cannot be written.
    """
    from dulwich.repo import Repo

    try:
        output(place.work_tree, of_its_own(), "reset", "--hard", "--quiet")
    except KstoreError:
        # Without the git program, or where it fails for a reason that dulwich will meet and say again.
        try:
            with Repo(str(place.work_tree)) as repo:
                repo.get_worktree().reset_index()
        except OSError as error:
            raise KstoreError(f"{place.work_tree}: the files cannot be written: {error.strerror}") from error
