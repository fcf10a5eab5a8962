"""What the README and the recipes show is what happens.

Sessions are run and their output compared; the Python example is run. The two set-up commands are run here from where
their installation ends, as that needs a package index; the project's CI script takes the second one whole.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests import markdown
from tests.markdown import REPO, blocks, sections

if TYPE_CHECKING:
    from pathlib import Path

README = (REPO / "README.md").read_text()
RECIPES = (REPO / "docs" / "recipes.md").read_text()
_SETUP = "python3 -m venv .venv && . .venv/bin/activate && pip install --quiet -c constraints.txt -e "


def test_readme_sessions_and_python(tmp_path: Path) -> None:
    clone, env = markdown.fresh_clone(tmp_path)
    markdown.check(README, clone, env)
    (example,) = blocks(README, "python")
    (shown,) = blocks(README, "text")
    done = subprocess.run([sys.executable, "-c", example], cwd=clone, env=env, capture_output=True, check=True)
    assert done.stdout.decode() == shown


def test_first_command_ends_with_a_resolved_record(tmp_path: Path) -> None:
    clone, env = markdown.fresh_clone(tmp_path)
    for name in ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "EMAIL"):
        del env[name]
    run, _ = blocks(README, "sh")
    assert run.startswith(_SETUP + ". && (")
    after = run.removeprefix(_SETUP + ". && ")
    done = subprocess.run(["bash", "-c", after], cwd=clone, env=env, capture_output=True, check=True)
    assert '"product": "NVIDIA H100"' in done.stdout.decode()


def test_second_command_installs_the_test_extra_and_runs_pytest() -> None:
    _, test = blocks(README, "sh")
    assert test == _SETUP + "'.[test]' && pytest -n 2 --cov\n"


@pytest.mark.parametrize("title", sections(RECIPES, 2))
def test_recipe(tmp_path: Path, title: str) -> None:
    recipe = sections(RECIPES, 2)[title]
    for program in ("jq", "openssl", "ssh-agent"):
        if f"{program} " in recipe and shutil.which(program) is None:
            pytest.skip(f"this recipe uses {program}, which is not installed")
    if "git verify-commit" in recipe and shutil.which("ssh-keygen") is None:
        pytest.skip("in this recipe git uses ssh-keygen, which is not installed")
    clone, env = markdown.fresh_clone(tmp_path)
    start = RECIPES.partition("\n## ")[0]
    markdown.check(start + recipe, clone, env)


@pytest.mark.parametrize(
    ("shown", "printed", "expected"),
    [
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a\n", "a\nb\n", False),
        ("a ... c\n", "a b c\n", True),
        ("a\n...\n", "a\nb\nc\n", True),
        ("a\n...\nd\n", "a\nb\nc\n", False),
        ("", "a\n", False),
    ],
)
def test_comparison_of_output(shown: str, printed: str, expected: bool) -> None:
    assert markdown.matches(shown, printed) is expected
