"""Titles that a query names: what it asks for by name, and what its topics rule out by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from excise.text import unaccented
from excise.topics.locate import outside
from excise.topics.words import is_content

_BRACKETS = re.compile(r"\([^()]*\)\Z")
_WORD = re.compile(r"\w+")
_GAP = ""  # stands where a topic stood, and equals no word


def title_matches(
    query: str, places: Sequence[tuple[int, int]], topics: Sequence[str], titles: Sequence[str]
) -> list[bool]:
    """Which titles a query names outside of what it excludes.

    Parameters
    ----------
    query
        the query.
    places
        where it names what it excludes by its own words. The words in common with a topic that the query words
        differently are none of these: "the Toyota Avalon, without concept cars by Toyota" still asks for the Avalon.
    topics
        what it excludes. A title made of a topic's words is no match, wherever else the query uses them.
    titles
        the candidates' titles. One that several of them bear ("Definitions", "Chapter 2") is nobody's name.

    Examples
    --------
    >>> query = "Except for Björn Ulvaeus, who else is in the band ABBA?"
    >>> title_matches(query, [(11, 24)], ["Björn Ulvaeus"], ["ABBA", "Abba (island)", "Björn Ulvaeus", "ABBA Gold", ""])
    [True, True, False, False, False]
    """
    said = [word for part in outside(query, places) for word in (*_words(part), _GAP)]
    excluded = [set(_words(topic)) for topic in topics]
    names = [_words(_called(title)) for title in titles]
    borne = Counter(tuple(_words(title)) for title in titles)
    return [
        any(map(is_content, name))
        and _holds(said, name)
        and borne[tuple(_words(title))] == 1
        and not any(excluding.issuperset(name) for excluding in excluded)
        for name, title in zip(names, titles, strict=True)
    ]


def titled_by(topic: str, titles: Sequence[str]) -> list[bool]:
    """Which titles a topic names: what bears one is a page of the topic's own.

    Examples
    --------
    >>> titled_by("the songs of ABBA", ["ABBA", "Abba (island)", "ABBA Gold", "Gold", ""])
    [True, True, False, False, False]
    >>> titled_by("Frozen (2013 film)", ["Frozen (2013 film)", "Frozen (soundtrack)"])
    [True, False]
    """
    words, told_apart = _words(topic), "(" in topic
    names = (_words(title if told_apart else _called(title)) for title in titles)
    return [any(map(is_content, name)) and _holds(words, name) for name in names]


def _words(text: str) -> list[str]:
    """Words as they compare: no accents, no capitals, no possessive."""
    return _WORD.findall(re.sub("['\u2019]s?\\b", "", unaccented(text).casefold()))


def _called(title: str) -> str:
    """A title without the brackets at its end: "Frozen (2013 film)" says which one is meant, not how it is called."""
    return _BRACKETS.sub("", title.rstrip())


def _holds(words: list[str], name: list[str]) -> bool:
    return any(words[start : start + len(name)] == name for start in range(len(words) - len(name) + 1))
