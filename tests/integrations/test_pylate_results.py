"""PyLate's shape in and out: list[list[{"id", "score"}]]."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from cars import CARS, CLEAR, EXCLUDING, PLAIN

from excise.errors import BadIndex, InvalidInput
from excise.integrations.pylate import rerank_results
from excise.search.operator import Excise

TEXTS = {car.id: f"{car.title}. {car.text}" for car in CARS}


def found() -> list[dict[str, Any]]:
    """MaxSim scores of one query as ``rank.rerank`` and ``ColBERT.retrieve`` return them."""
    return [{"id": car.id, "score": 30 * car.score} for car in CARS]


def test_each_query_gets_its_own_exclusions(judge: Excise) -> None:
    results = [found(), found()]
    plain, excluding = rerank_results(judge, [PLAIN, EXCLUDING], results, TEXTS)
    assert plain is results[0]
    assert excluding == [one for one in found() if one["id"] in CLEAR]
    assert results == [found(), found()]


def test_texts_come_from_the_index_by_the_same_ids(garage: Excise) -> None:
    [excluding] = rerank_results(garage, [EXCLUDING], [found()])
    assert [one["id"] for one in excluding] == list(CLEAR)
    with pytest.raises(BadIndex, match="no document with the id 'nowhere'"):
        rerank_results(garage, [EXCLUDING], [[{"id": "nowhere", "score": 1.0}]])


def test_ids_may_be_numbers_and_scores_numpys(judge: Excise) -> None:
    results = [[{"id": place, "score": np.float32(9 - place)} for place in range(len(CARS))]]
    [excluding] = rerank_results(judge, [EXCLUDING], results, {place: car.text for place, car in enumerate(CARS)})
    assert excluding == [{"id": place, "score": 9.0 - place} for place in (1, 2, 4, 5)]


def test_named_topics_a_cut_and_what_was_removed(judge: Excise) -> None:
    told: list[tuple[str, list[dict[str, Any]]]] = []
    kept = rerank_results(
        judge, [PLAIN], [found()], TEXTS, ["Tesla"], k=2, on_removed=lambda query, gone: told.append((query, gone))
    )
    assert [one["id"] for one in kept[0]] == ["leaf", "zoe"]
    [(query, gone)] = told
    assert query == PLAIN
    assert {one["id"] for one in gone} == {"y", "three"}
    assert all(one["status"] == "removed" and one["evidence"] > 0 for one in gone)
    assert [one["id"] for one in rerank_results(judge, [PLAIN], [found()], TEXTS, k=2)[0]] == ["y", "leaf"]


@pytest.mark.parametrize(
    ("queries", "results", "sentence"),
    [
        ([PLAIN], [], "same length, got 1 and 0"),
        (PLAIN, [[]], "same length, got one text and 1"),
        ([PLAIN], [[{"id": "y"}]], "an object with 'id' and 'score'"),
        ([PLAIN], [[{"id": "nowhere", "score": 1.0}]], "no text for the id 'nowhere'"),
        ([PLAIN], [[{"id": "y", "score": "high"}]], "the score of 'y' must be a number"),
        ([PLAIN], [[{"id": "y", "score": 10**400}]], "the score of 'y' must be a number"),
    ],
)
def test_what_bad_results_get(judge: Excise, queries: Any, results: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        rerank_results(judge, queries, results, TEXTS)


def test_ids_alone_need_an_index_or_texts(judge: Excise) -> None:
    with pytest.raises(InvalidInput, match="hand over their texts"):
        rerank_results(judge, [PLAIN], [found()])
