"""Elasticsearch's and OpenSearch's JSON in and out, on responses of the shapes that their manuals show."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from cars import CLEAR, EXCLUDING, PLAIN

from excise.errors import InvalidInput
from excise.integrations import opensearch
from excise.integrations.elasticsearch import rerank_hits, rerank_response
from excise.search.operator import Excise

RECORDED = Path(__file__).parent / "recorded"
PAGES = {"text": "page.body", "title": "page.title"}
SHAPES = {
    "elasticsearch_match": {},
    "elasticsearch_sorted": {},
    "elasticsearch_fields": PAGES,
    "opensearch_knn": PAGES,
    "opensearch_total_as_int": {},
}


def recorded(name: str) -> dict[str, Any]:
    response: dict[str, Any] = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    return response


@pytest.mark.parametrize("name", SHAPES)
def test_a_response_keeps_its_shape_less_what_is_excluded(judge: Excise, name: str) -> None:
    response = recorded(name)
    before = copy.deepcopy(response)
    less = rerank_response(judge, EXCLUDING, response, **SHAPES[name])
    assert response == before
    assert [hit["_id"] for hit in less["hits"]["hits"]] == list(CLEAR)
    assert {hit["_id"] for hit in less["excise"]["removed"]} == {"y", "three"}
    assert less["excise"]["topics"] == ["Tesla"]
    by_id = {hit["_id"]: hit for hit in before["hits"]["hits"]}
    for hit in (*less["hits"]["hits"], *less["excise"]["removed"]):
        verdict = hit.pop("excise")
        assert hit == by_id[hit["_id"]]
        assert (verdict["status"] == "removed") == (hit["_id"] not in CLEAR)
    first = before["hits"]["hits"][1]["_score"]
    assert less["hits"]["max_score"] == first
    for key in ("hits", "max_score"):
        del less["hits"][key], before["hits"][key]
    del less["excise"]
    assert less == before


@pytest.mark.parametrize("name", SHAPES)
def test_without_an_exclusion_the_response_is_the_very_same(judge: Excise, name: str) -> None:
    response = recorded(name)
    assert rerank_response(judge, PLAIN, response, **SHAPES[name]) is response
    assert response == recorded(name)


def test_a_clients_response_is_read_by_its_body(judge: Excise) -> None:
    class ClientResponse:
        def __init__(self) -> None:
            self.body = recorded("elasticsearch_match")

    response = ClientResponse()
    assert rerank_response(judge, PLAIN, response) is response
    assert len(rerank_response(judge, EXCLUDING, response)["hits"]["hits"]) == 4


def test_size_cuts_what_is_kept(judge: Excise) -> None:
    response = recorded("opensearch_total_as_int")
    for query, ids in ((EXCLUDING, ["leaf", "zoe"]), (PLAIN, ["y", "leaf"])):
        less = opensearch.rerank_response(judge, query, response, size=2)
        assert [hit["_id"] for hit in less["hits"]["hits"]] == ids
        assert less["hits"]["total"] == 6


def test_hits_alone(judge: Excise) -> None:
    hits = recorded("elasticsearch_match")["hits"]["hits"]
    told: list[str] = []
    assert rerank_hits(judge, PLAIN, hits) is hits
    kept = rerank_hits(judge, PLAIN, hits, "Tesla", on_removed=lambda _, gone: told.extend(hit["_id"] for hit in gone))
    assert [hit["_id"] for hit in kept] == list(CLEAR)
    assert set(told) == {"y", "three"}
    assert [hit["_id"] for hit in rerank_hits(judge, PLAIN, hits, size=1)] == ["y"]


def test_several_fields_of_text_are_read_together(judge: Excise) -> None:
    hits = [
        {"_id": hit["_id"], "_score": hit["_score"], "_source": {"lead": hit["_source"]["title"], "body": [text, ""]}}
        for hit in recorded("elasticsearch_match")["hits"]["hits"]
        for text in [hit["_source"]["text"].replace("Tesla", "It")]
    ]
    kept = rerank_hits(judge, EXCLUDING, hits, text=("lead", "body"), title=None)
    assert [hit["_id"] for hit in kept] == list(CLEAR)


def test_an_empty_response_comes_back(judge: Excise) -> None:
    response = {"took": 1, "hits": {"total": {"value": 0, "relation": "eq"}, "max_score": None, "hits": []}}
    assert rerank_response(judge, EXCLUDING, response) is response


@pytest.mark.parametrize(
    ("response", "sentence"),
    [
        ({"error": {"type": "index_not_found_exception"}, "status": 404}, "an object with 'hits'"),
        ([], "an object with 'hits'"),
        ({"hits": {"hits": "none"}}, "hits must be a list"),
        ({"hits": {"hits": ["a"]}}, "a hit must be an object"),
        ({"hits": {"hits": [{"_id": "a", "_source": {"body": "x"}}]}}, "no hit has a text in 'text'"),
        ({"hits": {"hits": [{"_id": "a", "_score": "9", "_source": {"text": "x"}}]}}, "must be a number or null"),
    ],
)
def test_what_bad_responses_get(judge: Excise, response: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        rerank_response(judge, EXCLUDING, response)
