"""The kinds that say what is computed: OperationSpec, WorkloadCase, WorkloadSuite."""

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, UnsetType

from kstore.schema.parts import Artifact
from kstore.schema.primitives import (
    Axis,
    Count,
    Dim,
    Expression,
    Int,
    Num,
    NumNotNegative,
    Positive,
    Ratio,
    RecordDigest,
    Slug,
    Strict,
    Text200,
    Text500,
    Text2000,
    Token,
)
from kstore.schema.rules import ExactlyOne, Needs, Rule, Ruled


class OperationAxis(Ruled, frozen=True):
    """A dimension of an operation, by name."""

    rules: ClassVar[tuple[Rule, ...]] = (Needs("role", "constant", "value"), Needs("role", "derived", "expression"))

    role: Literal["variable", "constant", "derived"]
    type: Literal["integer"]
    value: Int | UnsetType = UNSET
    minimum: Int | UnsetType = UNSET
    maximum: Int | UnsetType = UNSET
    expression: Expression | UnsetType = UNSET


class TensorArgument(Strict, frozen=True):
    """The type of an argument that is a tensor."""

    shape: Annotated[list[Dim], Meta(min_length=1)]
    dtype: Token
    layout: Literal["row_major", "col_major", "contiguous", "strided"] | UnsetType = UNSET


class ScalarArgument(Strict, frozen=True):
    """The type of an argument that is a scalar."""

    dtype: Token


class Argument(Ruled, frozen=True):
    """An input or an output of an operation."""

    rules: ClassVar[tuple[Rule, ...]] = (ExactlyOne(("tensor", "scalar")),)

    name: Token
    tensor: TensorArgument | UnsetType = UNSET
    scalar: ScalarArgument | UnsetType = UNSET


class Semantics(Strict, frozen=True):
    """What an operation does to its arguments."""

    mutation: Literal["none", "in_place", "destination"]
    determinism: Literal["deterministic", "nondeterministic", "unspecified"]
    expression: Text2000 | UnsetType = UNSET


class OperationReference(Strict, frozen=True):
    """Code that defines an operation's results."""

    language: Token
    artifact: Artifact | UnsetType = UNSET


class OperationSpec(Strict, frozen=True):
    """The spec of an OperationSpec: a computation, by its arguments and its meaning."""

    family: Slug
    axes: dict[Axis, OperationAxis]
    inputs: Annotated[list[Argument], Meta(min_length=1)]
    outputs: Annotated[list[Argument], Meta(min_length=1)]
    semantics: Semantics
    reference: OperationReference | UnsetType = UNSET


class TensorData(Strict, frozen=True):
    """Where the values of a workload's tensor come from."""

    generator: Token
    seed: Count | UnsetType = UNSET
    parameters: dict[Token, Num] | UnsetType = UNSET
    artifact: Artifact | UnsetType = UNSET


class WorkloadTensor(Strict, frozen=True):
    """A tensor argument of a workload."""

    shape: Annotated[list[Count], Meta(min_length=1)]
    dtype: Token
    strides: list[Int] | UnsetType = UNSET
    alignment_bytes: Positive | UnsetType = UNSET
    data: TensorData | UnsetType = UNSET


class WorkloadScalar(Strict, frozen=True):
    """A scalar argument of a workload."""

    dtype: Token
    value: Num


class WorkloadCorrectness(Strict, frozen=True):
    """When a result of a workload counts as correct."""

    comparator: Token
    max_absolute_error: NumNotNegative | UnsetType = UNSET
    max_relative_error: NumNotNegative | UnsetType = UNSET
    required_matched_ratio: Ratio | UnsetType = UNSET
    nan_policy: Literal["reject", "exact_match", "ignore"] | UnsetType = UNSET
    infinity_policy: Literal["reject", "exact_match", "ignore"] | UnsetType = UNSET


class WorkloadCase(Strict, frozen=True):
    """The spec of a WorkloadCase: one set of arguments of an operation."""

    operation_spec_digest: RecordDigest
    axes: dict[Axis, Int]
    tensors: dict[Token, WorkloadTensor]
    correctness: WorkloadCorrectness
    scalars: dict[Token, WorkloadScalar] | UnsetType = UNSET


class SuiteCase(Strict, frozen=True):
    """One case of a suite."""

    external_id: Text200
    axes: dict[Axis, Int]


class SuiteCorrectness(Strict, frozen=True):
    """When the results of a suite count as correct."""

    comparator: Token
    description: Text500 | UnsetType = UNSET


class Aggregation(Strict, frozen=True):
    """How the cases' results become the suite's."""

    metric: Token
    statistic: Token


class WorkloadSuite(Strict, frozen=True):
    """The spec of a WorkloadSuite: several cases of an operation, measured as one."""

    operation_spec_digest: RecordDigest
    cases: Annotated[list[SuiteCase], Meta(min_length=1)]
    correctness: SuiteCorrectness
    aggregation: Aggregation
