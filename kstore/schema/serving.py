"""The kinds that say how fast a model was served: ModelRevision, ServingStackRevision, and so on to ServingRun."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from kstore.schema.parts import Measurement
from kstore.schema.primitives import (
    Commit,
    Digest,
    Instant,
    Num,
    NumPositive,
    Positive,
    RecordDigest,
    Slug,
    Strict,
    Text100,
    Text120,
    Text200,
    Text500,
    Token,
)
from kstore.schema.url import Url


class ModelRepository(Strict, frozen=True):
    """Where a model's weights are published."""

    host: Literal["huggingface", "github", "other"]
    id: Text200
    revision: Text100 | UnsetType = UNSET


class Tokenizer(Strict, frozen=True):
    """What turns text into a model's tokens."""

    name: Text200 | UnsetType = UNSET
    revision: Text100 | UnsetType = UNSET
    digest: Digest | UnsetType = UNSET


class ModelRevision(Strict, frozen=True):
    """The spec of a ModelRevision: a model, as it was at one time."""

    model: Text200
    repository: ModelRepository | UnsetType = UNSET
    tokenizer: Tokenizer | UnsetType = UNSET
    architecture: Text100 | UnsetType = UNSET
    parameter_count: Positive | UnsetType = UNSET
    context_length: Positive | UnsetType = UNSET
    modality: Token | UnsetType = UNSET
    license: Text200 | UnsetType = UNSET


class StackProject(Strict, frozen=True):
    """The project that publishes a serving stack."""

    name: Text200
    repository: Url | UnsetType = UNSET


class StackRevision(Strict, frozen=True):
    """The state of the project (`revision`)."""

    version: Text120 | UnsetType = UNSET
    commit: Commit | UnsetType = UNSET
    container_digest: Digest | UnsetType = UNSET


class ServingStackRevision(Strict, frozen=True):
    """The spec of a ServingStackRevision: a program that serves models, as it was at one time."""

    project: StackProject
    revision: StackRevision
    backends: Annotated[list[Token], Meta(max_length=8)] | UnsetType = UNSET
    api_protocol: Token | UnsetType = UNSET
    license: Text200 | UnsetType = UNSET


class Parallelism(Strict, frozen=True):
    """How many ways a model is split, by the kind of split."""

    tensor: Positive | UnsetType = UNSET
    pipeline: Positive | UnsetType = UNSET
    data: Positive | UnsetType = UNSET
    expert: Positive | UnsetType = UNSET
    context: Positive | UnsetType = UNSET


class KvCache(Strict, frozen=True):
    """The cache of keys and values."""

    dtype: Token | UnsetType = UNSET
    capacity_tokens: Positive | UnsetType = UNSET


class Limits(Strict, frozen=True):
    """What the server takes at once."""

    max_sequence_length: Positive | UnsetType = UNSET
    max_batch_size: Positive | UnsetType = UNSET
    max_num_tokens: Positive | UnsetType = UNSET


class Speculative(Strict, frozen=True):
    """Speculative decoding."""

    method: Token
    draft_model: Text200 | UnsetType = UNSET


class ServingConfiguration(Strict, frozen=True):
    """The spec of a ServingConfiguration: how a serving stack was set up."""

    stack_digest: RecordDigest
    dtype: Token | UnsetType = UNSET
    quantization: Token | UnsetType = UNSET
    parallelism: Parallelism | UnsetType = UNSET
    attention_backend: Token | UnsetType = UNSET
    kv_cache: KvCache | UnsetType = UNSET
    limits: Limits | UnsetType = UNSET
    speculative: Speculative | UnsetType = UNSET
    options: dict[Token, Text500] | UnsetType = UNSET


class Dataset(Strict, frozen=True):
    """Where a workload's requests come from."""

    name: Text200
    digest: Digest | UnsetType = UNSET


class TokenDistribution(Strict, frozen=True):
    """How many tokens the requests have."""

    distribution: Token
    mean: NumPositive | UnsetType = UNSET
    maximum: Positive | UnsetType = UNSET
    artifact_digest: Digest | UnsetType = UNSET


class WorkloadTokens(Strict, frozen=True):
    """The lengths of prompts and outputs."""

    prompt: TokenDistribution | UnsetType = UNSET
    output: TokenDistribution | UnsetType = UNSET


class Objective(Strict, frozen=True):
    """A bound that the service must keep (`slo`)."""

    metric: Token
    statistic: Token
    operator: Literal["<=", "<"]
    value: NumPositive
    unit: Token


class Sampling(Strict, frozen=True):
    """How the next token is chosen."""

    temperature: Num | UnsetType = UNSET
    seeded: bool | UnsetType = UNSET


class ServingWorkload(Strict, frozen=True):
    """The spec of a ServingWorkload: the requests that are served."""

    streaming: bool
    load_generation: Literal["open_loop", "closed_loop", "offline"]
    dataset: Dataset | UnsetType = UNSET
    tokens: WorkloadTokens | UnsetType = UNSET
    arrival: Token | UnsetType = UNSET
    request_rate_per_second: NumPositive | UnsetType = UNSET
    slo: Annotated[list[Objective], Meta(max_length=8)] | UnsetType = UNSET
    sampling: Sampling | UnsetType = UNSET
    duration_seconds: Positive | UnsetType = UNSET
    request_count: Positive | UnsetType = UNSET


class Topology(Strict, frozen=True):
    """The accelerators that served."""

    accelerator_model: Text200
    accelerators_per_node: Positive
    node_count: Positive
    accelerator_vendor: Token | UnsetType = UNSET
    interconnect: Text200 | UnsetType = UNSET


class LoadHarness(Strict, frozen=True):
    """The program that made the load."""

    name: Token
    version: Text100


class ServingSourceNative(Strict, frozen=True):
    """What the run is called and says where it was first published."""

    source: Slug
    benchmark: Text200
    scenario: Token
    division: Token
    category: Token
    external_id: Text500
    metrics: dict[Token, Num | Text500] | UnsetType = UNSET


class ServingRun(Strict, frozen=True):
    """The spec of a ServingRun: what one configuration did with one model and one workload."""

    model_digest: RecordDigest
    configuration_digest: RecordDigest
    workload_digest: RecordDigest
    topology: Topology
    harness: LoadHarness
    quality_policy: Token
    status: Literal["valid", "invalid", "incomplete_evidence"]
    measurements: Annotated[list[Measurement], Meta(min_length=1, max_length=64)]
    observed_at: Instant
    placement: Token | UnsetType = UNSET
    source_native: ServingSourceNative | UnsetType = UNSET
    caveats: Annotated[list[Text500], Meta(max_length=16)] | UnsetType = UNSET
