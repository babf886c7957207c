"""How a plan gets its answers: from an endpoint, from batch files, or not yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from excise.progress import Progress, silent
from excise.xbench.answers import Answers, Desk
from excise.xbench.batch import read_answers, write_requests
from excise.xbench.endpoint import Caller, Endpoint
from excise.xbench.storage import XBenchError

_T = TypeVar("_T")
_ROUNDS = 20  # a record needs at most ten: five stages, each asked twice


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


@dataclass
class Exchange:
    """What was asked and what came back."""

    pending: int = 0
    pending_by_stage: dict[str, int] = field(default_factory=dict)
    malformed: dict[str, int] = field(default_factory=dict)
    unusable: dict[str, int] = field(default_factory=dict)
    batch_in: dict[str, int] = field(default_factory=dict)
    batch_out: list[str] = field(default_factory=list)
    endpoint: dict[str, Any] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0


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
    exchange = Exchange()
    result, desk = _replan(plan, answers)
    if channel.batch_in:
        file = read_answers(channel.batch_in)
        while desk.pending and file.give(desk.pending, answers):
            result, desk = _replan(plan, answers)
        exchange.batch_in = {
            "taken": file.taken,
            "failed": len(file.failed),
            "unknown": file.unknown(answers),
            "unreadable": file.unreadable,
        }
    if channel.endpoint is not None and desk.pending:
        caller = Caller(channel.endpoint)
        for _ in range(_ROUNDS):
            if not desk.pending:
                break
            caller.ask(list(desk.pending.values()), answers, progress)
            result, desk = _replan(plan, answers)
        exchange.endpoint = vars(caller.usage)
    if channel.batch_out is not None and desk.pending:
        requests = list(desk.pending.values())
        exchange.batch_out = [str(path) for path in write_requests(channel.batch_out, requests)]
    exchange.pending = len(desk.pending)
    for request in desk.pending.values():
        exchange.pending_by_stage[request.stage] = exchange.pending_by_stage.get(request.stage, 0) + 1
    exchange.malformed, exchange.unusable = dict(desk.malformed), dict(desk.unusable)
    exchange.tokens_in, exchange.tokens_out = answers.tokens()
    return result, exchange


def _replan(plan: Callable[[Desk], _T], answers: Answers) -> tuple[_T, Desk]:
    desk = Desk(answers)
    return plan(desk), desk
