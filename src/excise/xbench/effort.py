"""What a run took: documents passed over before the pairs, requests by stage, tokens, requests an admitted query."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from excise.xbench.answers import Answers
from excise.xbench.bench_folder import BenchFolder

GRADING = "grade"


@dataclass(frozen=True)
class Effort:
    """What came before the gates, and what was asked.

    Attributes
    ----------
    pairs
        pairs that were mined.
    passed_over
        documents that made no pair, by reason.
    requests
        requests that were answered, by stage.
    requests_per_admitted
        all of them but those of grading, for each query that passes the gates; None where none does.
    tokens_in, tokens_out, tokens_estimated
        tokens read and written, and how many answers came without a count, so that theirs is an estimate.
    """

    pairs: int
    passed_over: dict[str, int]
    requests: dict[str, int]
    requests_per_admitted: float | None
    tokens_in: int
    tokens_out: int
    tokens_estimated: int

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self)


def run_effort(run: BenchFolder, admitted: int) -> Effort:
    """Count what is stored in a run."""
    answers = Answers(run.path("answers"))
    requests, mined = answers.counts(), run.mined
    asked = sum(number for stage, number in requests.items() if stage != GRADING)
    told_in, told_out = answers.tokens()
    estimated, more_in, more_out = answers.estimated_tokens()
    return Effort(
        pairs=0 if mined is None else mined.pairs,
        passed_over={} if mined is None else mined.passed_over,
        requests=requests,
        requests_per_admitted=round(asked / admitted, 2) if admitted else None,
        tokens_in=told_in + more_in,
        tokens_out=told_out + more_out,
        tokens_estimated=estimated,
    )
