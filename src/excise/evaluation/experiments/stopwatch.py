"""How long systems take to rank; what re-embeds is timed twice, from nothing and with all its vectors held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from time import perf_counter

from excise.encoders.cache import EmbeddingCache
from excise.evaluation.systems.cases import Case
from excise.evaluation.systems.rankings import Ranking
from excise.evaluation.systems.registry import System
from excise.evaluation.systems.spec import Operating
from excise.results import Detection
from excise.search.models import SearchModels

COLD_FIRINGS = 20  # re-embedding from nothing takes seconds: so many firings of a system are enough for a mean
Clock = Callable[[System, bool, float, float | None], None]
"""Told of a timed ranking: the system, whether it fired, its seconds, and those of a second time with warm caches."""
Ranks = Callable[[System, Case, Detection], Ranking]


class Stopwatch:
    """Ranks, and tells a clock how long that took.

    The first firings of a system that re-embeds start with an empty cache and are run again with what that holds; the
    others use the cache that all systems share, and are not timed.

    Parameters
    ----------
    clock
        what is told.
    models
        whose cache re-embedding fills.
    """

    def __init__(self, clock: Clock, models: SearchModels) -> None:
        self._clock, self._models = clock, models
        self._cold: Counter[str] = Counter()

    def rank(self, system: System, case: Case, detection: Detection) -> Ranking:
        """What a system ranks."""
        if not (detection.topics and _reembeds(system)):
            ranking, took = _timed(system, case, detection)
            self._clock(system, ranking.fired, took, None)
            return ranking
        if self._cold[system.name] >= COLD_FIRINGS:
            return system.rank(case, detection)
        self._cold[system.name] += 1
        shared = self._models.cache
        self._models.cache = EmbeddingCache(shared.max_bytes)
        try:
            ranking, cold = _timed(system, case, detection)
            _, warm = _timed(system, case, detection)
        finally:
            self._models.cache = shared
        self._clock(system, ranking.fired, cold, warm)
        return ranking


def _reembeds(system: System) -> bool:
    return isinstance(system.spec.way, Operating) and bool(system.spec.way.settings.reembed)


def _timed(system: System, case: Case, detection: Detection) -> tuple[Ranking, float]:
    start = perf_counter()
    ranking = system.rank(case, detection)
    return ranking, perf_counter() - start
