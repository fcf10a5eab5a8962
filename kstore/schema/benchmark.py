"""The kinds that say how fast a kernel was: BenchmarkProtocol, ExecutionEnvironment, BenchmarkRun."""

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from kstore.schema.duration import Duration
from kstore.schema.parts import Artifact, Measurement
from kstore.schema.primitives import (
    Commit,
    Count,
    Digest,
    Instant,
    Num,
    NumNotNegative,
    NumPositive,
    Positive,
    Ratio,
    RecordDigest,
    Slug,
    Strict,
    Text100,
    Text200,
    Text500,
    Text1000,
    Token,
)
from kstore.schema.rules import AtLeastOne, Rule, Ruled
from kstore.schema.url import Url


class Harness(Strict, frozen=True):
    """The program that measures."""

    name: Text200
    version: Text100 | UnsetType = UNSET
    repository: Url | UnsetType = UNSET
    commit: Commit | UnsetType = UNSET


class MeasurementMethod(Strict, frozen=True):
    """How a run is measured (`measurement`)."""

    timer: Token
    primary_statistic: Token
    synchronization: Token | UnsetType = UNSET
    compile_included: bool | UnsetType = UNSET
    setup_included: bool | UnsetType = UNSET
    warmup_iterations: Count | UnsetType = UNSET
    warmup_duration: Duration | UnsetType = UNSET
    measured_iterations: Positive | UnsetType = UNSET
    samples: Positive | UnsetType = UNSET
    input_regeneration: Token | UnsetType = UNSET
    outlier_policy: Text500 | UnsetType = UNSET


class ProtocolCorrectness(Strict, frozen=True):
    """What results are compared to."""

    reference: Text500
    comparator: Token


class DevicePolicy(Strict, frozen=True):
    """What state the device must be in."""

    clocks_locked: bool | UnsetType = UNSET
    power_limit_watts: NumPositive | UnsetType = UNSET
    persistence_mode: bool | UnsetType = UNSET


class Comparability(Strict, frozen=True):
    """With which other protocols' results these may be compared."""

    family: Token
    notes: Text1000 | UnsetType = UNSET


class BenchmarkProtocol(Strict, frozen=True):
    """The spec of a BenchmarkProtocol: how runs are measured."""

    harness: Harness
    measurement: MeasurementMethod
    correctness: ProtocolCorrectness | UnsetType = UNSET
    device_policy: DevicePolicy | UnsetType = UNSET
    comparability: Comparability | UnsetType = UNSET


class Hardware(Strict, frozen=True):
    """The device that ran."""

    vendor: Token
    product: Text200
    architecture: Token
    form_factor: Text100 | UnsetType = UNSET
    memory_bytes: Positive | UnsetType = UNSET
    count: Positive | UnsetType = UNSET
    interconnect: Text200 | UnsetType = UNSET


class Framework(Strict, frozen=True):
    """The framework that the implementation ran under."""

    name: Token
    version: Text100


class Software(Strict, frozen=True):
    """The software around the implementation."""

    operating_system: Text200 | UnsetType = UNSET
    kernel: Text200 | UnsetType = UNSET
    driver: Text100 | UnsetType = UNSET
    cuda_toolkit: Text100 | UnsetType = UNSET
    compiler: Text200 | UnsetType = UNSET
    framework: Framework | UnsetType = UNSET
    libraries: dict[Token, Text100] | UnsetType = UNSET


class Settings(Strict, frozen=True):
    """The settings that the device and the process had."""

    clocks_locked: bool | UnsetType = UNSET
    power_limit_watts: NumPositive | UnsetType = UNSET
    persistence_mode: bool | UnsetType = UNSET
    ecc_enabled: bool | UnsetType = UNSET
    environment_variables: dict[Text200, Text500] | UnsetType = UNSET


class ExecutionEnvironment(Strict, frozen=True):
    """The spec of an ExecutionEnvironment: on what runs are measured."""

    hardware: Hardware
    software: Software
    settings: Settings | UnsetType = UNSET
    image_digest: Digest | UnsetType = UNSET


class RunCorrectness(Strict, frozen=True):
    """How far a run's results were from the reference."""

    comparator: Token
    maximum_absolute_error: NumNotNegative | UnsetType = UNSET
    maximum_relative_error: NumNotNegative | UnsetType = UNSET
    matched_ratio: Ratio | UnsetType = UNSET


class Latency(Ruled, frozen=True):
    """Statistics of a run's latency, each in nanoseconds."""

    rules: ClassVar[tuple[Rule, ...]] = (AtLeastOne(("median", "mean")),)

    median: Duration | UnsetType = UNSET
    mean: Duration | UnsetType = UNSET
    p05: Duration | UnsetType = UNSET
    p95: Duration | UnsetType = UNSET
    minimum: Duration | UnsetType = UNSET
    maximum: Duration | UnsetType = UNSET
    mad: Duration | UnsetType = UNSET
    confidence95: Annotated[list[Duration], Meta(min_length=2, max_length=2)] | UnsetType = UNSET


class Timing(Strict, frozen=True):
    """How long a run took."""

    primary_statistic: Token
    latency_ns: Latency
    samples: Positive | UnsetType = UNSET
    raw_samples: Artifact | UnsetType = UNSET


class RunSourceNative(Strict, frozen=True):
    """What the run is called and says where it was first published."""

    source: Slug
    benchmark: Text200 | UnsetType = UNSET
    external_id: Text500 | UnsetType = UNSET
    metrics: dict[Token, Num] | UnsetType = UNSET


class EvidenceHarness(Strict, frozen=True):
    """The exact state of the program that measured."""

    repository: Url
    commit: Commit


class Evidence(Strict, frozen=True):
    """What a reader can check a run against."""

    logs: Artifact | UnsetType = UNSET
    raw_samples: Artifact | UnsetType = UNSET
    harness: EvidenceHarness | UnsetType = UNSET


class BenchmarkRun(Strict, frozen=True):
    """The spec of a BenchmarkRun: what one implementation did with one workload."""

    implementation_digest: RecordDigest
    workload_digest: RecordDigest
    protocol_digest: RecordDigest
    environment_digest: RecordDigest
    status: Literal[
        "passed",
        "incorrect_shape",
        "incorrect_dtype",
        "incorrect_numerical",
        "compile_error",
        "runtime_error",
        "timeout",
        "resource_exceeded",
        "invalid_reference",
        "policy_violation",
        "suspected_reward_hack",
        "incomplete_evidence",
        "revoked",
    ]
    observed_at: Instant
    correctness: RunCorrectness | UnsetType = UNSET
    timing: Timing | UnsetType = UNSET
    measurements: list[Measurement] | UnsetType = UNSET
    source_native: RunSourceNative | UnsetType = UNSET
    evidence: Evidence | UnsetType = UNSET
