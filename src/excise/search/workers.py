"""Encoding beyond one process: workers that encode portions of a corpus and write them straight into the engine.

The workers are processes of this machine, or tasks on a Ray cluster. Every portion is a commit of its own, so a run
that is interrupted goes on where it stopped; the order of indexing is that in which portions are finished.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, islice
from multiprocessing import get_context
from typing import Any

from excise.documents import Document
from excise.encoders.backbone import Backbone, load_backbone
from excise.engines.base import Engine
from excise.engines.catalogue import EngineAddress
from excise.errors import ExciseError, InvalidInput
from excise.extras import need
from excise.search.indexing import IndexProgress, add_new, not_held, portions

MAX_WORKERS = 256
_FIRST = 8  # documents that this process adds itself: what is wrong with the engine shows before workers start
_PORTION = 128
_WAITING = 2  # portions for each worker that are handed out at a time


@dataclass(frozen=True)
class Workers:
    """How many workers, and where: in processes of this machine, or on a Ray cluster.

    Parameters
    ----------
    count
        how many portions are encoded at a time.
    ray
        None for processes; "local" starts a Ray of its own, anything else is a cluster's address ("auto" finds one).

    Examples
    --------
    >>> Workers(0)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: workers must be a whole number from 1 to 256, got 0.
    """

    count: int = 1
    ray: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, int) or not 1 <= self.count <= MAX_WORKERS:
            raise InvalidInput(f"workers must be a whole number from 1 to {MAX_WORKERS}, got {self.count!r}.")
        if self.ray is not None:
            need("indexing over Ray", "ray", "ray")

    @property
    def many(self) -> bool:
        """Whether any work leaves this process."""
        return self.count > 1 or self.ray is not None


@dataclass(frozen=True)
class _Task:
    """Documents to encode, by which backbone, into which engine, on how many threads."""

    address: EngineAddress
    backbone: str
    fingerprint: str
    threads: int
    documents: list[Document]


Submit = Callable[[_Task], "Future[int]"]


def add_with_workers(
    address: EngineAddress,
    corpus: Iterable[Document],
    total: int,
    backbone: Backbone,
    workers: Workers,
    progress: IndexProgress | None,
) -> int:
    """Add what the engine does not hold yet; returns how many documents that were."""
    if not address.shared:
        raise InvalidInput(
            f"Qdrant at {address.url!r} lives inside one process: workers need a server, http://... or https://..."
        )
    documents = iter(corpus)
    first = list(islice(documents, _FIRST))
    added = add_new(address.create(backbone.info), first, total, backbone, progress)
    threads = max(1, (os.cpu_count() or 1) // workers.count) if workers.ray is None else 1
    task = partial(_Task, address, backbone.name, backbone.fingerprint, threads)
    done = len(first)
    with _submitting(workers) as submit:
        for portion, count in _finished(submit, map(task, portions(documents, _PORTION)), workers.count * _WAITING):
            added, done = added + count, done + len(portion.documents)
            if progress is not None:
                progress(done, total)
    return added


def _finished(submit: Submit, tasks: Iterator[_Task], most: int) -> Iterator[tuple[_Task, int]]:
    """Tasks as they are finished, and how many documents each has added; no more than so many are under way."""
    running: dict[Future[int], _Task] = {}
    for task in chain(tasks, [None]):
        if task is not None:
            running[submit(task)] = task
        while running and (task is None or len(running) >= most):
            done, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield running.pop(future), future.result()


@contextmanager
def _submitting(workers: Workers) -> Iterator[Submit]:
    if workers.ray is not None:
        with _on_ray(workers) as submit:
            yield submit
        return
    # Started anew rather than forked: torch has threads, which a fork would leave behind.
    pool = ProcessPoolExecutor(workers.count, get_context("spawn"))
    try:
        yield lambda task: pool.submit(_encode_and_add, task)
    except BrokenProcessPool as error:
        raise ExciseError(
            "a worker process died (too little memory?). What was committed is kept: run it again to go on."
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


@contextmanager
def _on_ray(workers: Workers) -> Iterator[Submit]:
    import ray

    started = not ray.is_initialized()
    try:
        if started and workers.ray == "local":
            ray.init(num_cpus=workers.count, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
        elif started:
            ray.init(address=workers.ray, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ExciseError(f"there is no Ray cluster at {workers.ray!r}: {str(error).splitlines()[0]}") from error
    remote: Any = ray.remote(num_cpus=1, max_retries=2)(_encode_and_add)
    try:
        yield lambda task: remote.remote(task).future()
    except ray.exceptions.RayTaskError as error:
        raise (
            error.cause if isinstance(error.cause, ExciseError) else ExciseError(f"a Ray task failed: {error}")
        ) from error
    finally:
        if started:
            ray.shutdown()


def _encode_and_add(task: _Task) -> int:
    """What a worker does: encode what the engine does not hold, and commit it; returns how many documents that were."""
    engine, backbone = _opened(repr(task.address) + repr(sorted(task.address.options.items())), task)
    new = not_held(engine, task.documents)
    if new:
        engine.add(new, backbone.encode_documents([document.full_text for document in new]))
    return len(new)


@lru_cache(maxsize=4)
def _loaded(name: str, threads: int) -> Backbone:
    import torch

    torch.set_num_threads(threads)
    return load_backbone(name)


_ENGINES: dict[str, Engine] = {}


def _opened(key: str, task: _Task) -> tuple[Engine, Backbone]:
    """The engine and the backbone of this worker, kept from one task to the next."""
    backbone = _loaded(task.backbone, task.threads)
    if backbone.fingerprint != task.fingerprint:
        raise InvalidInput(f"a worker's backbone {task.backbone!r} has other weights than this process's.")
    if key not in _ENGINES:
        _ENGINES[key] = task.address.open()
    return _ENGINES[key], backbone
