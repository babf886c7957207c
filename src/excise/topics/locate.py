"""Where a text names topics: whole words, in any case, every occurrence."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from excise.results import Topic
from excise.topics.words import CUE, has_content, is_content, words_in_common

Span = tuple[int, int]

# One sign for what keyboards, word processors and web pages write in several ways; and the one capital whose small
# letter would be two characters.
_ALIKE = dict.fromkeys(map(ord, "\u2018\u2019\u02bc"), "'")
_ALIKE |= dict.fromkeys(map(ord, "\u201c\u201d\u201e"), '"')
_ALIKE |= dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014"), "-")
_ALIKE |= {ord("\u0130"): "i"}
# Scripts that put no space between words: there, a word may start or end after any letter.
_SPACELESS = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_JOINING = "_\u200c\u200d"
_OWN_TAIL = re.compile(r"\+\+|[+#](?!\w)")  # "C++", "C#" and "Google+" are words of their own, not "C" and "Google"
_OWN_HEAD = re.compile(r"(?:\A|\s)\.\Z")  # and so is ".NET"


class _Folded(NamedTuple):
    """A text as it compares, and which characters of the original each of its characters stands for."""

    text: str
    starts: list[int]
    ends: list[int]


def occurrences(text: str, topic: str) -> list[Span]:
    """Every place where a text names a topic as whole words, however either writes capitals and white space.

    Parameters
    ----------
    text
        a query, or any other text.
    topic
        what is looked for. It may hold white space and punctuation.

    Examples
    --------
    >>> occurrences("Tesla owners' cars, not TESLA's", "Tesla")
    [(0, 5), (24, 29)]
    >>> occurrences("Bryers bread", "rye"), occurrences("C++ and C", "c"), occurrences("die STRASSE", "Straße")
    ([], [(8, 9)], [(4, 11)])
    """
    sought = _folded(topic.strip()).text
    if not sought:
        return []
    said = _folded(text)
    found: list[Span] = []
    at = said.text.find(sought)
    while at >= 0:
        end = at + len(sought)
        span = said.starts[at], said.ends[end - 1]
        whole = _starts_anew(said, at) and _starts_anew(said, end) and _starts_word(text, span[0])
        if whole and _ends_word(text, span[1]):
            found.append(span)
            at = said.text.find(sought, end)
        else:
            at = said.text.find(sought, at + 1)
    return found


def excluded_place(query: str, topic: str) -> Span | None:
    """Which occurrence of a topic in a query is the excluded one; None where the query does not name it.

    The last one that a cue precedes ("not", "without", "besides"), or the last of all.

    Examples
    --------
    >>> excluded_place("Tesla owners' cars, not Tesla", "Tesla")
    (24, 29)
    >>> excluded_place("besides turnip cake, what is turnip cake made with?", "turnip cake")
    (8, 19)
    """
    found = _named(query, topic)
    before = [0, *(end for _, end in found)]
    cued = [span for span, past in zip(found, before, strict=False) if CUE.search(query, past, span[0])]
    return (cued or found)[-1] if found else None


def named_places(query: str, topics: Sequence[Topic]) -> list[Span]:
    """Every place where a query names its excluded topics by their own words, in order and apart from each other.

    These are the topics' own places and every other occurrence of them (or of their plural where they have none).
    Where that would leave no content word of the query, only the topics' own places count.

    Parameters
    ----------
    query
        the query.
    topics
        what it excludes, each with its own place where one is known.

    Examples
    --------
    >>> query = "Tesla owners' cars, not Tesla"
    >>> named_places(query, [Topic("Tesla", 24, 29, 1.0)])
    [(0, 5), (24, 29)]
    """
    own = [(topic.start, topic.end) for topic in topics if topic.start is not None and topic.end is not None]
    everywhere = own + [span for topic in topics for span in _named(query, topic.text)]
    return _apart(everywhere if _leaves_content(query, everywhere) else own)


def places(query: str, topics: Sequence[Topic]) -> list[Span]:
    """Every place where a query speaks of its excluded topics: what is left out of the residual query.

    These are its :func:`named_places`, and the words in common with topics that it words differently, unless they
    would leave no content word of it.

    Examples
    --------
    >>> query = "apart from the 1982 movie Annie, any other?"
    >>> [query[start:end] for start, end in places(query, [Topic("Annie (1982 film)", None, None, 1.0)])]
    ['1982', 'Annie']
    >>> places("electric cars", [Topic("electric cars by Tesla", None, None, 1.0)])
    []
    """
    named = named_places(query, topics)
    differently = [topic.text for topic in topics if topic.start is None and not _named(query, topic.text)]
    spoken = named + words_in_common(query, differently)
    return _apart(spoken) if _leaves_content(query, spoken) else named


def outside(text: str, spans: Sequence[Span]) -> list[str]:
    """A text in parts, less some places in it.

    Examples
    --------
    >>> outside("cars, not Tesla, please", [(10, 15)])
    ['cars, not ', ', please']
    """
    parts, at = [], 0
    for start, end in sorted(spans):
        parts.append(text[at : max(at, start)])
        at = max(at, end)
    return [*parts, text[at:]]


def _named(query: str, topic: str) -> list[Span]:
    """Where a query names a topic, or where it never does, its plural: "no American Bulldogs"."""
    plural = topic.rstrip() + "s"
    return occurrences(query, topic) or (occurrences(query, plural) if is_content(plural) else [])


def _leaves_content(query: str, spans: Sequence[Span]) -> bool:
    return has_content(" ".join(outside(query, spans)))


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Spans in order, those that overlap made one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _folded(text: str) -> _Folded:
    """Case, white space and how a letter is composed made alike, one character at a time: offsets must not shift."""
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for at, character in enumerate(text):
        if character.isspace() and folded and folded[-1] == " ":
            ends[-1] = at + 1
            continue
        alike = " " if character.isspace() else unicodedata.normalize("NFD", character.translate(_ALIKE).casefold())
        folded += alike
        starts += [at] * len(alike)
        ends += [at + 1] * len(alike)
    return _Folded("".join(folded), starts, ends)


def _starts_anew(folded: _Folded, at: int) -> bool:
    """Whether a character of the original starts here: "ß" is two letters when folded, and no word ends between."""
    return at in (0, len(folded.text)) or folded.starts[at] != folded.starts[at - 1]


def _starts_word(text: str, at: int) -> bool:
    if at == 0:
        return True
    if _is_mark(text[at]) or (text[at].isalnum() and _OWN_HEAD.search(text, max(0, at - 2), at)):
        return False
    return not _in_word(text[at - 1]) or _is_spaceless(text, at)


def _ends_word(text: str, at: int) -> bool:
    if at == len(text):
        return True
    if _is_mark(text[at]) or _OWN_TAIL.match(text, at):
        return False
    return not _in_word(text[at]) or _is_spaceless(text, at)


def _is_spaceless(text: str, at: int) -> bool:
    """Whether a word may end between these two letters for all that can be told."""
    return bool(_SPACELESS.match(text, at - 1) or _SPACELESS.match(text, at))


def _in_word(character: str) -> bool:
    return character.isalnum() or character in _JOINING or _is_mark(character)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character).startswith("M")
