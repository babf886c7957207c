"""Cases: searched and encoded once."""

from __future__ import annotations

import numpy as np
import pytest

from excise.documents import Document
from excise.errors import BadIndex
from excise.evaluation.systems.cases import Case, suite_cases
from excise.evaluation.systems.lexical import Lexical
from excise.evaluation.systems.topic_sources import oracle
from excise.search.operator import Excise
from excise.search.pipeline import named
from excise.search.weighing import maxsim_of
from excise.suites.suites import Query


def test_a_case_is_the_products_own_shortlist(cases: list[Case], operator: Excise) -> None:
    case = cases[0]
    found = operator.search(case.query.text, k=100, exclude=())
    assert [(hit.id, hit.score) for hit in found.hits] == [
        (document.id, score) for document, score in zip(case.documents, case.scores, strict=True)
    ]
    assert case.frozen_ranks[case.documents[4].id] == 5
    assert maxsim_of(case.encoded.vectors, case.shortlist.vectors) == pytest.approx(case.scores, abs=1e-4)


def test_what_is_made_lazily_is_made_once(cases: list[Case]) -> None:
    case = cases[0]
    assert case.search(oracle(case.query)) is case.search(oracle(case.query))
    assert case.words is case.words
    assert len(case.words) == len(case.documents)


def test_the_residual_query_leaves_out_what_the_query_says_of_the_topic(cars: Case) -> None:
    everything = cars.encoded.vectors
    assert cars.search(oracle(cars.query)).query is cars.encoded
    assert len(cars.search(oracle(cars.query)).residual) == len(everything) - 1
    assert len(cars.search(named(cars.query.text, "Porsche (maker)")).residual) == len(everything)


def test_given_candidates_are_put_in_the_order_of_their_scores(cars: Case) -> None:
    assert (np.diff(cars.scores) <= 0).all()
    assert maxsim_of(cars.encoded.vectors, cars.shortlist.vectors) == pytest.approx(cars.scores, abs=1e-4)
    last = cars.shortlist.vectors.taken([len(cars.scores) - 1])
    assert maxsim_of(cars.encoded.vectors, last) == pytest.approx(cars.scores[-1:], abs=1e-4)


def test_no_index_no_cases(cars: Case) -> None:
    with pytest.raises(BadIndex, match="there is none"):
        next(suite_cases([Query("q", "cars")], cars.collection))


def test_words_that_the_corpus_does_not_hold_score_nothing() -> None:
    lexical = Lexical([Document("a", "red cars"), Document("b", "the and of")])
    assert lexical.scores("green", ["b", "a"]).tolist() == [0, 0]
    assert lexical.search("the", 3) == []
    assert [found.document.id for found in lexical.search("red or green", 3)] == ["a"]
    assert Lexical([Document("b", "the and of")]).search("the red", 3) == []
