"""A small suite over the demo index, and cases that every system can be tried on."""

from __future__ import annotations

from pathlib import Path

import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.evaluation.systems.cases import Case, Collection, reranked_case, suite_cases
from excise.search.operator import Excise, load
from excise.suites.suites import Query, load_suite

CARS = (
    Document("modely", "The Tesla Model Y is an electric crossover. Tesla builds it in Berlin.", "Tesla Model Y"),
    Document("leaf", "The Leaf is an electric hatchback made in Sunderland.", "Nissan Leaf"),
    Document("zoe", "A small electric car, sold until 2024.", "Renault Zoe"),
    Document("ami", "A two-seat electric quadricycle for the city.", "Citroën Ami"),
    Document("model3", "Electric cars were slow to sell until this sedan came. It is built by Tesla.", "Model 3"),
)


@pytest.fixture(scope="session")
def operator(minilm: Backbone, demo_index: Path) -> Excise:
    """The product over the demo index."""
    return load(demo_index, backbone=minilm)


@pytest.fixture(scope="session")
def collection(operator: Excise, own_documents: list[Document]) -> Collection:
    assert operator.engine is not None
    return Collection(operator.pipeline, own_documents[:80], operator.engine.reader())


@pytest.fixture(scope="session")
def cases(collection: Collection, small_suite: Path) -> list[Case]:
    """An explicit exclusion, a compound one, and a query that excludes nothing."""
    queries = load_suite(small_suite, "dev").queries
    chosen = [next(query for query in queries if query.tier == tier) for tier in ("T1", "T3", "plain")]
    return list(suite_cases(chosen, collection))


@pytest.fixture(scope="session")
def cars(minilm: Backbone) -> Case:
    collection = Collection(load(backbone=minilm).pipeline, CARS)
    return reranked_case(Query("q", "electric cars, but not Tesla", {"excluded": ["Tesla"]}), CARS, collection)
