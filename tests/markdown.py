"""The code blocks of the documentation, and running them as a reader would."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).parents[1]
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MARK = "\x1e"


class Command(NamedTuple):
    """A command of a session and what the document shows for it, stdout and stderr as a terminal mixes them."""

    text: str
    shown: str


def blocks(text: str, language: str) -> list[str]:
    """Give the contents of the fenced blocks of one language."""
    return [body for found, body in _BLOCK.findall(text) if found == language]


def sections(text: str, level: int) -> dict[str, str]:
    """Give the text below each heading of one level, up to the next heading of that level or above."""
    prose = _BLOCK.sub(lambda block: re.sub(r"[^\n]", " ", block[0]), text)  # a comment in a block is no heading
    starts = list(re.finditer(rf"^#{{1,{level}}} (.*)$", prose, re.MULTILINE))
    ends = [start.start() for start in starts[1:]] + [len(text)]
    return {
        start[1]: text[start.end() : end]
        for start, end in zip(starts, ends, strict=True)
        if start[0].startswith("#" * level + " ")
    }


def commands(session: str) -> list[Command]:
    """Take a session apart: a command begins with `$ ` and goes on over lines that begin with `> `."""
    found: list[tuple[list[str], list[str]]] = []
    for line in session.splitlines():
        if line.startswith("$ "):
            found.append(([line[2:]], []))
        elif line.startswith("> ") and not found[-1][1]:
            found[-1][0].append(line[2:])
        else:
            found[-1][1].append(line)
    return [Command("\n".join(text), "".join(f"{line}\n" for line in shown)) for text, shown in found]


def play(session: list[Command], folder: Path, env: dict[str, str]) -> list[str]:
    """Run commands one after the other in one shell and give what each printed."""
    after = f"status=$?; printf '{_MARK}'; (exit $status)"  # the next command may ask for $?
    script = "\n".join(["exec 2>&1", *(f"{command.text}\n{after}" for command in session)])
    done = subprocess.run(
        ["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
    )
    printed = done.stdout.decode().split(_MARK)
    assert len(printed) == len(session) + 1, f"the session ended early: {printed[-1]}"
    return printed[:-1]


def matches(shown: str, printed: str) -> bool:
    """Tell whether a command printed what the document shows, where `...` stands for any text, or none."""
    pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.\n|\.\.\.", shown))
    return re.fullmatch(pattern, printed, re.DOTALL) is not None


def check(text: str, folder: Path, env: dict[str, str]) -> None:
    """Run all sessions of a text as one and compare everything that they show."""
    session = [command for block in blocks(text, "console") for command in commands(block)]
    for command, printed in zip(session, play(session, folder, env), strict=True):
        assert matches(command.shown, printed), f"$ {command.text}\nshown:\n{command.shown}\nprinted:\n{printed}"


def fresh_clone(home: Path) -> tuple[Path, dict[str, str]]:
    """Make what sessions start from: a folder with the reference records where a clone has them, and an environment.

    Nothing of the user's configuration is in that environment but the program search path, with this kstore before it.
    """
    clone = home / "kstore"
    shutil.copytree(REPO / "tests" / "data" / "reference", clone / "tests" / "data" / "reference")
    env = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "HOME": str(home),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A. Reader",
        "GIT_COMMITTER_NAME": "A. Reader",
        "EMAIL": "reader@example.org",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }
    return clone, env
