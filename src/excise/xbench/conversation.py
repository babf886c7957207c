"""How a plan gets its answers: from an endpoint, from batch files, or not yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeVar

from excise.progress import Progress, silent
from excise.xbench.answers import Answers, Desk
from excise.xbench.batch import read_answers, write_requests
from excise.xbench.endpoint import Caller, Endpoint, Usage
from excise.xbench.storage import XBenchError

_T = TypeVar("_T")
_ROUNDS = 20  # a record needs at most ten: Stage A, Stage B, reading, repair, reading, each asked twice


@dataclass(frozen=True)
class Channel:
    """Where answers come from. Batch files are read first; what is still missing is asked for, or written out.

    Parameters
    ----------
    endpoint
        asked until nothing is missing.
    batch_in
        files of answers.
    batch_out
        where the requests are written that can be asked now.
    """

    endpoint: Endpoint | None = None
    batch_in: tuple[Path, ...] = ()
    batch_out: Path | None = None

    def __post_init__(self) -> None:
        if self.endpoint is not None and self.batch_out is not None:
            raise XBenchError("requests go to an endpoint or to a batch file, not to both.")


@dataclass(frozen=True)
class BatchRead:
    """What files of answers held: answers that were taken, failed at the provider, asked for by nobody, unreadable."""

    taken: int
    failed: int
    unknown: int
    unreadable: int


@dataclass(frozen=True)
class Exchange:
    """What was asked and what came back.

    Attributes
    ----------
    pending, pending_by_stage
        requests that wait for an answer, in all and by stage.
    malformed, unusable
        answers that did not fit, and requests that were given up after the second such answer, by stage.
    batch_in, batch_out
        what was read from files of answers, and the files that requests were written to.
    endpoint
        what the endpoint was used for; None where none was asked.
    tokens_in, tokens_out
        of all answers that are stored.
    tokens_estimated
        how many of these answers came without a count of tokens, so that theirs is an estimate.
    """

    pending: int
    pending_by_stage: dict[str, int]
    malformed: dict[str, int]
    unusable: dict[str, int]
    batch_in: BatchRead | None
    batch_out: tuple[str, ...]
    endpoint: Usage | None
    tokens_in: int
    tokens_out: int
    tokens_estimated: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        plain = asdict(self)
        return {**plain, "batch_in": plain["batch_in"] or {}, "endpoint": plain["endpoint"] or {}}


def converse(
    plan: Callable[[Desk], _T], answers: Answers, channel: Channel, progress: Progress = silent
) -> tuple[_T, Exchange]:
    """Carry a plan as far as the channel goes.

    Parameters
    ----------
    plan
        works with the answers that a desk has, and leaves the other requests on it.
    answers
        what is stored; what comes in is added.
    """
    read: BatchRead | None = None
    usage: Usage | None = None
    written: tuple[str, ...] = ()
    result, desk = _replan(plan, answers)
    if channel.batch_in:
        file = read_answers(channel.batch_in)
        while desk.pending and file.give(desk.pending, answers):
            result, desk = _replan(plan, answers)
        read = BatchRead(file.taken, len(file.failed), file.unknown(answers), file.unreadable)
    if channel.endpoint is not None and desk.pending:
        caller = Caller(channel.endpoint)
        for _ in range(_ROUNDS):
            if not desk.pending:
                break
            caller.ask(list(desk.pending.values()), answers, progress)
            result, desk = _replan(plan, answers)
        usage = caller.usage
    if channel.batch_out is not None and desk.pending:
        requests = list(desk.pending.values())
        written = tuple(str(path) for path in write_requests(channel.batch_out, requests))
    stages = Counter(request.stage for request in desk.pending.values())
    malformed, unusable = dict(desk.malformed), dict(desk.unusable)
    told_in, told_out = answers.tokens()
    estimated, more_in, more_out = answers.estimated_tokens()
    tokens = (told_in + more_in, told_out + more_out, estimated)
    exchange = Exchange(len(desk.pending), dict(stages), malformed, unusable, read, written, usage, *tokens)
    return result, exchange


def _replan(plan: Callable[[Desk], _T], answers: Answers) -> tuple[_T, Desk]:
    desk = Desk(answers)
    return plan(desk), desk
