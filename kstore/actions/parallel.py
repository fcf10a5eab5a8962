"""Work on batches in several processes and get the results in order, never more than a few batches ahead."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from kstore.errors import KstoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Future

Tools = TypeVar("Tools")

_AHEAD = 3
"""How many batches a process may be ahead: enough to keep it busy, and a bound to what waits in memory."""

_tools: Any = None
"""What a worker process was given to work with, once, when it started."""


def usable_processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(
    function: Callable[[Tools, bytes], bytes], tools: Tools, batches: Iterable[bytes], jobs: int
) -> Iterator[bytes]:
    """Apply a function to every batch; the results come in the order of the batches, whatever `jobs` is.

    Args:
        function: A function of a module, which a worker process can find by its name.
        tools: Its first argument, sent to every process once.
        batches: Its second argument, read as needed, a few ahead of the results. Batches and results are bytes: what
            they mean is between the caller and the function, and nothing is spent on spelling it out twice.
        jobs: How many processes do the work; 1 does it in this one.

    Raises:
        KstoreError: A worker process ended before its work did.
    """
    with begun(function, tools, batches, jobs) as results:
        yield from results


@contextlib.contextmanager
def begun(
    function: Callable[[Tools, bytes], bytes], tools: Tools, batches: Iterable[bytes], jobs: int
) -> Iterator[Iterator[bytes]]:
    """Do what `in_order` does, with other processes at work from the start of the block, before anybody asks."""
    if jobs == 1:
        yield (function(tools, batch) for batch in batches)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(jobs, initializer=_start, initargs=(pickle.dumps(tools),)) as pool:
        source = iter(batches)
        running: deque[Future[bytes]] = deque()

        def begin() -> None:
            for batch in islice(source, jobs * _AHEAD - len(running)):
                running.append(pool.submit(_apply, function, batch))

        def results() -> Iterator[bytes]:
            while running:
                yield running.popleft().result()
                begin()

        try:
            begin()
            yield results()
        except BrokenProcessPool as error:
            raise KstoreError("a worker process was killed (out of memory?); run it again with --jobs 1") from error
        finally:
            for waiting in running:
                waiting.cancel()


def _start(tools: bytes) -> None:
    global _tools  # noqa: PLW0603  (a process pool hands its workers nothing but through globals)
    # Ctrl-C reaches every process of a terminal; the one that has started this one ends it, in good order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _tools = pickle.loads(tools)  # noqa: S301  (pickled by the process that started this one)
    # A worker whose parent was killed would wait for ever, and keep what it inherited, such as a lock.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # What a worker makes is sent away and freed at once; there are no cycles for the collector to find.
    gc.freeze()
    gc.disable()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None, "this runs in a worker"
    parent.join()
    os._exit(1)


def _apply(function: Callable[[Any, bytes], bytes], batch: bytes) -> bytes:
    return function(_tools, batch)
