"""The root of a checkpoint over 200,000 records, against one loop that feeds the same files to one BLAKE3.

The loop walks the working tree's folders and hashes each file's bytes into one state, all of them in the page cache.
The root is that of HEAD: every file is found in the pack, decompressed, hashed with SHA-1 (which shows damage, and is
relied on for nothing else), and hashed with BLAKE3, in as many processes as there are processors. What is left when the
hashes of folders are remembered, after one more record, is measured as well.
"""

from __future__ import annotations

import json
import os
from functools import partial
from typing import TYPE_CHECKING

from benchmarks import measure, synthetic
from benchmarks.results import Amount, Comparison
from benchmarks.setting import flush, kstore
from kstore.actions.root import Roots
from kstore.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from benchmarks.setting import Setting


def run(setting: Setting) -> None:
    """Measure a root, with nothing remembered, and after one `kstore add`."""
    records = 400 if setting.quick else 200_000
    folder = setting.folder("checkpoint")
    documents, path = folder / "documents.jsonl", folder / "registry"
    run_of_last = synthetic.write(documents, records)
    setting.run(*kstore(), "init", "--quiet", path)
    setting.run(*kstore(), "--registry", path, "import", "--quiet", documents)
    flush()
    with Registry.open(path) as registry:
        tree = _tree(registry)
        ways: Mapping[str, measure.Timed] = {
            "kstore": measure.function(lambda: Roots(registry, cache=False).of(tree)),
            "loop": measure.function(lambda: _loop(path / "store")),
        }
        seconds = measure.in_turn(ways, setting.long_runs)
        comparison = Comparison(
            section="checkpoint",
            work=f"the root over {records:,} records",
            against="a bare loop that feeds the same files to one BLAKE3",
            ours=seconds["kstore"],
            theirs=seconds["loop"],
        )
        setting.book.compare("checkpoint-root", comparison)
        Roots(registry).of(tree)
    again = []
    for number in range(setting.runs):
        document = folder / "another.json"
        document.write_text(json.dumps(synthetic.another(run_of_last, number)))
        setting.run(*kstore(), "--registry", path, "add", "--quiet", document)
        with Registry.open(path) as registry:
            again.append(measure.function(partial(_once, registry, _tree(registry)))())
    what = f"the root over {records:,} records after one `kstore add`"
    setting.book.amount("checkpoint-again", Amount(section="checkpoint", what=what, values=again))


def _tree(registry: Registry) -> bytes:
    history = registry.history()
    assert history.head is not None, "records were imported"
    return history.commit(history.head).tree


def _once(registry: Registry, tree: bytes) -> None:
    Roots(registry).of(tree)


def _loop(store: Path) -> None:
    from blake3 import blake3

    state = blake3()
    for folder, _, names in os.walk(store):
        for name in names:
            with open(f"{folder}/{name}", "rb") as file:  # noqa: PTH123  (nothing is in the way of what it is compared with)
                state.update(file.read())
    state.digest()
