"""What a run over graded labels found: a line for each system and search, and the report on all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from excise.evaluation.experiments.run_config import SEED, RunConfig
from excise.evaluation.experiments.suite_report import Estimates, intervals_of, means_of
from excise.evaluation.measures.outcomes import TOP
from excise.evaluation.measures.removals import (
    GradedCandidate,
    ReliabilityBin,
    SearchRemovals,
    reliability,
    removal_estimates,
)
from excise.evaluation.systems.rankings import Ranked, Ranking
from excise.suites.coverage_labels import Grade, LabelledSearch


@dataclass(frozen=True)
class RemovedDocument:
    """A document that a system removed; ``grade`` is None where it is not labelled."""

    id: str
    title: str
    frozen_rank: int | None
    score: float | None
    probability: float | None
    grade: Grade | None


@dataclass(frozen=True)
class SearchLine:
    """What a system made of a search: all that it removed, and each labelled candidate."""

    system: str
    search: LabelledSearch
    removed: tuple[RemovedDocument, ...]
    candidates: tuple[GradedCandidate, ...]

    @classmethod
    def of(cls, system: str, search: LabelledSearch, ranking: Ranking, frozen_ranks: Mapping[str, int]) -> SearchLine:
        """From what a system found, and each document's place in the frozen shortlist."""
        seen = {one.id: one for one in (*ranking.documents, *ranking.removals)}
        removed = (
            RemovedDocument(
                one.id,
                one.title,
                frozen_ranks.get(one.id),
                _score(one),
                one.probability,
                search.grades.get(one.id),
            )
            for one in ranking.removals
        )
        candidates = (_graded(document, grade, seen.get(document)) for document, grade in search.grades.items())
        return cls(system, search, tuple(removed), tuple(candidates))

    @property
    def id(self) -> str:
        """The search's id."""
        return self.search.id

    def to_dict(self) -> dict[str, Any]:
        """Plain types: a line of ``per_search.jsonl``."""
        top = [one for one in self.removed if one.frozen_rank is not None and one.frozen_rank <= TOP]
        searched = {name: value for name, value in asdict(self.search).items() if name != "grades"}
        return {
            "system": self.system,
            **searched,
            "metrics": {"removals": float(len(self.removed)), "removals@10": float(len(top))},
            "removed": [asdict(one) for one in self.removed],
            "labelled": [one.to_dict() for one in self.candidates],
        }


def removals_of(record: Mapping[str, Any]) -> SearchRemovals:
    """What is measured of a line, from its record in ``per_search.jsonl``."""
    return SearchRemovals(
        corpus=record["corpus"],
        kind=record["kind"],
        candidates=tuple(GradedCandidate(**one) for one in record["labelled"]),
        removals=int(record["metrics"]["removals"]),
        top_removals=int(record["metrics"]["removals@10"]),
    )


@dataclass(frozen=True)
class CoverageReport:
    """What :func:`excise.evaluation.experiments.coverage_run.evaluate_coverage` found.

    Attributes
    ----------
    labels, searches, candidates
        the files of labels, and how many searches and labelled candidates they have.
    systems
        by system and measure (:mod:`excise.evaluation.measures.removals`), the figure with its interval.
    corpora
        the same by corpus.
    reliability
        by system, how its probabilities hold; systems without probabilities are not in it.
    config
        how it was run.
    """

    labels: tuple[str, ...]
    searches: int
    candidates: int
    systems: Mapping[str, Estimates]
    corpora: Mapping[str, Mapping[str, Estimates]]
    reliability: Mapping[str, tuple[ReliabilityBin, ...]]
    config: RunConfig

    @classmethod
    def of(
        cls,
        labels: tuple[str, ...],
        searches: Sequence[LabelledSearch],
        removals: Mapping[str, Sequence[SearchRemovals]],
        config: RunConfig,
    ) -> CoverageReport:
        """From what each system removed, search by search."""
        corpora = dict.fromkeys(search.corpus for search in searches)
        curves = {name: reliability(own) for name, own in removals.items()}
        return cls(
            labels=labels,
            searches=len(searches),
            candidates=sum(len(search.grades) for search in searches),
            systems={name: removal_estimates(own, SEED) for name, own in removals.items()},
            corpora={
                corpus: {
                    name: removal_estimates([one for one in own if one.corpus == corpus], SEED)
                    for name, own in removals.items()
                }
                for corpus in corpora
            },
            reliability={name: curve for name, curve in curves.items() if curve},
            config=config,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain types: ``metrics.json``."""
        return {
            "labels": list(self.labels),
            "searches": self.searches,
            "candidates": self.candidates,
            "systems": means_of(self.systems),
            "intervals": intervals_of(self.systems),
            "corpora": {
                corpus: {"systems": means_of(own), "intervals": intervals_of(own)}
                for corpus, own in self.corpora.items()
            },
            "reliability": {name: [one.to_dict() for one in curve] for name, curve in self.reliability.items()},
            "config": self.config.to_dict(),
        }


def _graded(document: str, grade: Grade, seen: Ranked | None) -> GradedCandidate:
    if seen is None:
        return GradedCandidate(document, grade, "not_shortlisted")
    return GradedCandidate(document, grade, seen.status, _score(seen), seen.probability)


def _score(one: Ranked) -> float | None:
    return one.evidence if one.probability is None else one.probability
