"""Which pages a query asks for by name."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

import excise
from excise.rules.titles import title_matches, titled_by
from excise.search.inputs import named_topics
from excise.topics.locate import named_places


def asked(query: str, topic: str, *titles: str) -> list[bool]:
    return title_matches(query, named_places(query, named_topics(query, topic)), [topic], titles)


def test_a_title_is_named_whole_and_outside_of_the_topic() -> None:
    query = "the history of the Toyota Avalon, without Toyota concept vehicles"
    titles = (
        "Toyota Avalon",
        "TOYOTA AVALON (third generation)",
        "Toyota",
        "Toyota concept vehicles",
        "Avalon history",
    )
    assert asked(query, "Toyota concept vehicles", *titles) == [True, True, False, False, False]


def test_a_title_that_several_candidates_bear_names_none_of_them() -> None:
    query = "opening hours of the museum, but not on holidays"
    assert asked(query, "holidays", "Opening hours", "Prices") == [True, False]
    assert asked(query, "holidays", "Opening hours", "Prices", "OPENING hours") == [False] * 3
    assert asked(query, "holidays", "Museum", "Museum (1969 film)") == [True, True]  # brackets tell them apart


def test_words_compare_without_accents_capitals_and_possessives() -> None:
    query = "Vladimír Kashpur's roles other than Baba Yaga"
    assert asked(query, "Baba Yaga", "Vladimir Kashpur", "Baba Yaga") == [True, False]


def test_a_topic_is_not_asked_for_though_the_query_names_it_twice() -> None:
    assert asked("besides Turnip cake, what is Turnip cake made with?", "Turnip cake", "Turnip cake") == [False]


def test_a_longer_title_is_not_asked_for_where_the_topic_is_repeated_in_it() -> None:
    query = "besides Phil Ivey, the Ivey League of the player Phil Ivey"
    assert asked(query, "Phil Ivey", "Ivey League", "The Player Phil Ivey") == [True, False]


def test_a_title_may_share_words_with_a_topic_that_is_worded_differently() -> None:
    query = "the history of the Toyota Avalon, without concept vehicles by Toyota"
    assert asked(query, "Toyota concept vehicles, 1990-99", "Toyota Avalon", "Toyota") == [True, False]


def test_a_title_of_nothing_is_never_asked_for() -> None:
    assert asked("is it the one, not Tesla", "Tesla", "", "It", "the", "(film)", "?!") == [False] * 5


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=5))
def test_every_title_gets_an_answer(query: str, titles: list[str]) -> None:
    assert len(title_matches(query, [(0, 3), (2, 9)], ["x"], titles)) == len(titles)


def test_a_page_that_the_query_names_survives_the_operator() -> None:
    texts = {
        "Lake Orta": "Lake Orta lies west of Lake Maggiore, in Piedmont. Boats, a small island, villas.",
        "Lake Maggiore": "Lake Maggiore is a large lake on the south side of the Alps.",
        "Ferries": "Ferries on Lake Maggiore call at Stresa and at the islands.",
        "Villas": "Villas with gardens and boats in Piedmont, on small lakes.",
        "Boats": "Boats for a day on a lake in the north of Italy, and their price.",
        "Walks": "Walks around small lakes and villages in Piedmont.",
    }
    documents = [{"id": title, "title": title, "text": text} for title, text in texts.items()]
    operator = excise.load()
    operator.index(documents)
    result = operator.search("boats and villas on Lake Orta", exclude=["Lake Maggiore"])
    assert "Lake Maggiore" in [one.id for one in result.removed]
    assert "Lake Orta" in [one.id for one in result.hits]
    assert result.explanation is not None
    assert {one.id for one in result.explanation.candidates if one.asked} == {"Lake Orta", "Boats", "Villas"}


def test_a_topic_rules_out_the_page_whose_title_it_names() -> None:
    titles = ["Heinz Fischer", "Heinz", "Political career", "Fischer (surname)", ""]
    assert titled_by("Heinz Fischer's political career", titles) == [True, True, True, True, False]
    assert titled_by("the actor Heinz", ["Heinz Fischer", "The actor", "The"]) == [False, True, False]
