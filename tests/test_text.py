"""Text from outside: replaced where it is broken, refused where it is no query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.errors import InvalidInput
from excise.text import MAX_QUERY_CHARACTERS, MAX_QUERY_WORDS, checked_query, clean

BROKEN_TEXT = st.text(st.one_of(st.characters(), st.characters(categories=["Cs"])))


def test_lone_surrogates_are_replaced_one_for_one() -> None:
    assert clean("caf\udce9, \ud83d\ude00 \U0001f600") == "caf\ufffd, \ufffd\ufffd \U0001f600"


@given(BROKEN_TEXT)
def test_what_is_clean_can_be_encoded_and_keeps_its_length(text: str) -> None:
    assert len(clean(text).encode().decode()) == len(text)


@given(st.text())  # which has no surrogates
def test_whole_text_is_left_alone(text: str) -> None:
    assert clean(text) is text


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("", "the query is empty"),
        (" \n\u3000", "the query is empty"),
        (None, "a query must be a text, got NoneType"),
        (b"bytes", "a query must be a text, got bytes"),
        ("word " * (MAX_QUERY_WORDS + 1), "the query has 1,001 words; at most 1,000"),
        ("x" * 10_000_000, "the query has 10,000,000 characters; at most 20,000"),
    ],
)
def test_what_is_no_query_is_refused(query: object, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        checked_query(query)


def test_queries_up_to_the_bounds_are_taken_clean() -> None:
    assert checked_query("x" * MAX_QUERY_CHARACTERS) == "x" * MAX_QUERY_CHARACTERS
    assert checked_query("w " * MAX_QUERY_WORDS) == "w " * MAX_QUERY_WORDS
    assert checked_query(" not \udcff ") == " not \ufffd "
