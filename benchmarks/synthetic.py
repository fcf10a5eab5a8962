"""Makes up catalogues of any size that have the shape of the real one: `python -m benchmarks.synthetic N FILE`.

The shares of the kinds, the sizes of their parts and the way they refer to each other were measured on the 19,765
records of the published catalogue and are written down here; names, texts and numbers are made up. Every reference
leads to an earlier record, and no two records are the same: the number of each stands in what identifies it.
"""

from __future__ import annotations

import argparse
import contextlib
import random
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import zstandard

from benchmarks.maker import Maker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.maker import Document

SHARES = {
    "ExecutionEnvironment": 15,
    "BenchmarkProtocol": 6,
    "OperationSpec": 449,
    "WorkloadCase": 5371,
    "WorkloadSuite": 256,
    "SoftwareProject": 615,
    "ImplementationRevision": 4250,
    "BenchmarkRun": 7857,
    "ModelRevision": 6,
    "ServingStackRevision": 71,
    "ServingConfiguration": 130,
    "ServingWorkload": 17,
    "ServingRun": 722,
}
"""How many distinct records of each kind the published catalogue has; a kind stands after those it refers to."""

SIZES = {
    "ExecutionEnvironment": (223, 87),
    "BenchmarkProtocol": (541, 89),
    "OperationSpec": (1265, 449),
    "WorkloadCase": (705, 189),
    "WorkloadSuite": (2784, 124),
    "SoftwareProject": (176, 39),
    "ImplementationRevision": (517, 216),
    "BenchmarkRun": (842, 143),
    "ModelRevision": (115, 178),
    "ServingStackRevision": (221, 67),
    "ServingConfiguration": (357, 70),
    "ServingWorkload": (298, 180),
    "ServingRun": (967, 220),
}
"""The mean sizes there of a record's body and of its metadata, in canonical bytes."""


def write(path: Path, count: int, seed: int = 0) -> Document:
    """Write documents, one a line; a name that ends in `.zst` is compressed.

    Returns:
        The last run among them; the first record of every kind but ServingRun comes before it.
    """
    last: Document = {}
    encode = msgspec.json.Encoder().encode
    with path.open("wb") as file:
        compressed = zstandard.ZstdCompressor().stream_writer(file) if path.suffix == ".zst" else None
        with compressed or contextlib.nullcontext(file) as out:
            for document in documents(count, seed):
                out.write(encode(document) + b"\n")
                if document["kind"] == "BenchmarkRun":
                    last = document
    return last


def documents(count: int, seed: int = 0) -> Iterator[Document]:
    """Make up documents: the same for the same seed, and those of a small count begin those of a large one.

    The kind that lags most behind its share comes next, after one of each kind at the start.
    """
    maker = Maker(random.Random(seed), SHARES)
    total = sum(SHARES.values())
    shares = {kind: share / total for kind, share in SHARES.items()}
    made = dict.fromkeys(SHARES, 0)
    first = list(reversed(SHARES))
    for number in range(count):
        kind = first.pop() if first else max(shares, key=lambda kind: shares[kind] * number - made[kind])
        made[kind] += 1
        yield maker.make(kind, number)


def another(run: Document, number: int) -> Document:
    """Make a new run out of one that is there: it refers to the same records and was observed at another time."""
    seconds, millis = divmod(number, 1000)
    instant = f"2031-{1 + seconds // 2_419_200:02}-{1 + seconds // 86_400 % 28:02}T"
    instant += f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis:03}Z"
    return {
        **run,
        "metadata": {**run["metadata"], "name": f"another-run-{number}"},
        "spec": {**run["spec"], "observedAt": instant},
    }


def main() -> None:
    """Write a catalogue."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic", description=__doc__)
    parser.add_argument("count", type=int, help="how many records")
    parser.add_argument("file", type=Path, help="where to write them, .jsonl or .jsonl.zst")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other records (default: 0)")
    arguments = parser.parse_args()
    write(arguments.file, arguments.count, arguments.seed)


if __name__ == "__main__":
    main()
