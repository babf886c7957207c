"""A small suite over the demo index, and cases that every system can be tried on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.evaluation.systems.cases import Case, Collection, reranked_case, suite_cases, suite_collection
from excise.search.operator import load
from excise.suites.suites import Query, load_suite

CARS = (
    Document("modely", "The Tesla Model Y is an electric crossover. Tesla builds it in Berlin.", "Tesla Model Y"),
    Document("leaf", "The Leaf is an electric hatchback made in Sunderland.", "Nissan Leaf"),
    Document("zoe", "A small electric car, sold until 2024.", "Renault Zoe"),
    Document("ami", "A two-seat electric quadricycle for the city.", "Citroën Ami"),
    Document("model3", "Electric cars were slow to sell until this sedan came. It is built by Tesla.", "Model 3"),
)


@pytest.fixture(scope="session")
def small_suite(own_documents: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first eight families of the bundled suite: the documents of ``demo_index``, and their train queries."""
    folder = tmp_path_factory.mktemp("suites") / "small"
    (folder / "qrels").mkdir(parents=True)
    (folder / "negatives").mkdir()
    documents = own_documents[:80]
    kept = {document.id for document in documents}
    lines = [{"_id": d.id, "title": d.title, "text": d.text} for d in documents]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    own = load_suite("own", "train")
    queries = [query for query in own.queries if kept.issuperset(own.qrels[query.id])]
    records = [{"_id": query.id, "text": query.text, "metadata": dict(query.metadata)} for query in queries]
    (folder / "queries.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    wanted = [f"{q.id}\t{d}\t{score}\n" for q in queries for d, score in own.qrels[q.id].items()]
    ruled_out = [f"{q.id}\t{d}\n" for q in queries for d in sorted(own.negatives.get(q.id, ())) if d in kept]
    (folder / "qrels" / "dev.tsv").write_text("".join(wanted))
    (folder / "negatives" / "dev.tsv").write_text("".join(ruled_out))
    return folder


@pytest.fixture(scope="session")
def collection(minilm: Backbone, demo_index: Path) -> Collection:
    return suite_collection(load(demo_index, backbone=minilm))


@pytest.fixture(scope="session")
def cases(collection: Collection, small_suite: Path) -> list[Case]:
    """An explicit exclusion, a compound one, and a query that excludes nothing."""
    queries = load_suite(small_suite, "dev").queries
    chosen = [next(query for query in queries if query.tier == tier) for tier in ("T1", "T3", "plain")]
    return list(suite_cases(chosen, collection))


@pytest.fixture(scope="session")
def cars(minilm: Backbone) -> Case:
    collection = Collection(load(backbone=minilm), lambda: CARS)
    return reranked_case(Query("q", "electric cars, but not Tesla", {"excluded": ["Tesla"]}), CARS, collection)
