"""Work in several processes comes back in order, bounded, and ends cleanly whatever happens to anybody."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from kstore.actions.parallel import begun, in_order, usable_processors
from kstore.errors import KstoreError

AHEAD = 3


def labelled(label: str, work: bytes) -> bytes:
    """Work for longer on some batches than on others, so that they end in another order."""
    time.sleep(0.002 * (work[0] % 5))
    return label.encode() + work


def dying(_: str, work: bytes) -> bytes:
    if work == b"die":
        os.kill(os.getpid(), signal.SIGKILL)
    return work


def failing(_: str, work: bytes) -> bytes:
    if work == b"fail":
        raise KstoreError("this batch is bad")
    return work


def who(_: str, work: bytes) -> bytes:
    return b"%d" % os.getpid()


@pytest.mark.parametrize("jobs", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_results_come_in_the_order_of_the_batches(jobs: int, count: int) -> None:
    batches = [bytes((number,)) for number in range(count)]
    assert list(in_order(labelled, "x", iter(batches), jobs)) == [b"x" + batch for batch in batches]


def test_one_job_is_this_process_and_several_are_others() -> None:
    here = b"%d" % os.getpid()
    assert list(in_order(who, "", [b""], 1)) == [here]
    assert here not in list(in_order(who, "", [b""] * 10, 2))
    assert usable_processors() >= 1


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_batches_are_read_only_a_few_ahead_of_the_results(jobs: int) -> None:
    read = 0

    def batches() -> Iterator[bytes]:
        nonlocal read
        for number in range(100):
            read += 1
            yield bytes((number,))

    for taken, _ in enumerate(in_order(labelled, "", batches(), jobs), 1):
        assert read - taken < jobs * AHEAD
    assert read == 100


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_a_worker_is_the_callers(jobs: int) -> None:
    results = in_order(failing, "", [b"good", b"fail", b"good"], jobs)
    assert next(results) == b"good"
    with pytest.raises(KstoreError, match="this batch is bad"):
        list(results)


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_in_the_batches_is_the_callers(jobs: int) -> None:
    def batches() -> Iterator[bytes]:
        yield b"a"
        raise KstoreError("the file ends in the middle")

    with pytest.raises(KstoreError, match="the file ends in the middle"):
        list(in_order(labelled, "", batches(), jobs))


def test_a_worker_that_is_killed_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(KstoreError, match=r"a worker process was killed \(out of memory\?\).*--jobs 1"):
        list(in_order(dying, "", [b"a", b"die", *[b"b"] * 20], 2))


def test_results_that_nobody_wants_any_more_are_not_waited_for() -> None:
    results = in_order(labelled, "", (bytes((number,)) for number in range(200)), 2)
    assert next(results) == b"\0"
    assert isinstance(results, Generator)
    results.close()
    assert list(in_order(labelled, "", [b"\7"], 2)) == [b"\7"]


def grown(_: str, work: bytes) -> bytes:
    return work * 3


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_batches_and_results_that_fit_into_no_pipe_come_through(jobs: int) -> None:
    batches = [bytes((number,)) * (3 << 20) for number in range(8)]
    for batch, result in zip(batches, in_order(grown, "", batches, jobs), strict=True):
        assert result == batch * 3


def test_several_processes_begin_before_anybody_asks_for_a_result() -> None:
    read = []

    def batches() -> Iterator[bytes]:
        for number in range(20):
            read.append(number)
            yield bytes((number,))

    with begun(labelled, "", batches(), 2) as results:
        assert len(read) == 2 * AHEAD
        assert next(results) == b"\0"


PROGRAM = """if True:
    import signal, sys, time
    from kstore.actions.parallel import in_order
    from tests.actions.test_parallel import who

    # A shell that has started the tests in the background has had SIGINT ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def batches():
        for number in range(1_000_000):
            if number > 20:
                time.sleep(0.05)
            yield b""

    try:
        for result in in_order(who, "", batches(), 2):
            print(result.decode(), flush=True)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_no_worker_outlives_the_program_or_says_anything(ending: signal.Signals) -> None:
    root = Path(__file__).parents[2]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert program.stdout is not None
    workers = {int(program.stdout.readline()) for _ in range(10)}
    # On a terminal, Ctrl-C goes to every process of the group.
    (os.killpg if ending == signal.SIGINT else os.kill)(program.pid, ending)
    # The pipes are closed when the last process that holds them has ended, which is the workers too.
    _, complaint = program.communicate(timeout=30)
    assert program.returncode == (130 if ending == signal.SIGINT else -ending)
    assert complaint == ""
    assert workers
    assert program.pid not in workers
