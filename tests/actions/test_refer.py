"""The fast look at references agrees with the rules wherever it finds nothing wrong."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from kstore.actions.refer import DAMAGED, Said, is_sound, reference_problems
from kstore.schema import KINDS, REFERENCES

DIGESTS = [bytes((number,)) * 32 for number in range(4)]


@st.composite
def what_records_say(draw: st.DrawFn) -> Said:
    """Make up what a record of some kind says, which names a few digests."""
    kind = draw(st.sampled_from(KINDS))
    fields = REFERENCES.get(kind, ())
    return bytes((KINDS.index(kind) + 1,)) + b"".join(draw(st.sampled_from(DIGESTS)) for _ in fields)


sayings = what_records_say()


@given(sayings, st.dictionaries(st.sampled_from(DIGESTS), st.one_of(st.just(DAMAGED), sayings)))
def test_what_looks_sound_has_no_problems(said: Said, known: dict[bytes, Said]) -> None:
    problems = list(reference_problems(said, known.get, ()))
    named = {said[at : at + 32] for at in range(1, len(said), 32)}
    damaged = any(known.get(digest) == DAMAGED for digest in named)
    # A damaged record says nothing that could be wrong, and the fast look leaves it to the rules.
    assert is_sound(said, known) == (not problems and not damaged)


def test_a_run_is_sound_only_where_workload_and_implementation_have_one_operation() -> None:
    number = {kind: bytes((at,)) for at, kind in enumerate(KINDS, 1)}
    implementation, workload, protocol, environment = (bytes((at,)) * 32 for at in range(4))
    run = number["BenchmarkRun"] + implementation + workload + protocol + environment
    for one, other in product(DIGESTS[:2], repeat=2):
        known = {
            implementation: number["ImplementationRevision"] + one,
            workload: number["WorkloadCase"] + other,
            protocol: number["BenchmarkProtocol"],
            environment: number["ExecutionEnvironment"],
        }
        assert is_sound(run, known) == (one == other)
