"""BM25 within a shortlist: words as such, singular and plural alike."""

from __future__ import annotations

import re
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.documents import Document
from excise.search.word_scores import word_scores

words = st.sampled_from(["car", "cars", "cart", "Battery", "batteries", "the", "gas", "glass", "s\u00e9ance", "a"])
texts = st.lists(words, min_size=1, max_size=12).map(" ".join)


def _documents(given_texts: list[str]) -> list[Document]:
    return [Document(str(number), text) for number, text in enumerate(given_texts)]


def scores(query: str, *given_texts: str) -> list[float]:
    return word_scores([query], _documents(list(given_texts))).tolist()


def test_numbers_and_capitals_and_accents_do_not_matter_and_parts_of_words_do() -> None:
    one, same, other = scores(
        "cars and batteries", "A car, a BATTERY.", "the cars: batteries", "carts, scars, embattled"
    )
    assert one == pytest.approx(same, rel=0.1)  # texts of nearly the same length
    assert one > 0
    assert other == 0
    assert scores("seance", "a s\u00e9ance", "nothing")[0] > 0
    assert scores("gas in glass", "of gases", "of glasses", "of gas and glass")[2] > 0


def test_a_word_counts_the_more_the_fewer_have_it() -> None:
    common, rare = scores("engine turbine", "an engine x", "a turbine x", "engine", "engine", "engine")[:2]
    assert rare > common > 0


def test_stop_words_and_words_that_nobody_has_count_for_nothing() -> None:
    assert scores("what is the", "what is the", "x") == [0, 0]
    assert scores("zebra", "a", "b") == [0, 0]
    assert scores("", "a", "b") == [0, 0]


@given(texts, st.lists(texts, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(query: str, given_texts: list[str], chooser: Random) -> None:
    order = list(range(len(given_texts)))
    chooser.shuffle(order)
    found = word_scores([query], _documents(given_texts))
    assert word_scores([query], _documents([given_texts[i] for i in order])) == pytest.approx(found[order])
    assert np.isfinite(found).all()
    assert (found >= 0).all()


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=4))
def test_any_text_can_be_scored_and_scores_only_for_words_that_it_has(query: str, given_texts: list[str]) -> None:
    found = word_scores([query], _documents(given_texts))
    for text, score in zip(given_texts, found, strict=True):
        if not re.search(r"\w", text):
            assert score == 0
