"""Work that waits its turn: calls of the same kind that wait together are done together.

Nothing waits for company: a call that finds the worker idle is done at once and alone. What arrives meanwhile is taken
in one go when the worker is free again, so that many clients share encoder calls and one client waits for nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition, Thread
from typing import Generic, TypeVar

from excise.errors import ExciseError

Kind = TypeVar("Kind", bound=Hashable)
Item = TypeVar("Item")
Answer = TypeVar("Answer")


class QueueFull(ExciseError):
    """There is more to do than the service agreed to hold; asked again a little later, it may be taken."""


@dataclass(eq=False)
class _Call(Generic[Kind, Item, Answer]):
    kind: Kind
    items: Sequence[Item]
    answers: Future[list[Answer]] = field(default_factory=Future)


class Batcher(Generic[Kind, Item, Answer]):
    """One worker thread in front of a bounded queue.

    Parameters
    ----------
    work
        answers a list of items of one kind, in their order.
    most
        how many items are worked on together; a call with more of them is worked on by itself.
    room
        how many items may wait; a call that does not fit is refused with :class:`QueueFull`.
    observe
        called with the number of items of each batch.

    Examples
    --------
    >>> batcher = Batcher(lambda power, numbers: [number**power for number in numbers])
    >>> batcher.submit(2, [1, 2, 3]).result()
    [1, 4, 9]
    >>> batcher.close()
    """

    def __init__(
        self,
        work: Callable[[Kind, list[Item]], list[Answer]],
        *,
        most: int = 32,
        room: int = 256,
        observe: Callable[[int], None] | None = None,
    ) -> None:
        self._work, self._most, self._room, self._observe = work, most, room, observe
        self._waiting: deque[_Call[Kind, Item, Answer]] = deque()
        self._items = 0
        self._changed = Condition()
        self._closed = False
        self._thread = Thread(target=self._run, name="excise-batcher", daemon=True)
        self._thread.start()

    def __len__(self) -> int:
        """How many items wait."""
        return self._items

    def submit(self, kind: Kind, items: Sequence[Item]) -> Future[list[Answer]]:
        """Hand in a call. Cancelling what comes back takes it out of the queue, unless it is being worked on."""
        call: _Call[Kind, Item, Answer] = _Call(kind, items)
        with self._changed:
            if self._closed:
                raise QueueFull("the service is shutting down.")
            if self._items and self._items + len(items) > self._room:  # an idle worker takes any call
                raise QueueFull(f"{self._items} are waiting already, and the queue holds {self._room}.")
            self._waiting.append(call)
            self._items += len(items)
            self._changed.notify()
        return call.answers

    def close(self) -> None:
        """Take nothing more, finish what waits, and return when it is done."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        while calls := self._next():
            started = [call for call in calls if call.answers.set_running_or_notify_cancel()]
            if started:
                self._answer(started)

    def _next(self) -> list[_Call[Kind, Item, Answer]]:
        """The call that waits longest and those of its kind that fit in with it; none when all is over."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            if not self._waiting:
                return []
            first = self._waiting.popleft()
            taken, count, others = [first], len(first.items), deque[_Call[Kind, Item, Answer]]()
            for call in self._waiting:
                if call.kind == first.kind and count + len(call.items) <= self._most:
                    taken.append(call)
                    count += len(call.items)
                else:
                    others.append(call)
            self._waiting = others
            self._items -= count
            return taken

    def _answer(self, calls: list[_Call[Kind, Item, Answer]]) -> None:
        items = [item for call in calls for item in call.items]
        try:
            if self._observe is not None:
                self._observe(len(items))
            answers = self._work(calls[0].kind, items)
        except BaseException as error:
            if len(calls) == 1:
                calls[0].answers.set_exception(error)
            else:  # one of them may be at fault: the others must not suffer for it
                for call in calls:
                    self._answer([call])
            return
        for call in calls:
            call.answers.set_result(answers[: len(call.items)])
            answers = answers[len(call.items) :]
