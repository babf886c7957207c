"""The queue in front of a worker: what waits together is done together, in order, and nobody pays for a neighbour."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Event

import pytest

from excise.service.batcher import Batcher, QueueFull


class Held:
    """Work that waits for a sign, and remembers what it was given at a time."""

    def __init__(self) -> None:
        self.began, self.go = Event(), Event()
        self.batches: list[tuple[str, list[int]]] = []

    def __call__(self, kind: str, numbers: list[int]) -> list[int]:
        self.batches.append((kind, numbers))
        self.began.set()
        assert self.go.wait(30)
        if 13 in numbers:
            raise ValueError("thirteen")
        return [-number for number in numbers]


def occupied(work: Held, **settings: int) -> tuple[Batcher[str, int, int], Future[list[int]]]:
    """A batcher whose worker has begun with a first call."""
    batcher: Batcher[str, int, int] = Batcher(work, **settings)
    first = batcher.submit("a", [0])
    assert work.began.wait(30)
    return batcher, first


def test_what_waits_together_is_done_together() -> None:
    work = Held()
    batcher, first = occupied(work, most=4)
    calls = [("a", [1, 2]), ("b", [3]), ("a", [4]), ("a", [5, 6]), ("a", [7]), ("b", [8])]
    answers = [batcher.submit(kind, numbers) for kind, numbers in calls]
    assert len(batcher) == 8
    work.go.set()
    assert [answer.result(30) for answer in answers] == [[-number for number in numbers] for _, numbers in calls]
    assert first.result(30) == [0]
    assert work.batches == [("a", [0]), ("a", [1, 2, 4, 7]), ("b", [3, 8]), ("a", [5, 6])]
    batcher.close()


def test_one_that_fails_fails_alone() -> None:
    work = Held()
    batcher, _ = occupied(work)
    good, bad, other = (batcher.submit("a", [number]) for number in (1, 13, 2))
    work.go.set()
    assert (good.result(30), other.result(30)) == ([-1], [-2])
    with pytest.raises(ValueError, match="thirteen"):
        bad.result(30)
    assert batcher.submit("a", [3]).result(30) == [-3]
    batcher.close()


def test_the_queue_is_bounded_and_a_call_can_be_taken_back() -> None:
    work = Held()
    batcher, _ = occupied(work, room=3)
    taken_back = batcher.submit("a", [1, 2])
    with pytest.raises(QueueFull, match="2 are waiting already, and the queue holds 3"):
        batcher.submit("a", [3, 4])
    kept = batcher.submit("b", [5])
    assert taken_back.cancel()
    work.go.set()
    assert kept.result(30) == [-5]
    assert ("a", [1, 2]) not in work.batches
    batcher.close()


def test_a_call_larger_than_a_batch_is_done_by_itself() -> None:
    work = Held()
    work.go.set()
    batcher: Batcher[str, int, int] = Batcher(work, most=2, room=4)
    assert batcher.submit("a", list(range(9))).result(30) == [-number for number in range(9)]
    batcher.close()


def test_closing_finishes_what_waits_and_takes_nothing_more() -> None:
    work = Held()
    batcher, first = occupied(work)
    waiting = batcher.submit("a", [1])
    work.go.set()
    batcher.close()
    assert first.done()
    assert waiting.result(0) == [-1]
    with pytest.raises(QueueFull, match="shutting down"):
        batcher.submit("a", [2])
