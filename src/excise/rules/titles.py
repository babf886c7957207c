"""Titles that a query names: what it asks for by name, and what its topics rule out by name."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from excise.topics.locate import outside
from excise.topics.words import is_content

_BRACKETS = re.compile(r"\s*\([^()]*\)\s*$")  # "Frozen (2013 film)": which one is meant, not how it is called
_WORD = re.compile(r"\w+")
_GAP = ""  # stands where a topic stood, and equals no word
_MISTYPED = 5  # letters from which a word may be mistyped: shorter ones are often other words


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
        the candidates' titles.

    Examples
    --------
    >>> query = "Except for Björn Ulvaeus, who else is in the band ABBA?"
    >>> title_matches(query, [(11, 24)], ["Björn Ulvaeus"], ["ABBA", "Abba (island)", "Björn Ulvaeus", "ABBA Gold", ""])
    [True, True, False, False, False]
    """
    said = [word for part in outside(query, places) for word in (*_words(part), _GAP)]
    excluded = [set(_words(topic)) for topic in topics]
    names = (_words(_BRACKETS.sub("", title)) for title in titles)
    return [
        any(map(is_content, name))
        and _within(name, said)
        and not any(excluding.issuperset(name) for excluding in excluded)
        for name in names
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
    names = (_words(title if told_apart else _BRACKETS.sub("", title)) for title in titles)
    return [any(map(is_content, name)) and _holds(words, name) for name in names]


def _words(text: str) -> list[str]:
    """Words as they compare: no accents, no capitals, no possessive."""
    plain = text
    if not text.isascii():
        plain = "".join(mark for mark in unicodedata.normalize("NFKD", text) if not unicodedata.combining(mark))
    return _WORD.findall(re.sub("['\u2019]s?\\b", "", plain.casefold()))


def _holds(words: list[str], name: list[str]) -> bool:
    return any(words[start : start + len(name)] == name for start in range(len(words) - len(name) + 1))


def _within(name: list[str], words: list[str]) -> bool:
    """Whether a run of words is the name. One word of a longer name may be mistyped."""
    if sum(word not in words for word in name) > (len(name) > 1):  # most titles, told at once
        return False
    for start in range(len(words) - len(name) + 1):
        others = [pair for pair in zip(name, words[start : start + len(name)], strict=True) if pair[0] != pair[1]]
        if not others or (len(others) == 1 < len(name) and _one_letter_apart(*others[0])):
            return True
    return False


def _one_letter_apart(word: str, other: str) -> bool:
    """Whether two longer words differ by one letter: another, one more, or one less.

    Examples
    --------
    >>> _one_letter_apart("edmond", "edmund"), _one_letter_apart("edmond", "edmonds")
    (True, True)
    >>> _one_letter_apart("star", "stay")
    False
    """
    short, long = sorted((word, other), key=len)
    if len(short) < _MISTYPED or len(long) - len(short) > 1 or not (short + long).isalpha():
        return False
    same = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    return short[same:] == long[same + 1 :] or short[same + 1 :] == long[same + 1 :]
