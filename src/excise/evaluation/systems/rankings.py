"""What a system returns for a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from excise.evaluation.systems.cases import Case
from excise.results import Status, Topic
from excise.search.shortlist import Judgement


@dataclass(frozen=True)
class Ranked:
    """A document in a ranking. ``frozen_rank`` is None where the frozen shortlist does not hold it."""

    id: str
    title: str
    score: float
    frozen_rank: int | None
    evidence: float | None = None
    status: Status = "kept"


@dataclass(frozen=True)
class Ranking:
    """Documents best first, what was removed, and the topics that were acted on: none where nothing fired."""

    documents: tuple[Ranked, ...]
    removed: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()

    @property
    def ids(self) -> list[str]:
        return [document.id for document in self.documents]

    @property
    def fired(self) -> bool:
        return bool(self.topics)


Rank = Callable[[Case, Sequence[Topic]], Ranking]


def frozen_ranking(case: Case) -> Ranking:
    """The frozen shortlist as it is."""
    placed = enumerate(zip(case.documents, case.scores, strict=True), 1)
    return Ranking(tuple(Ranked(document.id, document.title, float(score), rank) for rank, (document, score) in placed))


def judged_ranking(judgement: Judgement, topics: Sequence[Topic]) -> Ranking:
    """The shortlist as the rule left it."""
    candidates, decision = judgement.candidates, judgement.decision
    kept = [candidates[i] for i in decision.kept]
    return Ranking(
        documents=tuple(Ranked(c.id, c.title, c.score, c.frozen_rank, c.evidence, c.status) for c in kept),
        removed=tuple(candidates[i].id for i in decision.removed),
        topics=tuple(topics),
    )
