"""What a run over a suite found: a line for each system and query, and the report on all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from excise.evaluation.experiments.run_config import RunConfig
from excise.evaluation.measures.estimates import Estimate
from excise.evaluation.measures.outcomes import TOP, PerQuery
from excise.evaluation.measures.significance import Comparison
from excise.evaluation.systems.rankings import Ranking
from excise.suites.suites import Query

Label = Literal["gold", "excluded", "neutral"]
Estimates = Mapping[str, Estimate]
"""By metric, its mean with an interval."""


@dataclass(frozen=True)
class QueryLine:
    """What a system made of a query.

    Attributes
    ----------
    system, query
        the system's name, and the query.
    ranking, outcome
        what it found, and what that is worth.
    labels
        of the top ten documents, what each one is to the query.
    """

    system: str
    query: Query
    ranking: Ranking
    outcome: PerQuery
    labels: tuple[Label, ...]

    @classmethod
    def of(
        cls, system: str, query: Query, ranking: Ranking, outcome: PerQuery, golds: set[str], excluded: frozenset[str]
    ) -> QueryLine:
        """With labels from what the query wants and rules out."""
        labels: list[Label] = [
            "gold" if one.id in golds else "excluded" if one.id in excluded else "neutral"
            for one in ranking.documents[:TOP]
        ]
        return cls(system, query, ranking, outcome, tuple(labels))

    @property
    def id(self) -> str:
        """The query's id."""
        return self.query.id

    def to_dict(self) -> dict[str, Any]:
        """Plain types: a line of ``per_query.jsonl``."""
        placed = enumerate(zip(self.ranking.documents, self.labels, strict=False), 1)
        return {
            "system": self.system,
            "id": self.query.id,
            "text": self.query.text,
            "metadata": dict(self.query.metadata),
            "fired": self.ranking.fired,
            "topics": [asdict(topic) for topic in self.ranking.topics],
            "metrics": self.outcome.values(),
            "top": [{"rank": rank, **asdict(document), "label": label} for rank, (document, label) in placed],
            "removed": list(self.ranking.removed),
        }


@dataclass(frozen=True)
class SuiteReport:
    """What :func:`excise.evaluation.experiments.suite_run.evaluate` found.

    Attributes
    ----------
    suite, split, queries
        what was measured on, and how many queries that is.
    systems
        by system and metric, the mean over all queries with its interval.
    tiers
        the same by tier.
    significance
        by system and metric, how it differs from the baseline.
    config, baseline
        how it was run, and what the systems are compared with.
    """

    suite: str
    split: str
    queries: int
    systems: Mapping[str, Estimates]
    tiers: Mapping[str, Mapping[str, Estimates]]
    significance: Mapping[str, Mapping[str, Comparison]]
    config: RunConfig
    baseline: str

    def to_dict(self) -> dict[str, Any]:
        """Plain types: ``metrics.json``."""
        return {
            "suite": self.suite,
            "split": self.split,
            "queries": self.queries,
            "systems": means_of(self.systems),
            "tiers": {tier: means_of(systems) for tier, systems in self.tiers.items()},
            "intervals": intervals_of(self.systems),
            "significance": plain_comparisons(self.significance),
            "config": {**self.config.to_dict(), "baseline": self.baseline},
        }


def means_of(systems: Mapping[str, Estimates]) -> dict[str, dict[str, float]]:
    """By system and metric, the mean."""
    return {name: {metric: one.mean for metric, one in own.items()} for name, own in systems.items()}


def intervals_of(systems: Mapping[str, Estimates]) -> dict[str, dict[str, list[float]]]:
    """By system and metric, both ends of the interval."""
    return {name: {metric: [one.low, one.high] for metric, one in own.items()} for name, own in systems.items()}


def plain_comparisons(found: Mapping[str, Mapping[str, Comparison]]) -> dict[str, dict[str, dict[str, Any]]]:
    """Comparisons in plain types."""
    return {name: {metric: asdict(one) for metric, one in own.items()} for name, own in found.items()}
