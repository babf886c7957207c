"""Every core busy: passes of an encoder, or blocks of documents, in threads, each of which computes on one core.

Work that is spread over the cores waits for the slowest of them at every product. A piece on each core waits for none,
and neither does a single one: the few products of a query take twice as long while torch wakes its other threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache
from threading import Barrier, Lock
from typing import TypeVar

_beginning = Lock()
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
    threads = cores()
    if threads < 2:
        yield from map(work, tasks)
        return
    with _beginning:
        pool = _pool(threads)
    results = [pool.submit(copy_context().run, work, task) for task in tasks]
    try:
        for result in results:
            yield result.result()
    finally:
        for result in results:
            result.cancel()
        wait(results)


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    """Threads that stay, and compute on one core each: new ones for each search would cost as much as they gain."""
    import torch

    begun = Barrier(threads + 1)

    def begin() -> None:
        torch.get_num_threads()  # a thread takes over everybody's number when it is first asked for its own
        torch.set_num_threads(1)
        begun.wait()

    pool = ThreadPoolExecutor(threads, "excise", initializer=begin)
    for _ in range(threads):
        pool.submit(int)  # the pool begins a thread with each of its first tasks
    begun.wait()
    torch.set_num_threads(threads)  # the number of a thread is also that of all threads begun after it
    return pool


def _forked() -> None:
    """A fork has none of its parent's threads, and nobody who would open its lock."""
    global _beginning
    _beginning = Lock()
    _pool.cache_clear()


os.register_at_fork(after_in_child=_forked)
