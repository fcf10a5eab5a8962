"""Makes up one record of each kind after another, with names, texts and numbers that come from a seed alone."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, TypeAlias

from kstore.canonical import canonical
from kstore.schema import API_VERSION

if TYPE_CHECKING:
    import random
    from collections.abc import Iterable

Document: TypeAlias = dict[str, Any]

_WINDOW = 449
"""How many operations are open to new workloads, implementations and runs: as many as the catalogue has."""

_TENSORS = (2, 2, 2, 2, 3, 4, 5, 5, 6, 6, 7, 9, 13, 21)  # a workload's; the mean is 6.6
_RANKS = (1, 1, 2, 2, 2, 2, 3, 4)
_CASES = (3, 8, 16, 16, 16, 16, 16, 16, 16, 36)  # a suite's; the mean is 15.9
_DTYPES = ("fp32", "bf16", "fp16", "fp8_e4m3", "int32", "int64")
_DIMENSIONS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 7168, 8192, 16384)


class _Operation:
    """An operation's digest, and those of its workloads and implementations so far."""

    def __init__(self, digest: str, axes: list[str]) -> None:
        self.digest = digest
        self.axes = axes
        self.workloads: list[str] = []
        self.implementations: list[str] = []
        self.ready = False


class Maker:
    """Makes one document after another, and remembers what later ones may refer to."""

    def __init__(self, source: random.Random, kinds: Iterable[str]) -> None:
        self._random = source
        syllables = [consonant + vowel for consonant in "bdfghklmnprstvz" for vowel in "aeiou"]
        words = {"".join(source.choices(syllables, k=source.choice((2, 2, 3, 3, 4)))) for _ in range(700)}
        self._words = sorted(words)
        self._operations: list[_Operation] = []
        self._open = _Operation("", [])
        self._ready: list[_Operation] = []
        self._recent: dict[str, list[str]] = {kind: [] for kind in kinds}

    def make(self, kind: str, number: int) -> Document:
        """Make the document with that number."""
        spec, metadata = getattr(self, re.sub("([A-Z])", r"_\1", kind).lower())(number)
        body = {"apiVersion": API_VERSION, "kind": kind, "spec": spec}
        self._remember(kind, f"sha256:{hashlib.sha256(canonical(body)).hexdigest()}", spec)
        return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": spec}

    def _remember(self, kind: str, digest: str, spec: dict[str, Any]) -> None:
        if kind == "OperationSpec":
            self._keep(self._operations, _Operation(digest, list(spec["axes"])))
        elif kind in {"WorkloadCase", "WorkloadSuite", "ImplementationRevision"}:
            operation = self._open
            (operation.implementations if kind == "ImplementationRevision" else operation.workloads).append(digest)
            if not operation.ready and operation.implementations and operation.workloads:
                operation.ready = True
                self._keep(self._ready, operation)
        elif kind not in {"BenchmarkRun", "ServingRun"}:
            self._keep(self._recent[kind], digest)

    def _keep(self, recent: list[Any], new: object) -> None:
        if len(recent) < _WINDOW:
            recent.append(new)
        else:
            recent[int(self._random.random() * _WINDOW)] = new

    def _pick(self, of: Any) -> Any:
        """Choose one; quicker than random.choice, which is what a million records need."""
        return of[int(self._random.random() * len(of))]

    def _some(self, count: int, separator: str = "_") -> str:
        return separator.join([self._pick(self._words) for _ in range(count)])

    def _hex(self, digits: int = 64) -> str:
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"

    def _number(self, magnitude: float) -> float:
        return magnitude * (0.01 + self._random.random())

    def _instant(self) -> str:
        digits = self._random.getrandbits(40)
        day, second = 1 + digits % 28, digits // 28
        clock = f"{second % 24:02}:{second // 24 % 60:02}:{second // 1440 % 60:02}.{second // 86400 % 1000:03}"
        return f"2026-{1 + digits // 7 % 12:02}-{day:02}T{clock}Z"

    def _url(self, words: int) -> str:
        return f"https://example.org/{self._some(words, '/')}"

    def _shape(self) -> list[int]:
        return [self._pick(_DIMENSIONS) for _ in range(self._pick(_RANKS))]

    def _execution_environment(self, number: int) -> tuple[Document, Document]:
        hardware = {"vendor": self._pick(self._words), "product": self._some(2, " "), "architecture": "sm_90"}
        software = {"driver": f"{number}.1", "framework": {"name": self._pick(self._words), "version": "2.8.0"}}
        metadata = {"name": f"{self._some(4, '-')}-{number}", "title": self._some(5, " ")}
        return {"hardware": hardware, "software": software}, metadata

    def _benchmark_protocol(self, number: int) -> tuple[Document, Document]:
        spec = {
            "harness": {"name": f"{self._some(2, ' ')} {number}", "repository": self._url(4)},
            "measurement": {"timer": "wall_clock", "synchronization": "events", "primaryStatistic": "mean"},
            "correctness": {"reference": self._some(5, " "), "comparator": self._some(2)},
            "comparability": {"family": self._some(2), "notes": self._some(22, " ")},
        }
        return spec, {"name": f"{self._some(4, '-')}-{number}", "title": self._some(5, " ")}

    def _operation_spec(self, number: int) -> tuple[Document, Document]:
        axes: Document = {}
        for _ in range(self._pick((2, 5, 6, 6, 7, 10))):
            role = self._pick(("constant", "constant", "constant", "variable", "variable", "derived"))
            axis: Document = {"role": role, "type": "integer"}
            if role == "constant":
                axis["value"] = self._pick(_DIMENSIONS)
            elif role == "derived":
                axis["expression"] = f"{self._some(1)} * {self._some(1)}"
            axes[self._some(2)[:11]] = axis
        names = list(axes)
        inputs, outputs = (
            [
                {
                    "name": f"{self._some(2)}_{place}"[:14],
                    "tensor": {
                        "shape": [self._pick(names) for _ in range(self._pick(_RANKS))],
                        "dtype": self._pick(_DTYPES),
                    },
                }
                for place in range(self._pick(counts))
            ]
            for counts in ((2, 3, 5, 7, 9, 13), (1, 1, 1, 2, 3))
        )
        spec = {
            "family": f"{self._some(1)}-{number}",
            "axes": axes,
            "inputs": inputs,
            "outputs": outputs,
            "semantics": {"mutation": "none", "determinism": "unspecified"},
        }
        metadata = {
            "name": f"{self._some(5, '-')}-{number}",
            "title": self._some(5),
            "description": self._some(34, " "),
            "sourceRefs": [{"url": self._url(9)}],
        }
        return spec, metadata

    def _operation(self) -> _Operation:
        self._open = self._operations[int(self._random.random() * len(self._operations))]
        return self._open

    def _axes(self, operation: _Operation, number: int) -> dict[str, int]:
        axes = {axis: self._pick(_DIMENSIONS) for axis in operation.axes}
        axes[operation.axes[0]] = number
        return axes

    def _workload_case(self, number: int) -> tuple[Document, Document]:
        operation = self._operation()
        axes = self._axes(operation, number)
        tensors: Document = {}
        for place in range(self._pick(_TENSORS)):
            tensor: Document = {"dtype": self._pick(_DTYPES), "shape": self._shape()}
            if place % 6 == 0:
                tensor["data"] = {"generator": "normal"}
            tensors[f"{self._some(2)}_{place}"] = tensor
        spec = {
            "operationSpecDigest": operation.digest,
            "axes": axes,
            "tensors": tensors,
            "correctness": {"comparator": "allclose"},
        }
        title = ", ".join(f"{axis}={value}" for axis, value in axes.items())
        return spec, {"name": f"{self._some(6, '-')}-{number}", "title": f"{self._some(4)} {title}"[:160]}

    def _workload_suite(self, number: int) -> tuple[Document, Document]:
        operation = self._operation()
        spec = {
            "operationSpecDigest": operation.digest,
            "cases": [
                {"externalId": self._hex(12), "axes": self._axes(operation, number)} for _ in range(self._pick(_CASES))
            ],
            "correctness": {"comparator": self._some(3), "description": self._some(12, " ")},
            "aggregation": {"metric": "latency", "statistic": "mean"},
        }
        return spec, {"name": f"{self._some(5, '-')}-{number}", "title": self._some(8, " ")}

    def _software_project(self, number: int) -> tuple[Document, Document]:
        spec = {"name": f"{self._some(2, ' ')} {number}", "host": {"kind": "other", "id": self._some(5, "/")}}
        return spec, {"name": f"{self._some(2, '-')}-{number}"}

    def _implementation_revision(self, number: int) -> tuple[Document, Document]:
        operation = self._operation()
        spec: Document = {
            "projectRevision": {"version": f"{self._some(1)}-{number}"},
            "operation": {"specDigest": operation.digest},
            "callable": {"language": self._pick(("python", "triton", "cuda_cpp"))},
            "support": {
                "hardwareArchitectures": ["sm_90"],
                "productsTested": [self._some(2, " ")],
                "dtypes": sorted({self._pick(_DTYPES), self._pick(_DTYPES)}),
            },
            "licensing": {},
        }
        metadata: Document = {
            "name": f"{self._some(3, '-')}-{number}",
            "title": f"{self._some(3)} {number}",
            "authors": [{"name": self._some(2)}],
        }
        if number % 6:
            size = 1 + self._random.getrandbits(15)
            spec["source"] = {
                "contentDigest": f"sha256:{self._hex()}",
                "fileName": f"{self._some(2)}.py",
                "sizeBytes": size,
            }
            metadata.update(description=self._some(3), sourceRefs=[{"url": self._url(6)}])
        return spec, metadata

    def _benchmark_run(self, number: int) -> tuple[Document, Document]:
        operation: _Operation = self._pick(self._ready)
        mean = 1 + self._random.getrandbits(24)
        name = self._some(3)
        metrics: dict[str, float] = {"score_s": self._number(1e-3)}
        spec: Document = {
            "implementationDigest": self._pick(operation.implementations),
            "workloadDigest": self._pick(operation.workloads),
            "protocolDigest": self._pick(self._recent["BenchmarkProtocol"]),
            "environmentDigest": self._pick(self._recent["ExecutionEnvironment"]),
            "status": "passed" if number % 91 else "runtime_error",
            "sourceNative": {
                "source": self._some(2, "-"),
                "benchmark": name,
                "externalId": f"submission/{number}",
                "metrics": metrics,
            },
            "observedAt": self._instant(),
        }
        metadata: Document = {"name": f"{self._some(4, '-')}-{number}", "title": f"{name} {self._some(4, ' ')}"}
        shape = self._random.random()
        if shape < 0.66:
            value = self._number(1e-2)
            spec["measurements"] = [{"metric": "score", "unit": "s", "statistic": "geomean", "value": value}]
        if shape > 0.40:
            spec["timing"] = {
                "primaryStatistic": "mean",
                "samples": 100,
                "latencyNs": {"mean": mean, "minimum": mean - mean // 50, "maximum": mean + mean // 9},
            }
            metrics.update(mean_ns=mean + self._random.random(), best_ns=mean - mean // 50)
        if shape > 0.75:
            error = self._number(1e-3)
            spec["correctness"] = {"comparator": self._some(3), "maximumRelativeError": error}
        if shape > 0.65:
            metadata["labels"] = {"platform": self._some(7, "-"), "worker": self._some(3, "-")}
        return spec, metadata

    def _model_revision(self, number: int) -> tuple[Document, Document]:
        metadata = {"name": f"{self._some(3, '-')}-{number}", "title": self._some(4, " ")}
        return {"model": f"{self._some(3, '-')} {number}"}, {**metadata, "sourceRefs": [{"url": self._url(9)}]}

    def _serving_stack_revision(self, number: int) -> tuple[Document, Document]:
        project, version = {"name": self._some(4, " ")}, {"version": f"{self._some(5, ' ')} {number}"}
        return {"project": project, "revision": version, "apiProtocol": "http"}, {
            "name": f"{self._some(8, '-')}-{number}"
        }

    def _serving_configuration(self, number: int) -> tuple[Document, Document]:
        options = {"notes": self._some(4, " "), "software": self._some(6, " "), "system": f"{self._some(7)} {number}"}
        stack = self._pick(self._recent["ServingStackRevision"])
        return {"stackDigest": stack, "dtype": "fp8", "options": options}, {"name": f"{self._some(8, '-')}-{number}"}

    def _serving_workload(self, number: int) -> tuple[Document, Document]:
        limit = {"metric": "ttft_ms", "statistic": "p99", "operator": "<=", "value": self._number(900.0), "unit": "ms"}
        spec = {"dataset": {"name": f"{self._some(4, ' ')} {number}"}, "streaming": True, "slo": [limit]}
        metadata = {"name": f"{self._some(4, '-')}-{number}", "title": self._some(4, " ")}
        return {**spec, "loadGeneration": "open_loop"}, {**metadata, "sourceRefs": [{"url": self._url(8)}]}

    def _serving_run(self, number: int) -> tuple[Document, Document]:
        rate = self._number(1e5)
        spec = {
            "modelDigest": self._pick(self._recent["ModelRevision"]),
            "configurationDigest": self._pick(self._recent["ServingConfiguration"]),
            "workloadDigest": self._pick(self._recent["ServingWorkload"]),
            "topology": {
                "acceleratorVendor": self._some(1),
                "acceleratorModel": self._some(4, " "),
                "acceleratorsPerNode": 8,
                "nodeCount": 1,
            },
            "harness": {"name": self._some(2), "version": "v5.1"},
            "qualityPolicy": self._some(3),
            "status": "valid",
            "measurements": [{"metric": "tps", "unit": "tokens_s", "statistic": "reported", "value": rate}],
            "sourceNative": {
                "source": self._some(2, "-"),
                "benchmark": self._some(2, "-"),
                "scenario": "offline",
                "division": "closed",
                "category": "datacenter",
                "externalId": f"v5.1/{number}",
                "metrics": {"performance_result": rate, "performance_units": "Tokens/s"},
            },
            "observedAt": self._instant(),
        }
        metadata = {"name": f"{self._some(3, '-')}-{number}", "title": self._some(5, " ")}
        return spec, {**metadata, "sourceRefs": [{"url": self._url(14)}]}
