"""Every core busy: passes of an encoder, or blocks of documents, in threads, each of which computes on one core.

Work that is spread over the cores waits for the slowest of them at every product. A piece on each core waits for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from threading import Barrier
from typing import TypeVar

Given = TypeVar("Given")
Done = TypeVar("Done")


def cores() -> int:
    """How many threads torch computes with in this thread; one where there is no torch."""
    try:
        import torch
    except ImportError:
        return 1
    return torch.get_num_threads()


def on_all_cores(work: Callable[[Given], Done], tasks: Sequence[Given]) -> Iterator[Done]:
    """Do tasks at the same time, as many as torch has threads; what they return, in their order.

    Each sees what the caller has switched on. When the caller stops, tasks that have not begun are never done.

    Examples
    --------
    >>> list(on_all_cores(len, ["one", "three"]))
    [3, 5]
    """
    own = cores() if len(tasks) > 1 else 1
    threads = min(own, len(tasks))
    if threads < 2:
        yield from map(work, tasks)
        return
    import torch

    begun = Barrier(threads + 1)

    def begin() -> None:
        torch.get_num_threads()  # a thread takes over everybody's number when it is first asked for its own
        torch.set_num_threads(1)
        begun.wait()

    pool = ThreadPoolExecutor(threads, initializer=begin)
    try:
        results = [pool.submit(copy_context().run, work, task) for task in tasks]
        begun.wait()
        torch.set_num_threads(own)  # the number of a thread is also that of all threads begun after it
        for result in results:
            yield result.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
