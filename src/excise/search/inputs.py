"""What callers hand to a search, checked: how many hits, which topics, which candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.errors import InvalidInput
from excise.results import Topic
from excise.text import checked_query, clean
from excise.topics.locate import excluded_place

MAX_K = 1_000
MAX_TOPICS = 20
MAX_TOPIC_WORDS = 100
MAX_TOPIC_CHARACTERS = 2_000


def check_k(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InvalidInput(f"k must be a whole number from 1 to {MAX_K:,}, got {k!r}.")


def named_topics(query: str, exclude: Sequence[str] | str) -> tuple[Topic, ...]:
    """The topics that the user named, each once, with the place where the query excludes them if it names them too.

    Examples
    --------
    >>> [topic] = named_topics("Tesla owners' cars, not Tesla", ["tesla"])
    >>> topic.start, topic.end
    (24, 29)
    >>> [topic] = named_topics("Bryers bread", "rye")
    >>> topic.start is None
    True
    """
    query = checked_query(query)
    return tuple(_topic(query, text) for text in checked_topics(exclude))


def checked_topics(exclude: Iterable[str] | str) -> tuple[str, ...]:
    """What a user excludes, each text once; what is no topic is refused.

    Examples
    --------
    >>> checked_topics("Tesla"), checked_topics(topic for topic in ["Tesla ", "Tesla"]), checked_topics([])
    (('Tesla',), ('Tesla',), ())
    """
    if not isinstance(exclude, Iterable):
        raise InvalidInput(f"exclude must be a text or a list of texts, got {exclude!r}.")
    named = [exclude] if isinstance(exclude, str) else list(exclude)
    if len(named) > MAX_TOPICS:
        raise InvalidInput(f"{len(named)} topics are excluded; at most {MAX_TOPICS} are taken.")
    return tuple(dict.fromkeys(map(_checked_topic, named)))


def _checked_topic(text: object) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(f"an excluded topic must be a non-empty text, got {text!r}.")
    for count, unit, most in (
        (len(text), "characters", MAX_TOPIC_CHARACTERS),
        (len(text.split()), "words", MAX_TOPIC_WORDS),
    ):
        if count > most:
            raise InvalidInput(f"an excluded topic has {count:,} {unit}; at most {most:,} are taken.")
    return clean(text.strip())


def _topic(query: str, text: str) -> Topic:
    start, end = excluded_place(query, text) or (None, None)
    return Topic(text, start, end, score=1.0)


def _less_metadata(candidate: Any) -> Any:
    """Candidates are not stored: whatever their metadata is like, it is none of our business."""
    return {**candidate, "metadata": None} if isinstance(candidate, Mapping) else candidate


def read_candidates(candidates: Iterable[Any]) -> tuple[list[Document], NDArray[np.float64] | None]:
    """Candidates best first, and their scores where every one has one."""
    if not isinstance(candidates, Iterable):
        raise InvalidInput(f"candidates must be a list of objects with 'id' and 'text', got {candidates!r}.")
    given = list(candidates)
    if len(given) > MAX_K:
        raise InvalidInput(f"{len(given):,} candidates were given; at most {MAX_K:,} are taken.")
    documents = [Document.from_record(_less_metadata(candidate)) for candidate in given]
    if len({document.id for document in documents}) < len(documents):
        raise InvalidInput("two candidates have the same id.")
    scores = [candidate.get("score") if isinstance(candidate, Mapping) else None for candidate in given]
    if any(score is None for score in scores) or not scores:
        return documents, None
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"a candidate's score must be a number: {error}.") from None
    if values.ndim != 1:
        raise InvalidInput(f"a candidate's score must be a number, got {scores[0]!r}.")
    if not np.isfinite(values).all():
        raise InvalidInput("a candidate's score must be finite.")
    order = np.argsort(-values, kind="stable")
    return [documents[i] for i in order], values[order]
