"""What callers hand to a search: topics, candidates and counts, taken or refused with a sentence."""

from __future__ import annotations

from typing import Any

import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.search.inputs import MAX_K, MAX_TOPICS, check_k, named_topics, read_candidates
from excise.search.models import SearchModels
from excise.search.pipeline import Pipeline


@pytest.mark.parametrize("k", [0, -1, MAX_K + 1, True, 2.0, "5", None])
def test_a_wrong_count_is_refused(k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be a whole number from 1 to 1,000"):
        check_k(k)


def test_counts_up_to_the_bound_are_taken() -> None:
    check_k(1)
    check_k(MAX_K)


def test_topics_are_taken_once_stripped_and_clean() -> None:
    topics = named_topics("cars \udcff, not tesla", [" Tesla ", "Tesla", "caf\udce9", "\udcff"])
    assert [(topic.text, topic.start, topic.end, topic.score) for topic in topics] == [
        ("Tesla", 12, 17, 1.0),
        ("caf\ufffd", None, None, 1.0),
        ("\ufffd", 5, 6, 1.0),
    ]
    assert named_topics("cars", "Tesla") == named_topics("cars", ["Tesla"])
    assert named_topics("cars", []) == ()


def test_topics_of_a_generator_serve_every_query(minilm: Backbone) -> None:
    named = Pipeline(SearchModels(minilm, detector=None)).detect(["cars", "vans"], (one for one in ("Tesla",)))
    assert [[topic.text for topic in one.topics] for one in named] == [["Tesla"], ["Tesla"]]


@pytest.mark.parametrize(
    ("exclude", "sentence"),
    [
        (5, "exclude must be a text or a list of texts, got 5"),
        ("", "must be a non-empty text, got ''"),
        (["Tesla", " "], "must be a non-empty text, got ' '"),
        (["Tesla", None], "must be a non-empty text, got None"),
        ([["Tesla"]], "must be a non-empty text"),
        ([f"topic {number}" for number in range(MAX_TOPICS + 1)], "21 topics are excluded; at most 20"),
        (["word " * 101], "has 101 words; at most 100"),
        (["x" * 2_001], "has 2,001 characters; at most 2,000"),
    ],
)
def test_wrong_topics_are_refused(exclude: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        named_topics("cars", exclude)


def test_candidates_with_scores_come_best_first() -> None:
    documents, scores = read_candidates(
        [
            {"id": "a", "text": "x", "score": 1},
            {"id": "b", "text": "y", "score": 3.5},
            {"id": 3, "text": "z", "score": 1},
        ]
    )
    assert [document.id for document in documents] == ["b", "a", "3"]
    assert scores is not None
    assert scores.tolist() == [3.5, 1.0, 1.0]


def test_candidates_keep_their_order_unless_every_one_has_a_score() -> None:
    documents, scores = read_candidates([{"id": "a", "text": "x\udcff", "score": 1}, Document("b", "y")])
    assert documents == [Document("a", "x\ufffd"), Document("b", "y")]
    assert scores is None
    assert read_candidates([]) == ([], None)


@pytest.mark.parametrize(
    ("candidates", "sentence"),
    [
        (5, "candidates must be a list of objects with 'id' and 'text', got 5"),
        ("text", "must be an object with 'id' and 'text', got str"),
        ([{"id": "a"}], "has no 'text'"),
        ([{"id": "a", "text": "x"}, {"id": "a", "text": "y"}], "the same id"),
        ([{"id": "\udcfe", "text": "x"}, {"id": "\udcff", "text": "y"}], "the same id"),
        ([{"id": "a", "text": "x", "score": "high"}], "score must be a number"),
        ([{"id": "a", "text": "x", "score": 10**400}], "score must be a number"),
        ([{"id": "a", "text": "x", "score": [1.0]}], "score must be a number"),
        ([{"id": "a", "text": "x", "score": float("nan")}], "must be finite"),
        ([{"id": str(number), "text": "x"} for number in range(MAX_K + 1)], "1,001 candidates were given"),
    ],
)
def test_wrong_candidates_are_refused(candidates: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        read_candidates(candidates)
