"""The noise test of Appendix B: which constants of a rule matter on training queries, and which do not.

Each constant is swept over its grid while the others stay. A constant is *inert* where success@10 varies by no more
than twice its binomial standard error, *active* where it varies by more, and *unexercised* where no value changes any
ranking. A sweep always has a best value; only an active constant gives a reason to take it.

Every query is weighed once, by the product's own pipeline, and decided anew for each value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from excise.errors import InvalidInput
from excise.evaluation.experiments.indexes import build_index, load_operator
from excise.evaluation.measures.outcomes import TOP
from excise.evaluation.systems.spec import TopicSource
from excise.evaluation.systems.topic_sources import excluded_by
from excise.progress import Progress, silent
from excise.search.pipeline import Pipeline, decide, shortlisted
from excise.search.stages import Weighed
from excise.settings import Settings
from excise.suites.suites import Suite, load_suite

GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "coverage": {
        "caution": (0.2, 0.3, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8),
        "doubt": (0.01, 0.02, 0.03, 0.05, 0.1, 0.2),
        "certain": (0.6, 0.7, 0.8, 0.9, 0.95, 1.0),
        "asked": (0.0, 0.8, 0.9, 0.95, 0.98, 1.0),
        "odds_fraction": (0.0, 0.002, 0.004, 0.007, 0.015, 0.03, 0.06),
        "match_share": (0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6),
        "margin": (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5),
    },
    "paper": {
        "evidence_floor": (0.2, 0.3, 0.35, 0.4, 0.5),
        "anomaly_width": (0.0, 0.25, 0.5, 1.0, 1.5, 2.0),
        "penalty_scale": (0.5, 0.97, 2.0, 5.0, 10.0),
        "removal_fraction": (0.5, 0.6, 0.7, 0.8, 0.9),
        "removal_cap": (1, 2, 3, 5, 10),
    },
}
Verdict = Literal["inert", "active", "unexercised"]


class Decided(NamedTuple):
    """What settings make of a query: whether its top ten is a success, and the ids there."""

    success: bool
    top: tuple[str, ...]


DecideWith = Callable[[Settings], Decided]
"""A query with everything computed that the constants do not touch."""


@dataclass(frozen=True)
class Sweep:
    """One constant on one source of queries: success@10 at each value, its spread against its noise, the verdict."""

    source: str
    constant: str
    default: float
    success: dict[float, float]
    spread: float
    noise: float
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {**self.__dict__, "success": {f"{value:g}": rate for value, rate in self.success.items()}}


def calibrate(
    suite: str | Path,
    split: str,
    settings: Settings,
    source: TopicSource = "detector",
    limit: int | None = None,
    progress: Progress = silent,
) -> list[Sweep]:
    """Sweep every constant of a rule over the queries of a suite that rule documents out.

    Parameters
    ----------
    suite, split, limit
        as in :func:`excise.suites.suites.load_suite`. Training queries, never those that are reported on.
    settings
        whose rule and constants; the others stay as they are there.
    source
        where the topics come from.
    progress
        called as the work goes on.
    """
    loaded = load_suite(suite, split, limit)
    operator = load_operator(loaded)
    pipeline = Pipeline(operator.pipeline.models, settings)
    asked = [query for query in loaded.queries if loaded.negatives.get(query.id)]
    detections = zip(asked, excluded_by(source, asked, pipeline), strict=True)
    kept = [(query.id, detection) for query, detection in detections if detection.topics]
    if not kept:
        raise InvalidInput(f"{suite}: no query of the split {split!r} excludes anything.")
    reader = build_index(loaded, operator, None, progress)

    def prepared() -> Iterator[DecideWith]:
        for done, (id, detection) in enumerate(kept, 1):
            search = pipeline.encode([detection])[0]
            found = pipeline.find(reader, [search], TOP)[0]
            yield decide_with(pipeline.weigh(search, shortlisted(found)), id, loaded)
            progress(f"sweeping {loaded.name}", done, len(kept))

    return sweep(loaded.name, prepared(), settings)


def decide_with(weighed: Weighed, query: str, suite: Suite) -> DecideWith:
    """A query that is weighed, ready to be decided with any constants."""
    golds = {id for id, score in suite.qrels.get(query, {}).items() if score > 0}
    excluded = suite.negatives.get(query, frozenset())

    def decided(settings: Settings) -> Decided:
        judgement = decide(weighed, settings)
        top = tuple(judgement.candidates[i].id for i in judgement.decision.kept[:TOP])
        return Decided(not golds.isdisjoint(top) and excluded.isdisjoint(top), top)

    return decided


def sweep(source: str, queries: Iterable[DecideWith], settings: Settings) -> list[Sweep]:
    """Sweep every constant of a rule over the queries of one source, which are looked at one after the other."""
    variants = _variants(settings)
    successes = {name: dict.fromkeys(changed, 0) for name, changed in variants.items()}
    moved = dict.fromkeys(variants, False)
    count = 0
    for decided in queries:
        before, count = decided(settings), count + 1
        for name, changed in variants.items():
            for value, other in changed.items():
                after = decided(other)
                successes[name][value] += after.success
                moved[name] |= after != before
    rates = {name: {value: n / count for value, n in own.items()} for name, own in successes.items()}
    return [_sweep(source, name, _constant(settings, name), rates[name], count, moved[name]) for name in variants]


def _variants(settings: Settings) -> dict[str, dict[float, Settings]]:
    """By constant and value, in the order of the grids."""
    part = _part(settings)
    return {
        name: {
            value: replace(settings, **{part: replace(getattr(settings, part), **{name: value})})
            for value in sorted({*grid, _constant(settings, name)})
        }
        for name, grid in GRIDS[settings.rule].items()
    }


def _part(settings: Settings) -> str:
    return "coverage" if settings.rule == "coverage" else "constants"


def _constant(settings: Settings, name: str) -> float:
    value: float = getattr(getattr(settings, _part(settings)), name)
    return value


def _sweep(source: str, constant: str, default: float, success: dict[float, float], queries: int, moved: bool) -> Sweep:
    spread, rate = max(success.values()) - min(success.values()), success[default]
    noise = 2 * math.sqrt(max(rate * (1 - rate), 1e-9) / queries)
    verdict: Verdict = "unexercised" if not moved else "active" if spread > noise else "inert"
    return Sweep(source, constant, default, success, spread, noise, verdict)
