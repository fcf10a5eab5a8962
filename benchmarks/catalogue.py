"""The real records that benchmarks run on: the documents of the published catalogues in `../shared/data`."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zstandard

if TYPE_CHECKING:
    from collections.abc import Iterator

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def catalogues() -> list[Path]:
    """Give the catalogues that are here, the one read by default first.

    Raises:
        FileNotFoundError: There are none.
    """
    found = sorted(DATA.glob("catalog-*.jsonl.zst"))
    if not found:
        raise FileNotFoundError(f"the benchmarks need a catalogue, catalog-*.jsonl.zst, in {DATA}")
    return found


def documents(catalogue: Path) -> Iterator[dict[str, Any]]:
    """Read a catalogue's documents, as often as they occur in it.

    A line is `{"table": …, "row": {…}}`; a row's `manifest` is a document, or an object of several.
    """
    with catalogue.open("rb") as file:
        for line in io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8"):
            manifest = json.loads(line)["row"].get("manifest")
            if manifest:
                yield from [manifest] if "apiVersion" in manifest else manifest.values()


def bodies(catalogue: Path) -> list[dict[str, Any]]:
    """Read what identifies each document, `{apiVersion, kind, spec}`: every distinct one, once."""
    distinct = {}
    for document in documents(catalogue):
        body = {field: document[field] for field in ("apiVersion", "kind", "spec")}
        distinct[json.dumps(body, sort_keys=True)] = body
    return list(distinct.values())


def piece(catalogue: Path, rows: int, to: Path) -> Path:
    """Write the first rows that have documents to a catalogue of its own, and as many of those with runs."""
    left = {"benchmark_runs": rows, "": rows}
    with catalogue.open("rb") as file, to.open("wb") as out, zstandard.ZstdCompressor().stream_writer(out) as writer:
        for line in io.TextIOWrapper(zstandard.ZstdDecompressor().stream_reader(file), encoding="utf-8"):
            row = json.loads(line)
            of = row["table"] if row["table"] in left else ""
            if row["row"].get("manifest") and left[of]:
                left[of] -= 1
                writer.write(line.encode())
            elif not any(left.values()):
                break
    return to
