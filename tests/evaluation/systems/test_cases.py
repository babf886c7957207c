"""Cases: searched and encoded once."""

from __future__ import annotations

import numpy as np
import pytest

from excise.documents import Document
from excise.errors import BadIndex
from excise.evaluation.systems.cases import Case, Collection, suite_cases, suite_collection
from excise.evaluation.systems.lexical import Lexical
from excise.evaluation.systems.topic_sources import oracle_topics
from excise.results import Topic
from excise.search.judging import places
from excise.search.operator import load
from excise.search.shortlist import maxsim_of
from excise.suites.suites import Query


def test_a_case_is_the_products_own_shortlist(cases: list[Case], collection: Collection) -> None:
    case = cases[0]
    found = collection.operator.search(case.query.text, k=100, exclude=())
    assert [(hit.id, hit.score) for hit in found.hits] == [
        (document.id, score) for document, score in zip(case.documents, case.scores, strict=True)
    ]
    assert case.frozen_ranks[case.documents[4].id] == 5
    assert maxsim_of(case.encoded.vectors, case.shortlist.vectors) == pytest.approx(case.scores, abs=1e-4)


def test_what_is_made_lazily_is_made_once(cases: list[Case]) -> None:
    case = cases[0]
    topics = oracle_topics(case.query)
    assert case.named(topics) is case.named(list(topics))
    assert case.shortlist is case.shortlist
    assert len(case.words) == len(case.documents)


def test_wanted_vectors_leave_out_what_the_query_says_of_the_topic(cars: Case) -> None:
    everything = cars.encoded.vectors
    assert len(cars.wanted(oracle_topics(cars.query))) == len(everything) - 1
    assert len(cars.wanted([Topic("Porsche (maker)", None, None, 1.0)])) == len(everything)


def test_mentions_of_a_topic_with_a_place_and_of_one_without() -> None:
    query = "Tesla and Nissan cars"
    assert places(query, [Topic("Tesla", 0, 5, 1.0), Topic("the Nissan Leaf", None, None, 1.0)]) == [(0, 5), (10, 16)]


def test_given_candidates_are_put_in_the_order_of_their_scores(cars: Case) -> None:
    assert (np.diff(cars.scores) <= 0).all()
    assert maxsim_of(cars.encoded.vectors, cars.shortlist.vectors) == pytest.approx(cars.scores, abs=1e-4)
    last = cars.shortlist.vectors.taken([len(cars.scores) - 1])
    assert maxsim_of(cars.encoded.vectors, last) == pytest.approx(cars.scores[-1:], abs=1e-4)


def test_no_index_no_cases(cars: Case) -> None:
    collection = suite_collection(load(backbone=cars.collection.backbone))
    with pytest.raises(BadIndex, match="there is none"):
        next(suite_cases([Query("q", "cars")], collection))


def test_words_that_the_corpus_does_not_hold_score_nothing() -> None:
    lexical = Lexical([Document("a", "red cars"), Document("b", "the and of")])
    assert lexical.scores("green", ["b", "a"]).tolist() == [0, 0]
    assert lexical.search("the", 3) == []
    assert [found.document.id for found in lexical.search("red or green", 3)] == ["a"]
    assert Lexical([Document("b", "the and of")]).search("the red", 3) == []
