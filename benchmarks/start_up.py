"""What a person waits for at least: whole processes that do next to nothing, against Python's own start.

The floor is the import of what every command needs: `python -c "import typer, msgspec"`.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from benchmarks import measure, memory
from benchmarks.results import Amount, Comparison
from benchmarks.setting import floor, kstore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from benchmarks.setting import Setting

_DOCUMENT: Mapping[str, object] = {
    "apiVersion": "kernelindex.dev/v1alpha1",
    "kind": "SoftwareProject",
    "metadata": {"name": "example"},
    "spec": {"name": "Example", "repository": "https://example.org/example"},
}


def run(setting: Setting) -> None:
    """Measure the times and the peaks of memory."""
    folder = setting.folder("start-up")
    as_json, as_yaml = folder / "example.json", folder / "example.yaml"
    as_json.write_text(json.dumps(_DOCUMENT), "utf-8")
    as_yaml.write_text(_yaml(_DOCUMENT), "utf-8")
    commands: dict[str, Sequence[str | Path]] = {
        "floor": floor(),
        "python": [sys.executable, "-c", ""],
        "version": [*kstore(), "--version"],
        "digest": [*kstore(), "digest", as_json],
        "digest-yaml": [*kstore(), "digest", as_yaml],
    }
    names = {
        "python": "`python -c ''`",
        "version": "`kstore --version`",
        "digest": "`kstore digest FILE`, JSON",
        "digest-yaml": "`kstore digest FILE`, YAML",
    }
    seconds = measure.in_turn({name: _timed(command) for name, command in commands.items()}, setting.runs)
    for key, name in names.items():
        comparison = Comparison(
            section="start-up",
            work=name,
            against='`python -c "import typer, msgspec"`',
            ours=seconds[key],
            theirs=seconds["floor"],
            plotted=key != "python",
        )
        setting.book.compare(key, comparison)
    for key, command in commands.items():
        name = names.get(key, '`python -c "import typer, msgspec"`')
        peak = memory.usage(command).largest
        amount = Amount(section="start-up", what=f"peak memory of {name}", values=[peak], unit="bytes")
        setting.book.amount(f"start-up-memory-{key}", amount)


def _timed(command: Sequence[str | Path]) -> measure.Timed:
    return lambda: measure.process(command)


def _yaml(document: Mapping[str, object]) -> str:
    """Write the document as people write YAML; JSON would be YAML too, but read on another way."""
    lines = []
    for field, value in document.items():
        if isinstance(value, dict):
            lines += [f"{field}:", *(f"  {name}: {text}" for name, text in value.items())]
        else:
            lines.append(f"{field}: {value}")
    return "\n".join(lines) + "\n"
