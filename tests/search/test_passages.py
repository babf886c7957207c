"""The passage that an explanation shows."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.documents import Document
from excise.search.passages import MOST_CHARACTERS, topic_passage
from nasty_texts import nasty_text

CAR = Document("leaf", "It has two doors. Unlike a Tesla, it is small! Teslas sell well.", "Nissan Leaf")


def test_the_first_sentence_that_names_a_topic_is_shown() -> None:
    assert topic_passage(["Tesla"], CAR) == "Unlike a Tesla, it is small!"
    assert topic_passage(["chess", "doors"], CAR) == "It has two doors."
    assert topic_passage(["leaf"], CAR) == "Nissan Leaf."


def test_accents_do_not_matter_and_the_sentence_is_shown_as_it_is() -> None:
    said = Document("b", "It is small. A Citroën goes further.")
    assert topic_passage(["Citroen"], said) == "A Citroën goes further."


def test_where_none_names_it_the_one_with_most_of_its_words_is_shown() -> None:
    bread = Document("b", "Flour is milled. Rye is sown. Rye makes a dark flour. Nothing else.")
    assert topic_passage(["flour of rye"], bread) == "Rye makes a dark flour."
    assert topic_passage(["wheat beer", "the milled oat"], bread) == "Flour is milled."


def test_what_has_none_of_the_words_shows_nothing() -> None:
    assert topic_passage(["chess"], CAR) is None
    assert topic_passage(["the"], Document("d", "No word of it.")) is None
    assert topic_passage(["…"], CAR) is None


@pytest.mark.parametrize(
    ("text", "passage"),
    [
        ("First. It costs 3.5 Tesla.com points. Last.", "It costs 3.5 Tesla.com points."),
        ("No\nTesla here\nlast", "Tesla here"),
        ("A Tesla", "A Tesla"),
        ("What?! A   Tesla\t?", "A Tesla ?"),
    ],
)
def test_where_sentences_end(text: str, passage: str) -> None:
    assert topic_passage(["Tesla"], Document("d", text)) == passage


def test_a_name_with_a_full_stop_is_found_by_its_words() -> None:
    assert topic_passage(["T. Boone Pickens"], Document("d", "Oil fell. T. Boone Pickens bid.")) == "Boone Pickens bid."


def test_a_long_sentence_is_cut() -> None:
    passage = topic_passage(["Tesla"], Document("d", "A Tesla " + "and more " * 200))
    assert passage is not None
    assert passage.startswith("A Tesla and more")
    assert passage.endswith("…")
    assert len(passage) <= MOST_CHARACTERS


@given(st.randoms(use_true_random=False))
def test_no_text_is_too_nasty(chance: random.Random) -> None:
    topics, text = [nasty_text(chance)[:3_000] or "x" for _ in range(2)], nasty_text(chance)
    passage = topic_passage(topics, Document("d", f"{text} ."))
    assert passage is None or 0 < len(passage) <= MOST_CHARACTERS
    assert passage is None or "\n" not in passage
