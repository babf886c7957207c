"""What a system returns for a query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from excise.documents import Document
from excise.evaluation.systems.cases import Case
from excise.results import Detection, Judged, Status, Topic
from excise.rules.decision import Decision, Floats
from excise.search.stages import Judgement


@dataclass(frozen=True)
class Ranked:
    """A document in a ranking, or one that was taken out of it.

    ``frozen_rank`` is None where the frozen shortlist does not hold it, and ``probability``, that it covers the topic,
    where the system gives none.
    """

    id: str
    title: str
    score: float
    frozen_rank: int | None
    evidence: float | None = None
    status: Status = "kept"
    probability: float | None = None


@dataclass(frozen=True)
class Ranking:
    """Documents best first, those that were taken out, and the topics that were acted on: none where nothing fired."""

    documents: tuple[Ranked, ...]
    removals: tuple[Ranked, ...] = ()
    topics: tuple[Topic, ...] = ()

    @property
    def ids(self) -> list[str]:
        return [document.id for document in self.documents]

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids of what was taken out."""
        return tuple(document.id for document in self.removals)

    @property
    def fired(self) -> bool:
        return bool(self.topics)


Rank = Callable[[Case, Detection], Ranking]


def frozen_ranking(case: Case) -> Ranking:
    """The frozen shortlist as it is."""
    placed = enumerate(zip(case.documents, case.scores, strict=True), 1)
    return Ranking(tuple(Ranked(document.id, document.title, float(score), rank) for rank, (document, score) in placed))


def found_ranking(case: Case, documents: Sequence[Document], scores: Sequence[float] | Floats) -> Ranking:
    """What another first stage found, with each document's place in the frozen shortlist."""
    ranks, found = case.frozen_ranks, zip(documents, scores, strict=True)
    return Ranking(tuple(Ranked(one.id, one.title, float(score), ranks.get(one.id)) for one, score in found))


def reordered(case: Case, scores: Floats) -> Ranking:
    """The frozen shortlist by other scores, equal ones in frozen order."""
    order = np.argsort(-scores, kind="stable")
    return found_ranking(case, [case.documents[i] for i in order], scores[order])


def judged_ranking(judgement: Judgement, topics: tuple[Topic, ...]) -> Ranking:
    """The shortlist as the operator left it."""
    candidates, decision = judgement.candidates, judgement.decision
    return Ranking(
        documents=tuple(_ranked(candidates[i]) for i in decision.kept),
        removals=tuple(_ranked(candidates[i]) for i in decision.removed),
        topics=topics,
    )


def _ranked(one: Judged) -> Ranked:
    probability = one.probability
    return Ranked(one.id, one.title, one.score, one.frozen_rank, one.evidence, one.status, probability)


def penalised_ranking(case: Case, evidence: Floats, decision: Decision, topics: tuple[Topic, ...]) -> Ranking:
    """The frozen shortlist as a rule left it that penalises and removes nothing."""
    ranked = []
    for i in map(int, decision.ranking):
        one = case.documents[i]
        status: Status = "penalised" if decision.penalties[i] > 0 else "kept"
        ranked.append(Ranked(one.id, one.title, float(decision.scores[i]), i + 1, float(evidence[i]), status))
    return Ranking(tuple(ranked), topics=topics)
