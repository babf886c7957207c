"""From each token's probability of naming an excluded topic to the topics: whole words, joined, trimmed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from excise.results import Topic
from excise.topics.words import CUE, CUE_WORDS, has_content, is_content, trim

_JOINING = re.compile("[\\s'\u2019\\-\u2013/&.:\"\u201c\u201d(]*")  # what may stand between two words of one topic
_BRIDGE = re.compile('[\\s"\u201c\u201d]+[\\w\'\u2019-]+[\\s"\u201c\u201d]+')  # or one word that was not marked
# But not a word that separates, an operator's hyphen ("lion -tiger"), or where one quotation ends and another starts.
_SEPARATING = re.compile(
    rf"\b(?:{CUE_WORDS}|and|but|or|plus|than|versus|vs)\b|\s[-\u2013][\"\u201c]?$|[\"\u201c\u201d].*[\"\u201c\u201d]",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"(?:s|t|d|m|ll|re|ve)\b")
# "(excluding Hamlet)": what is said in brackets ends with them.
_ASIDE = re.compile(rf"\(\s*(?:{CUE_WORDS})\s((?:[^()]|\([^()]*\))*)\)", re.IGNORECASE)


class Token(NamedTuple):
    """Where a token starts and ends in its query, and how likely it names an excluded topic."""

    start: int
    end: int
    chance: float


def read_topics(query: str, tokens: Iterable[Token], member: float, beside: float) -> tuple[Topic, ...]:
    """The topics that tokens name: runs of those more likely than ``member``, as whole words.

    Parameters
    ----------
    query
        the query.
    tokens
        its tokens, in order.
    member
        above this probability a token belongs to a topic.
    beside
        above this one it does where it stands in a run of such tokens with one that does: a name goes on to its end.

    Examples
    --------
    >>> query = "Bach (excluding the Passions) compared with Handel"
    >>> [topic.text for topic in read_topics(query, [Token(20, 28, 0.9), Token(44, 50, 0.8)], 0.5, 0.5)]
    ['Passions']
    >>> query, tokens = "no New Wales", [Token(0, 2, 0.1), Token(3, 6, 0.4), Token(7, 12, 0.9)]
    >>> [read_topics(query, tokens, 0.5, beside)[0].text for beside in (0.5, 0.3)]
    ['Wales', 'New Wales']
    """
    asides = [match.span(1) for match in _ASIDE.finditer(query)]
    marked: dict[tuple[int, int], float] = {}
    for start, end, chance in _belonging(tokens, member, beside):
        if end > start and _allowed(query, start, asides):
            word = _whole_word(query, start, end)
            marked[word] = max(chance, marked.get(word, 0.0))
    runs: list[list[Any]] = []
    for (start, end), chance in sorted(marked.items()):
        if runs and _joins(query, runs[-1][1], start, asides):
            runs[-1][1] = max(end, runs[-1][1])
            runs[-1][2] = max(chance, runs[-1][2])
        else:
            runs.append([start, end, chance])
    trimmed = [(*_closed(query, *trim(query, _past_suffix(query, start), end)), chance) for start, end, chance in runs]
    topics = [Topic(query[a:b], a, b, chance) for a, b, chance in trimmed if a < b]
    return _with_something_wanted(query, _distinct(topics))


def _with_something_wanted(query: str, topics: tuple[Topic, ...]) -> tuple[Topic, ...]:
    """Less the topic that a query begins with, where topics are all that it names.

    Whoever searches wants something: in "jaguar -car" nothing before the jaguar rules it out.

    Examples
    --------
    >>> jaguar, car = Topic("jaguar", 0, 6, 0.9), Topic("car", 8, 11, 0.9)
    >>> [topic.text for topic in _with_something_wanted("jaguar -car", (jaguar, car))]
    ['car']
    """
    spans = sorted((topic.start or 0, topic.end or 0) for topic in topics)
    if len(spans) < 2 or query[: spans[0][0]].strip(" \"'\u201c\u2018"):
        return topics
    ends, starts = [end for _, end in spans], [start for start, _ in spans[1:]]
    between = [query[end:start] for end, start in zip(ends, [*starts, len(query)], strict=True)]
    if has_content(" ".join(between)):
        return topics
    return tuple(topic for topic in topics if topic.start != spans[0][0])


def _belonging(tokens: Iterable[Token], member: float, beside: float) -> Iterator[Token]:
    """The tokens of every run above ``beside`` that has one above ``member``."""
    for near, run in groupby(tokens, key=lambda token: token.chance > beside):
        own = list(run)
        if near and max(token.chance for token in own) > member:
            yield from own


def _allowed(query: str, start: int, asides: list[tuple[int, int]]) -> bool:
    """Where the query excludes something in brackets, nothing outside is excluded that has no cue of its own."""
    if not asides or _aside_of(start, asides) is not None:
        return True
    after = max((end for _, end in asides if end <= start), default=0)
    return CUE.search(query, after, start) is not None


def _joins(query: str, end: int, start: int, asides: list[tuple[int, int]]) -> bool:
    """Whether two marked words belong to one topic: side by side, or around one word that separates nothing."""
    if start <= end:
        return True
    gap = query[end:start]
    if _aside_of(end - 1, asides) != _aside_of(start, asides) or _SEPARATING.search(gap):
        return False
    return bool(_JOINING.fullmatch(gap) or _BRIDGE.fullmatch(gap))


def _past_suffix(query: str, start: int) -> int:
    """Where a span starts less the end of a word before it: the "s" of a possessive names nothing."""
    suffix = _SUFFIX.match(query, start) if start and query[start - 1] in "'\u2019" else None
    return suffix.end() if suffix else start


def _closed(query: str, start: int, end: int) -> tuple[int, int]:
    """With the quotation mark and the bracket that a span lacks, where they stand right beside it."""
    if query.count('"', start, end) % 2 == 1:
        if query[end : end + 1] == '"':
            end += 1
        elif query[max(0, start - 1) : start] == '"':
            start -= 1
    if query[end : end + 1] == ")" and query.count("(", start, end) > query.count(")", start, end):
        end += 1
    return start, end


def _aside_of(place: int, asides: list[tuple[int, int]]) -> int | None:
    return next((i for i, (start, end) in enumerate(asides) if start <= place < end), None)


def _distinct(topics: list[Topic]) -> tuple[Topic, ...]:
    """Each topic once, less those whose words name nothing; where none is left, the likeliest."""
    unique: dict[str, Topic] = {}
    for topic in topics:
        unique.setdefault(topic.text.casefold(), topic)
    named = [topic for topic in unique.values() if _names(topic.text)]
    return tuple(named or sorted(unique.values(), key=lambda topic: -topic.score)[:1])


def _names(text: str) -> bool:
    return any(is_content(word) for word in text.split())


def _whole_word(query: str, start: int, end: int) -> tuple[int, int]:
    if not query[start:end].strip().isalnum():
        return start, end
    while start > 0 and query[start - 1].isalnum():
        start -= 1
    while end < len(query) and query[end].isalnum():
        end += 1
    return start, end
