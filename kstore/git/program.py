"""Running the `git` program, for what hooks need: it is always there when git itself runs one."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_PATHSPECS = {f"GIT_{kind}_PATHSPECS" for kind in ("LITERAL", "GLOB", "NOGLOB", "ICASE")}
"""Some programs set these for every git that they start, and its hooks inherit them; ours are meant as they stand."""

_REPOSITORY = {
    f"GIT_{name}"
    for name in (
        "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR",
        "DIR",
        "GRAFT_FILE",
        "IMPLICIT_WORK_TREE",
        "INDEX_FILE",
        "OBJECT_DIRECTORY",
        "PREFIX",
        "QUARANTINE_PATH",
        "SHALLOW_FILE",
        "WORK_TREE",
    )
}
"""What ties git to one repository (`git rev-parse --local-env-vars`)."""

Environment = dict[str, str]


def handed_down() -> Environment:
    """Give git the environment that it gave us: in a hook, that names the repository and the index in question.

    A partial clone must not fetch what it lacks: nobody asked for the network. Nor may refs/replace/, which anybody can
    push, put one object in the place of another.
    """
    environment = {key: value for key, value in os.environ.items() if key not in _PATHSPECS}
    return {**environment, "GIT_NO_LAZY_FETCH": "1", "GIT_NO_REPLACE_OBJECTS": "1"}


def of_its_own() -> Environment:
    """Give git an environment that names no repository: it shall find the one around its folder."""
    return {key: value for key, value in handed_down().items() if key not in _REPOSITORY}


def start(
    folder: Path | None, environment: Mapping[str, str], *arguments: str, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start git, which then works beside us.

    Args:
        folder: Where; None is the current folder.
        environment: `handed_down` or `of_its_own`.
        arguments: Its arguments.
        stdin: What it reads, as `subprocess.Popen` takes it.

    Raises:
        KstoreError: There is no such program.
    """
    pipe = subprocess.PIPE
    try:
        # What it complains about is read after its output, and is too short to fill a pipe before that.
        return subprocess.Popen(["git", *arguments], cwd=folder, env=environment, stdin=stdin, stdout=pipe, stderr=pipe)
    except FileNotFoundError as error:
        raise KstoreError("this needs the `git` program, which is not on PATH; install git") from error


def finish(running: subprocess.Popen[bytes], *, good: Sequence[int] = (0,)) -> tuple[int, bytes]:
    """Wait for git and give its exit code and what it printed.

    Raises:
        KstoreError: It ended with another code than the good ones; the message has its complaint.
    """
    printed, complaint = running.communicate()
    if running.returncode not in good:
        command = " ".join(map(str, running.args[1:3])) if isinstance(running.args, list) else ""
        raise KstoreError(f"git {command} failed: {complaint.decode(errors='replace').strip()}")
    return running.returncode, printed


def output(folder: Path | None, environment: Mapping[str, str], *arguments: str, good: Sequence[int] = (0,)) -> bytes:
    """Run git and give what it printed; see `start` and `finish`."""
    return finish(start(folder, environment, *arguments), good=good)[1]
