"""What callers hand to a search, checked: how many hits, which topics, which candidates."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.errors import InvalidInput
from excise.results import Topic

MAX_K = 1_000
MAX_TOPICS = 20


def check_k(k: int) -> None:
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= MAX_K:
        raise InvalidInput(f"k must be a whole number from 1 to {MAX_K:,}, got {k!r}.")


def named_topics(query: str, exclude: Sequence[str] | str) -> tuple[Topic, ...]:
    """The topics that the user named, with their place in the query where it names them too."""
    if not isinstance(query, str) or not query.strip():
        raise InvalidInput("the query is empty.")
    named = [exclude] if isinstance(exclude, str) else list(exclude)
    if len(named) > MAX_TOPICS:
        raise InvalidInput(f"{len(named)} topics are excluded; at most {MAX_TOPICS} are taken.")
    topics = []
    for text in dict.fromkeys(named):
        if not isinstance(text, str) or not text.strip():
            raise InvalidInput(f"an excluded topic must be a non-empty text, got {text!r}.")
        if len(text.split()) > 100:
            raise InvalidInput(f"an excluded topic has {len(text.split())} words; at most 100 are taken.")
        text = text.strip()
        start = query.casefold().find(text.casefold())
        if start >= 0 and len(query.casefold()) == len(query):
            topics.append(Topic(text, start, start + len(text), score=1.0))
        else:
            topics.append(Topic(text, None, None, score=1.0))
    return tuple(topics)


def read_candidates(candidates: Iterable[Any]) -> tuple[list[Document], NDArray[np.float64] | None]:
    """Candidates best first, and their scores where every one has one."""
    given = list(candidates)
    if len(given) > MAX_K:
        raise InvalidInput(f"{len(given):,} candidates were given; at most {MAX_K:,} are taken.")
    documents = [Document.from_record(candidate) for candidate in given]
    if len({document.id for document in documents}) < len(documents):
        raise InvalidInput("two candidates have the same id.")
    scores = [candidate.get("score") if isinstance(candidate, Mapping) else None for candidate in given]
    if any(score is None for score in scores) or not scores:
        return documents, None
    try:
        values = np.array(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"a candidate's score must be a number: {error}.") from None
    if not np.isfinite(values).all():
        raise InvalidInput("a candidate's score must be finite.")
    order = np.argsort(-values, kind="stable")
    return [documents[i] for i in order], values[order]
