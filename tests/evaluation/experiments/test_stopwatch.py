"""How long systems take: what re-embeds is timed from nothing, some times, and leaves the shared cache alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from excise.encoders.backbone import Backbone
from excise.encoders.cache import EmbeddingCache
from excise.evaluation.experiments import stopwatch
from excise.evaluation.experiments.stopwatch import Stopwatch
from excise.evaluation.systems.cases import Case
from excise.evaluation.systems.registry import System, build_systems
from excise.evaluation.systems.spec import parse_systems
from excise.search.models import SearchModels
from excise.search.pipeline import named

NOT_TESLA = named("electric cars, but not Tesla", "Tesla")
Told = list[tuple[str, bool, float, float | None]]


@pytest.fixture
def models(minilm: Backbone) -> SearchModels:
    return SearchModels(minilm, detector=None, cache=EmbeddingCache(10_000_000))


def watched(models: SearchModels) -> tuple[Stopwatch, Told]:
    told: Told = []

    def clock(system: System, fired: bool, seconds: float, warm: float | None) -> None:
        told.append((system.name, fired, seconds, warm))

    return Stopwatch(clock, models), told


def test_what_re_embeds_is_timed_from_an_empty_cache_so_many_times(
    models: SearchModels, cars: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stopwatch, "COLD_FIRINGS", 2)
    watch, told = watched(models)
    shared = models.cache
    full, cut = build_systems(parse_systems("full,cut"), models)
    rankings = [watch.rank(full, cars, NOT_TESLA) for _ in range(2)]
    assert models.cache is shared
    assert len(shared) == 0
    rankings.append(watch.rank(full, cars, NOT_TESLA))  # not timed: the shared cache serves, and is filled
    assert len(shared) == len(cars.shortlist.documents)
    assert rankings[0].ids == rankings[1].ids == rankings[2].ids == full.rank(cars, NOT_TESLA).ids
    watch.rank(cut, cars, NOT_TESLA)
    assert [(name, fired) for name, fired, _, _ in told] == [("full", True), ("full", True), ("cut", True)]
    assert all(warm is not None and warm < seconds for _, _, seconds, warm in told)


def test_everything_else_is_timed_each_time(models: SearchModels, cars: Case) -> None:
    watch, told = watched(models)
    demote, full = build_systems(parse_systems("demote,full"), models)
    for system, detection in ((demote, NOT_TESLA), (demote, NOT_TESLA), (full, replace(NOT_TESLA, topics=()))):
        watch.rank(system, cars, detection)
    assert [(name, fired, warm) for name, fired, _, warm in told] == [
        ("demote", True, None),
        ("demote", True, None),
        ("full", False, None),
    ]
    assert len(models.cache) == 0
