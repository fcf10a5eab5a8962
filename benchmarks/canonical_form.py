"""The canonical bytes of every distinct record: kstore, the rfc8785 package, and json.dumps as a floor.

json.dumps with sorted keys is what a program without a standard would write; on some records its bytes are others.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import rfc8785

from benchmarks.catalogue import bodies
from benchmarks.results import Comparison
from kstore.canonical import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from benchmarks.setting import Setting

_BATCH = 100


def run(setting: Setting) -> None:
    """Measure, after checking that kstore and rfc8785 write the same bytes.

    Raises:
        RuntimeError: They do not.
    """
    records = bodies(setting.catalogue())
    different = sum(canonical(record) != rfc8785.dumps(record) for record in records)
    if different:
        raise RuntimeError(f"kstore and rfc8785 write {different} of {len(records)} records differently")
    texts = [json.dumps(record) for record in records]
    batches = [texts[start : start + _BATCH] for start in range(0, len(texts), _BATCH)]
    ways = {"kstore": canonical, "rfc8785": rfc8785.dumps, "json.dumps": _sorted_json}
    passes = [_pass(batches, ways) for _ in range(setting.long_runs + 1)][1:]
    seconds = {name: [each[name] for each in passes] for name in ways}
    names = {"rfc8785": "the rfc8785 package", "json.dumps": "`json.dumps` with sorted keys, no standard"}
    for name, against in names.items():
        comparison = Comparison(
            section="canonical-form",
            work=f"canonical bytes of {len(records):,} records",
            against=against,
            ours=seconds["kstore"],
            theirs=seconds[name],
        )
        setting.book.compare("canonical" if name == "rfc8785" else f"canonical-{name}", comparison)


def _sorted_json(record: Any) -> bytes:
    return json.dumps(record, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def _pass(batches: list[list[str]], ways: Mapping[str, Callable[[Any], object]]) -> dict[str, float]:
    """Take each way over all records, in turn batch by batch, and give its seconds.

    The records were read a moment ago, as they are in an import; reading does not count.
    """
    seconds = dict.fromkeys(ways, 0.0)
    for batch in batches:
        for name, way in ways.items():
            fresh = [json.loads(text) for text in batch]
            start = time.perf_counter()
            for record in fresh:
                way(record)
            seconds[name] += time.perf_counter() - start
    return seconds
