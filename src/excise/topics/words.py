"""Which words carry a topic, which exclude one, and which only hold a sentence together."""

from __future__ import annotations

import re
from collections.abc import Sequence

STOP_WORDS = frozenset(  # one block of words reads better than a hundred and fifty quoted ones
    """
    a about all also am an and any anything are as at be been being both but by can could did do does done either else
    especially every for from had has have he her here hers him his how i if in into is it its just kind kinds like me
    more most much my no nor not of off on one ones only or other our ours out over own please related she should so
    some something such than that the their theirs them then there these they this those to too under up us very was we
    were what when where which while who whom whose why will with would you your yours
    """.split()  # noqa: SIM905
)

CUE_WORDS = (
    "apart from|aside from|besides|but not|except for|except|exclud\\w+|minus|neither|never|no|nor|not|other than"
)
CUE_WORDS += "|without"
CUE = re.compile(rf"\b(?:{CUE_WORDS})\b", re.IGNORECASE)  # says that what follows is excluded
_WORD = re.compile(r"\w+")
# "details about Tesla", "his involvement with Tesla": words that introduce a topic and name none.
_INTRODUCING = re.compile(
    r"(?:\w+\s+){0,2}?(?:anything|aspects?|associations?|collaborations?|connections?|contributions?|details?"
    r"|discussions?|facts?|influences?|info|information|involvement|links?|mentions?|parts?|references?|relationships?"
    r"|roles?|stories|stuff|things?|work)"
    r"\s+(?:about|as|between|concerning|for|from|in|into|of|on|regarding|related to|that|to|with)\s+(?=\w)",
    re.IGNORECASE,
)


def is_content(token: str) -> bool:
    """Whether a piece of a query can name a topic.

    Examples
    --------
    >>> is_content("Tesla"), is_content("the"), is_content(","), is_content("##")
    (True, False, False, False)
    """
    return any(character.isalnum() for character in token) and token.strip().casefold() not in STOP_WORDS


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Narrow a span: no stop words, white space or punctuation at its edges, except closing brackets it opened.

    Words that only introduce the topic go too.

    Examples
    --------
    >>> query = "anything but the second-hand market, please"
    >>> start, end = trim(query, 9, 36)
    >>> query[start:end]
    'second-hand market'
    >>> query = "not his involvement with the Beach Boys"
    >>> start, end = trim(query, 4, len(query))
    >>> query[start:end]
    'Beach Boys'
    """
    if introduction := _INTRODUCING.match(text, start, end):
        start = introduction.end()
    while start < end:
        piece = text[start:end]
        first = piece.split(maxsplit=1)[0] if piece.strip() else ""
        if not piece[0].isalnum() and not (piece[0] in "$€£#.@(" and len(piece) > 1 and piece[1].isalnum()):
            start += 1
        elif _bare(first) in STOP_WORDS and len(first) < len(piece):
            start += len(first)
        elif piece[-1] == ")" and "(" in piece:
            break
        elif not piece[-1].isalnum() and piece[-1] not in "+#%°":
            end -= 1
        elif _bare(last := piece.split()[-1]) in STOP_WORDS and len(last) < len(piece):
            end -= len(last)
        else:
            break
    return start, end


def _bare(word: str) -> str:
    return word.casefold().strip(".,;:!?\"'")


def has_content(text: str) -> bool:
    """Whether anything is said in a text: a content word that is no cue.

    Examples
    --------
    >>> has_content("except for the cars"), has_content("except for the, and not")
    (True, False)
    """
    return any(is_content(word) for word in _WORD.findall(CUE.sub(" ", text)))


def words_in_common(query: str, topics: Sequence[str]) -> list[tuple[int, int]]:
    """Where a query uses the content words of topics that it words differently.

    Examples
    --------
    >>> query = "apart from the 1982 movie Annie, any other?"
    >>> [query[start:end] for start, end in words_in_common(query, ["Annie (1982 film)"])]
    ['1982', 'Annie']
    """
    named = {word.casefold() for topic in topics for word in _WORD.findall(topic) if is_content(word)}
    return [word.span() for word in _WORD.finditer(query) if word[0].casefold() in named]
