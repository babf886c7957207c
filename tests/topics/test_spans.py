"""Topics from token probabilities: where runs end, and which words can be topics at all."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from excise.topics.spans import Token, read_topics


def topics(query: str, *marked: str) -> list[str]:
    tokens = [
        Token(*match.span(), 0.9 if match[0] in {word for name in marked for word in name.split()} else 0.1)
        for match in re.finditer(r"\w+|[^\w\s]", query)
    ]
    return [topic.text for topic in read_topics(query, tokens, 0.5, 0.3)]


def test_what_is_excluded_in_brackets_ends_with_them() -> None:
    query = "How do Shakespeare's plays (excluding Hamlet) compare to Marlowe's (excluding Doctor Faustus)?"
    assert topics(query, "Hamlet", "Marlowe", "Doctor Faustus", "excluding") == ["Hamlet", "Doctor Faustus"]
    assert topics("Kant (without the Critique) and Mill", "Critique ) and Mill") == ["Critique"]
    assert topics("films by Kubrick (not The Shining (1980)) and Hitchcock", "Shining 1980 Hitchcock") == [
        "Shining (1980)"
    ]


def test_a_cue_outside_the_brackets_still_counts() -> None:
    assert topics("dogs (not poodles), and no terriers", "poodles terriers") == ["poodles", "terriers"]
    assert topics("no remakes of Dune (not Lynch)", "remakes Lynch") == ["remakes", "Lynch"]


def test_brackets_that_exclude_nothing_change_nothing() -> None:
    assert topics("musicals, not Annie (1982)", "Annie", "1982") == ["Annie (1982)"]


def test_one_unmarked_word_does_not_split_a_topic() -> None:
    assert topics("not the American voice actress Carolyn Lawrence", "American", "actress Carolyn Lawrence") == [
        "American voice actress Carolyn Lawrence"
    ]
    assert topics('leave out the USS "Thach" (FFG-43)', "USS", "Thach", "FFG 43") == ['USS "Thach" (FFG-43)']
    assert topics('no films like "Romance" (1999)', "Romance", "1999") == ['"Romance" (1999)']
    assert topics("skip his Beau (poem)", "his Beau", "poem") == ["Beau (poem)"]
    assert topics('other songs than "Kim"', "songs", "Kim") == ["songs", "Kim"]


def test_what_separates_topics_keeps_them_apart() -> None:
    assert topics("wild cats -lion -tiger", "lion tiger") == ["lion", "tiger"]
    assert topics('big cats -"snow leopard" -jaguar', "snow leopard jaguar") == ["snow leopard", "jaguar"]
    assert topics('films not "Alien" "Dune"', "Alien Dune") == ["Alien", "Dune"]
    for separator in (" and ", " or ", ", ", " besides ", " nor "):
        assert topics(f"not Bolognini{separator}La Cava", "Bolognini La Cava") == ["Bolognini", "La Cava"]


def test_the_end_of_a_possessive_is_no_topic() -> None:
    for apostrophe in "'\u2019":
        query = f"no French Revolution; the Renaissance{apostrophe}s impact, and People{apostrophe}s Republic"
        assert topics(query, "French Revolution", "s", "Republic") == ["French Revolution", "Republic"]
    assert topics("painters, not O'Keeffe", "Keeffe") == ["Keeffe"]


def test_words_that_name_nothing_are_no_topics() -> None:
    assert topics("cars of any make, not of Tesla", "of", "Tesla") == ["Tesla"]
    assert topics("anything but this", "this") == ["this"]  # what fired is shown


def test_a_name_goes_on_over_words_that_are_less_likely_beside_a_likely_one() -> None:
    query = "no walks in Old Castle Park, please, and none of the Guild of Bakers and Millers"
    less_likely = {"Old", "of", "and", "please"}
    likely = {"Castle", "Park", "Guild", "Bakers", "Millers"}
    tokens = [
        Token(*match.span(), 0.9 if match[0] in likely else 0.4 if match[0] in less_likely else 0.1)
        for match in re.finditer(r"\w+|[^\w\s]", query)
    ]
    assert [topic.text for topic in read_topics(query, tokens, 0.5, 0.3)] == [
        "Old Castle Park",
        "Guild of Bakers and Millers",
    ]
    assert read_topics(query, tokens, 0.5, 0.5)[0].text == "Castle Park"


@given(st.text(max_size=60), st.lists(st.floats(0, 1), min_size=60, max_size=60))
def test_topics_stand_where_they_say(query: str, chances: list[float]) -> None:
    tokens = [Token(*match.span(), chance) for match, chance in zip(re.finditer(r"\S+", query), chances, strict=False)]
    for topic in read_topics(query, tokens, 0.5, 0.3):
        assert query[topic.start : topic.end] == topic.text
        assert topic.text.strip()


def test_something_is_wanted() -> None:
    assert topics("jaguar -car", "jaguar car") == ["car"]
    assert topics("jaguar not car", "jaguar car") == ["car"]
    assert topics("big jaguar -car", "jaguar car") == ["jaguar", "car"]  # something else is looked for
    assert topics("-lion -tiger", "lion tiger") == ["lion", "tiger"]  # nothing is, and each has its operator
    assert topics("neither cats nor dogs", "cats dogs") == ["cats", "dogs"]
    assert topics("jaguar", "jaguar") == ["jaguar"]
