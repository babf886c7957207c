"""Searches, detections and reranks over HTTP: the library's own answers."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from excise.search.operator import Excise
from excise.settings import resolve

QUERY = "home bread baking, but not rye"
CANDIDATES = [
    {"id": "3", "title": "Tesla Model 3", "text": "Tesla's electric sedan has one large screen.", "score": 0.9},
    {"id": "leaf", "title": "Nissan Leaf", "text": "An electric hatchback made in Sunderland.", "score": 0.8},
    {"id": "zoe", "title": "Renault Zoe", "text": "A small electric car from France.", "score": 0.7},
    {"id": "ami", "title": "Citroën Ami", "text": "A two-seat electric quadricycle.", "score": 0.6},
    {"id": "y", "title": "Tesla Model Y", "text": "An electric crossover from Tesla.", "score": 0.5},
]


def asked(http: httpx.Client, path: str, **message: Any) -> Any:
    answer = http.post(path, json=message)
    assert answer.status_code == 200, answer.text
    return answer.json()


def untimed(plain: dict[str, Any]) -> dict[str, Any]:
    """As JSON has it, without what differs from run to run; scores as the batch's shape leaves them."""
    rounded: dict[str, Any] = json.loads(json.dumps(plain), parse_float=lambda number: round(float(number), 4))
    rounded.pop("timing_ms")
    return rounded


def test_a_search_is_answered_as_the_library_does(http: httpx.Client, demo: Excise) -> None:
    assert untimed(asked(http, "/v1/search", query=QUERY, explain=True)) == untimed(
        demo.search(QUERY).to_dict(explain=True)
    )
    named = asked(http, "/v1/search", query="home bread baking", k=3, exclude=["rye"])
    assert untimed(named) == untimed(demo.search("home bread baking", k=3, exclude=["rye"]).to_dict())
    assert named["fired"]
    assert len(named["hits"]) == 3
    assert "explanation" not in named


def test_nothing_is_ruled_out_where_nothing_is_named(http: httpx.Client, demo: Excise) -> None:
    plain = asked(http, "/v1/search", query=QUERY, exclude=[])
    assert not plain["fired"]
    assert [hit["id"] for hit in plain["hits"]] == [hit.id for hit in demo.search(QUERY, exclude=()).hits]


def test_caution_decides_what_is_removed(http: httpx.Client, minilm: Any, demo_index: Any) -> None:
    from excise.search.operator import load

    none = asked(http, "/v1/search", query=QUERY, caution=1.0)
    some = asked(http, "/v1/search", query=QUERY, caution=0.5)
    assert none["fired"]
    assert none["removed"] == []
    assert some["removed"]
    assert all(one["probability"] >= 0.5 and one["passage"] for one in some["removed"])
    cautious = load(demo_index, backbone=minilm, settings=resolve().with_caution(0.5))
    assert untimed(some) == untimed(cautious.search(QUERY).to_dict())


def test_comparing_brings_the_engines_own_ranking(http: httpx.Client, demo: Excise) -> None:
    both = asked(http, "/v1/search", query=QUERY, compare=True, k=5)
    frozen = demo.search(QUERY, k=5, exclude=()).hits
    assert [(one["rank"], one["id"], one["title"]) for one in both["frozen"]] == [
        (hit.rank, hit.id, hit.title) for hit in frozen
    ]
    assert {one["id"] for one in both["removed"]} & {one["id"] for one in both["frozen"]}
    plain = asked(http, "/v1/search", query="home bread", compare=True, k=5)
    assert [one["id"] for one in plain["frozen"]] == [hit["id"] for hit in plain["hits"]]


def test_several_queries_in_one_call(http: httpx.Client, demo: Excise) -> None:
    queries = [QUERY, "keeping bees", "trains without steam engines"]
    results = asked(http, "/v1/search", queries=queries, k=4, compare=True)["results"]
    for plain in results:
        assert len(plain.pop("frozen")) == 4
    assert [untimed(plain) for plain in results] == [
        untimed(result.to_dict()) for result in demo.search_many(queries, k=4)
    ]
    found = asked(http, "/v1/detect", queries=queries)["results"]
    assert [one["query"] for one in found] == queries
    assert [topic["text"] for topic in found[0]["topics"]] == ["rye"]


def test_a_detection(http: httpx.Client) -> None:
    found = asked(http, "/v1/detect", query="electric cars, but not Tesla")
    assert found["fired"]
    assert found["topics"][0] | {"score": 1} == {"text": "Tesla", "start": 23, "end": 28, "score": 1}


def test_a_rerank_is_answered_as_the_library_does(http: httpx.Client, demo: Excise) -> None:
    plain = asked(http, "/v1/rerank", query="electric cars, not Tesla", candidates=CANDIDATES, explain=True)
    library = demo.rerank("electric cars, not Tesla", CANDIDATES)
    assert untimed(plain) == untimed(library.to_dict(explain=True))
    assert "3" in {one["id"] for one in plain["removed"]}
    untouched = asked(http, "/v1/rerank", query="electric cars", candidates=CANDIDATES[::-1], k=2)
    assert [hit["id"] for hit in untouched["hits"]] == ["3", "leaf"]


def test_callers_at_once_are_answered_together_and_each_with_its_own(http: httpx.Client, demo: Excise) -> None:
    queries = [
        f"{what}, but not {other}" for what in ("bread", "bees", "trains", "ferns") for other in ("rye", "steam")
    ]
    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(lambda query: asked(http, "/v1/search", query=query, k=3), queries * 3))
    alone = {query: demo.search(query, k=3) for query in queries}
    for query, plain in zip(queries * 3, answers, strict=True):
        assert plain["query"] == query
        assert [hit["id"] for hit in plain["hits"]] == [hit.id for hit in alone[query].hits]
    batches = [line for line in http.get("/metrics").text.splitlines() if line.startswith("excise_batch_queries")]
    alone_only = float(next(line for line in batches if 'le="1.0"' in line).split()[-1])
    assert float(next(line for line in batches if "_count" in line).split()[-1]) > alone_only


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        ({"query": " "}, "the query is empty."),
        ({}, "body: name either 'query' or 'queries'."),
        ({"query": "x", "queries": ["y"]}, "body: name either 'query' or 'queries'."),
        ({"queries": []}, "queries: List should have at least 1 item after validation, not 0."),
        ({"queries": ["x"] * 65}, "queries: List should have at most 64 items after validation, not 65."),
        ({"query": "x" * 4_001}, "query: String should have at most 4000 characters."),
        ({"query": "x", "k": 0}, "k: Input should be greater than or equal to 1."),
        ({"query": "x", "k": 201}, "k: Input should be less than or equal to 200."),
        ({"query": "x", "k": True}, "k: Input should be a valid integer."),
        ({"query": "x", "k": "3"}, "k: Input should be a valid integer."),
        ({"query": "x", "exclude": [" "]}, "an excluded topic must be a non-empty text, got ' '."),
        ({"query": "x", "exclude": "rye"}, "exclude: Input should be a valid list."),
        ({"query": "x", "caution": 1.5}, "caution: Input should be less than or equal to 1."),
        (
            {"query": "x", "where": {"year": {"near": 2020}}},
            "where: unknown operator 'near' for 'year'; choose one of eq, ne, in, gt, gte, lt, lte, exists.",
        ),
        ({"query": "x", "top": 3}, "top: Extra inputs are not permitted."),
    ],
)
def test_what_cannot_be_searched_gets_a_sentence(http: httpx.Client, message: dict[str, Any], sentence: str) -> None:
    answer = http.post("/v1/search", json=message)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    assert answer.json()["detail"] == sentence
