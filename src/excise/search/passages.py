"""The passage of a document that names or touches a topic: what an explanation shows."""

from __future__ import annotations

import re
from collections.abc import Sequence

from excise.documents import Document
from excise.search.match_features import topic_pattern
from excise.text import unaccented

MOST_CHARACTERS = 300
_SENTENCE = re.compile(r"[^.!?\n]*(?:[.!?](?!\s|$)[^.!?\n]*)*[.!?\n]?\s*")


def topic_passage(topics: Sequence[str], document: Document) -> str | None:
    """The first sentence that names a topic, or else the one with most of a topic's words; None where none has any.

    Examples
    --------
    >>> car = Document("leaf", "It has two doors. Unlike a Tesla, it is small. It sells well.", "Nissan Leaf")
    >>> topic_passage(["Tesla"], car), topic_passage(["chess"], car)
    ('Unlike a Tesla, it is small.', None)
    """
    sentences = [part for part in _SENTENCE.findall(document.full_text) if part.strip()]
    patterns, plain = [topic_pattern(topic) for topic in topics], [unaccented(sentence) for sentence in sentences]
    for sentence, said in zip(sentences, plain, strict=True):
        if any(pattern.phrase.search(said) for pattern in patterns):
            return _short(sentence)
    counts = [
        max(sum(word.search(said) is not None for word in pattern.words) for pattern in patterns) for said in plain
    ]
    return _short(sentences[counts.index(max(counts))]) if counts and max(counts) > 0 else None


def _short(sentence: str) -> str:
    words = " ".join(sentence.split())
    return words if len(words) <= MOST_CHARACTERS else words[: MOST_CHARACTERS - 1].rstrip() + "…"
