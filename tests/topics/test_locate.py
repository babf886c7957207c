"""Where queries name topics: whole words, every occurrence, offsets that are right in any script."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.results import Topic
from excise.search.inputs import named_topics
from excise.topics.locate import excluded_place, occurrences, outside, places
from excise.topics.words import has_content


def found(text: str, topic: str) -> list[str]:
    return [text[start:end] for start, end in occurrences(text, topic)]


@pytest.mark.parametrize(
    ("text", "topic", "expected"),
    [
        ("Bryers ice cream, no rye", "rye", ["rye"]),
        ("Bryers", "rye", []),
        ("Teslas", "Tesla", []),
        ("Tesla's, a Tesla-owned TESLA", "tesla", ["Tesla", "Tesla", "TESLA"]),
        ("pre-Tesla (Tesla) 'Tesla' tesla_x", "Tesla", ["Tesla", "Tesla", "Tesla"]),
        ("New \n\t York, new\u00a0york, NewYork", "New  York", ["New \n\t York", "new\u00a0york"]),
        ("C++, C++11 and C", "C++", ["C++"]),
        ("C++, C#, C+ and C", "c", ["C"]),
        ("salt+pepper", "salt", ["salt"]),
        (".NET, not a net", ".net", [".NET"]),
        (".NET, ASP.NET, my .NET, not a net", "net", ["NET", "net"]),
        ("...Tesla", "Tesla", ["Tesla"]),
        ("the film Annie (1982 film)?", "annie (1982 film)", ["Annie (1982 film)"]),
        ("AT&T and AT & T", "at&t", ["AT&T"]),
        ("a sea-lion -lion", "-lion", ["-lion"]),
        ("O\u2019Reilly and O'Reilly", "O'Reilly", ["O\u2019Reilly", "O'Reilly"]),
        ("Coca\u2011Cola", "coca-cola", ["Coca\u2011Cola"]),
        ("anything", "", []),
        ("anything", " \t", []),
        ("", "Tesla", []),
    ],
)
def test_whole_words_with_any_punctuation(text: str, topic: str, expected: list[str]) -> None:
    assert found(text, topic) == expected


@pytest.mark.parametrize(
    ("text", "topic", "expected"),
    [
        ("Große STRASSE, Straße", "strasse", ["STRASSE", "Straße"]),
        ("ß", "s", []),  # no word ends within a letter
        ("İİ Tesla", "tesla", ["Tesla"]),  # two capitals that grow when folded: offsets must not shift
        ("visit İstanbul", "istanbul", ["İstanbul"]),
        ("ΟΔΟΣ", "οδος", ["ΟΔΟΣ"]),
        ("Bjo\u0308rn", "Björn", ["Bjo\u0308rn"]),
        ("Björn", "Bjo\u0308rn", ["Björn"]),
        ("rose\u0301", "rose", []),  # the accent belongs to the word
        ("हिन्दी", "हिन", []),
        ("हिन्दी नहीं", "हिन्दी", ["हिन्दी"]),
        ("不要苹果手机", "苹果", ["苹果"]),
        ("👩\u200d🚀", "👩", []),
    ],
)
def test_any_script(text: str, topic: str, expected: list[str]) -> None:
    assert found(text, topic) == expected


@given(st.text(max_size=30), st.text(max_size=10).filter(str.strip), st.text(max_size=30))
def test_a_topic_that_stands_by_itself_is_found(before: str, topic: str, after: str) -> None:
    text = f"{before} {topic} {after}"
    start = len(before) + 1 + len(topic) - len(topic.lstrip())
    marked = unicodedata.category(topic.lstrip()[0]).startswith("M")  # would be a mark on what stands before it
    spans = occurrences(text, topic)
    assert marked or any(a <= start < b for a, b in spans)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))


@pytest.mark.parametrize(
    ("query", "topic", "expected"),
    [
        ("Tesla owners' cars, not Tesla", "Tesla", (24, 29)),
        ("besides Tesla, what do Tesla owners drive?", "Tesla", (8, 13)),
        ("Tesla this, Tesla that", "Tesla", (12, 17)),
        ("dogs, but no American Bulldogs", "American Bulldog", (13, 30)),
        ("home bread by Bryers", "rye", None),
        ("as such", "a", None),
    ],
)
def test_the_excluded_occurrence(query: str, topic: str, expected: tuple[int, int] | None) -> None:
    assert excluded_place(query, topic) == expected
    [named] = named_topics(query, topic)
    assert (named.start, named.end) == (expected or (None, None))


def masked(query: str, *topics: str) -> list[str]:
    return [query[start:end] for start, end in places(query, named_topics(query, topics))]


def test_every_occurrence_is_masked() -> None:
    assert masked("Tesla owners' cars, not Tesla", "Tesla") == ["Tesla", "Tesla"]
    assert masked("Bryers bread, but no rye", "rye") == ["rye"]
    assert masked("Bryers bread", "rye") == []


def test_a_detected_place_counts_with_the_other_occurrences_of_its_words() -> None:
    query = "Vanity Fair's editors, but nothing about vanity fair"
    assert places(query, [Topic("vanity fair", 41, 52, 0.9)]) == [(0, 11), (41, 52)]


def test_a_topic_worded_differently_masks_the_words_in_common() -> None:
    assert masked("the movie Annie of 1982, what else?", "Annie (1982 film)") == ["Annie", "1982"]
    assert masked("American Bulldogs and other dogs", "American Bulldog") == ["American Bulldogs"]


def test_something_is_left_of_the_query() -> None:
    assert masked("electric cars", "electric cars by Tesla") == []
    assert masked("besides electric cars", "electric cars by Tesla") == []  # a cue alone asks for nothing
    assert masked("Tesla, but not Tesla", "Tesla") == ["Tesla"]  # its own place, and no more
    assert masked("Tesla, no electric cars", "Tesla", "cars that are electric") == ["Tesla"]


def test_places_are_apart_and_in_order() -> None:
    assert masked("Model Y by Tesla, not the Tesla Model Y", "Model Y", "Tesla Model Y") == ["Model Y", "Tesla Model Y"]
    topics = [Topic("b c", 2, 5, 1.0), Topic("a b", 0, 3, 1.0)]
    assert places("a b c and more words", topics) == [(0, 5)]


@given(
    st.text(alphabet="ab Z-'ß", max_size=25), st.lists(st.text(alphabet="ab Zß", min_size=1, max_size=6), max_size=4)
)
def test_a_query_keeps_a_word_or_all_but_its_own_places(query: str, named: list[str]) -> None:
    topics = [Topic(text, *(excluded_place(query, text) or (None, None)), 1.0) for text in named]
    spans = places(query, topics)
    own = {(topic.start, topic.end) for topic in topics if topic.start is not None}
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert all(any(a <= start and end <= b for a, b in spans) for start, end in own)
    left = has_content(" ".join(outside(query, spans)))
    assert left or "".join(outside(query, spans)) == "".join(outside(query, sorted(own)))
