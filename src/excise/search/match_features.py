"""How a candidate matches a topic, as a row of numbers on an absolute scale: what the coverage readout reads.

Half of them come from token vectors, and find a topic under other names too; half come from the words themselves, and
tell the topic from its look-alikes (a name that sounds like another has its subwords, not its words). All but
``elsewhere`` judge a candidate by itself. Similarities are on the scale of the embedded encoder, whatever the backbone
(:mod:`excise.search.similarity_scale`).

===========  ==========================================================================================================
evidence     mean over the topic's tokens of each one's best match anywhere in the document
weakest      the least of those matches
local        the same mean within one short stretch of the document: the topic's words stand together there
places       how many of the document's tokens match the topic closely (a logarithm): how much of it is on the topic
opening      the match within the first tokens: title and first words
semantic     similarity of the topic's mean vector and that of the nearest passage
named        whether the document names the topic, word for word (plurals count)
earliness    how early it is named first: 1 at the start, 0 where it is not named
mentions     how often it is named (a logarithm)
words        the share of the topic's content words that the document has
title_words  the share that its title has
titled       whether the topic names the document's title: it is the topic's own page
elsewhere    whether the topic names another candidate's title, and not this one's: the topic has a page of its own
tokens       how many tokens the topic has (a logarithm): a long topic is matched less closely
===========  ==========================================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.rules.decision import Floats
from excise.rules.titles import titled_by
from excise.search.similarity_scale import REFERENCE, SimilarityScale
from excise.text import unaccented
from excise.topics.words import is_content
from excise.vectors.arithmetic import sums_of_runs, widened
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Vectors

VECTOR_FEATURES = ("evidence", "weakest", "local", "places", "opening", "semantic", "tokens")
WORD_FEATURES = ("named", "earliness", "mentions", "words", "title_words", "titled", "elsewhere")
FEATURES = VECTOR_FEATURES + WORD_FEATURES
OPENING_TOKENS = 24
_NEAR = 12  # tokens that may stand between a topic's words in one short stretch
_CLOSELY = 0.7  # similarity from which a document's token matches a topic closely
_PASSAGE = 40  # tokens whose mean vector stands for a passage
_WORD = re.compile(r"\w+(?:[+#]+|\b)")


def match_features(
    topics: Sequence[str],
    vectors: Sequence[Vectors],
    documents: Sequence[Document],
    encoded: EncodedDocuments,
    scale: SimilarityScale = REFERENCE,
) -> Floats:
    """The features of every topic and candidate: topics by candidates by :data:`FEATURES`.

    Parameters
    ----------
    topics, vectors
        the topics, and each one's token vectors.
    documents, encoded
        the candidates, and their token vectors.
    scale
        where similarities of these vectors lie.
    """
    tokens, titles = _Tokens.of(encoded), [document.title for document in documents]
    rows = []
    for text, topic in zip(topics, vectors, strict=True):
        words = [_by_words(text, document) for document in documents]
        rows.append(np.column_stack([_by_vectors(topic, tokens, scale), words, _by_title(text, titles)]))
    return np.stack(rows).astype(np.float64)


class _Tokens(NamedTuple):
    """All candidates' token vectors in one matrix, where each one's start, and where each token's candidate ends."""

    vectors: NDArray[np.float32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def of(cls, encoded: EncodedDocuments) -> _Tokens:
        starts = encoded.windows.offsets[encoded.offsets]
        ends = np.repeat(starts[1:], np.diff(starts))
        return cls(widened(encoded.windows.vectors), starts[:-1], ends)

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.diff(np.append(self.starts, len(self.vectors)))


def _by_vectors(topic: Vectors, tokens: _Tokens, scale: SimilarityScale) -> Floats:
    similarity = scale.tokens(topic.astype(np.float32) @ tokens.vectors.T)
    best = np.maximum.reduceat(similarity, tokens.starts, axis=1)
    whole = best.mean(axis=0)
    counts = np.minimum(tokens.lengths, OPENING_TOKENS)
    first = np.concatenate([np.arange(s, s + n) for s, n in zip(tokens.starts, counts, strict=True)])
    opening = np.maximum.reduceat(similarity[:, first], np.append(0, np.cumsum(counts)[:-1]), axis=1).mean(axis=0)
    local = _best_stretch(_stretches(similarity, len(topic) + _NEAR), len(topic) + _NEAR, tokens, whole)
    close = (similarity.max(axis=0) > _CLOSELY).astype(np.float32)
    places = np.log1p(np.add.reduceat(close, tokens.starts))
    length = np.full(len(whole), np.log(len(topic)))
    semantic = scale.passages(_semantic(topic, tokens))
    return np.column_stack([whole, best.min(axis=0), local, places, opening, semantic, length])


def _stretches(similarity: NDArray[np.float32], length: int) -> NDArray[np.float32]:
    """For each place, the mean over the topic's tokens of the best match within the next ``length`` tokens."""
    best, size = similarity, 1
    while size < length and best.shape[1] > 1:  # each pass doubles the stretch
        step = min(size, length - size, best.shape[1] - 1)
        best, size = np.maximum(best[:, : best.shape[1] - step], best[:, step:]), size + step
    return np.asarray(best.mean(axis=0), dtype=np.float32)


def _best_stretch(
    values: NDArray[np.float32], length: int, tokens: _Tokens, short: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The best stretch within each document; one that is shorter than a stretch has the value of the whole of it."""
    places = np.arange(len(tokens.vectors))
    inside = np.full(len(places), -1.0, dtype=np.float32)
    fits = places + length <= tokens.ends
    inside[fits] = values[places[fits]]
    return np.where(tokens.lengths >= length, np.maximum.reduceat(inside, tokens.starts), short)


def _semantic(topic: Vectors, tokens: _Tokens) -> NDArray[np.float32]:
    mean = topic.mean(axis=0)
    bounds = [np.arange(s, s + n, _PASSAGE) for s, n in zip(tokens.starts, tokens.lengths, strict=True)]
    passages = sums_of_runs(tokens.vectors, np.concatenate(bounds))
    norms = np.linalg.norm(passages, axis=1) * np.linalg.norm(mean)
    similarity = passages @ mean / np.maximum(norms, 1e-9)
    first = np.append(0, np.cumsum([len(own) for own in bounds])[:-1])
    return np.asarray(np.maximum.reduceat(similarity, first), dtype=np.float32)


class _Pattern(NamedTuple):
    """Expressions for a topic and for its words, and letters that a text of plain letters must have to match each."""

    phrase: re.Pattern[str]
    words: tuple[re.Pattern[str], ...]
    first_letters: str = ""
    letters: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def topic_pattern(topic: str) -> _Pattern:
    """Expressions that find a topic in a text without accents: the whole of it, and its content words. Plurals count.

    Examples
    --------
    >>> bool(topic_pattern("cable car").phrase.search("Two Cable-Cars run up"))
    True
    >>> bool(topic_pattern("rye").phrase.search("Bryers"))
    False
    """
    topic = unaccented(topic)
    words = _WORD.findall(topic)
    content = [word for word in words if is_content(word)] or words
    between = r"[\W_]{1,3}"
    phrase = between.join(map(_any_number, words)) or re.escape(topic.strip() or topic)
    return _Pattern(
        re.compile(phrase, re.IGNORECASE),
        tuple(re.compile(_any_number(word), re.IGNORECASE) for word in content),
        _letters(words[0]) if words else "",
        tuple(map(_letters, content)),
    )


def _letters(word: str) -> str:
    """What singular and plural of a word have in common; nothing where capitals are more than a matter of ASCII."""
    lowered = word.lower()
    ending = 3 if lowered.endswith("ies") else 1 if lowered.endswith(("y", "s")) else 0
    return lowered[: max(1, len(word) - ending)] if word.isascii() else ""


def _any_number(word: str) -> str:
    """A word in singular and plural, as an expression."""
    stem = re.escape(word)
    if len(word) > 4 and word.lower().endswith("ies"):
        stem = re.escape(word[:-3]) + "(?:y|ies)"
    elif len(word) > 3 and word.lower().endswith("y"):
        stem = re.escape(word[:-1]) + "(?:y|ies)"
    elif len(word) > 3 and word.lower().endswith("s") and not word.lower().endswith("ss"):
        stem = re.escape(word[:-1]) + "s?"
    elif word.isalpha() and len(word) > 2:
        stem += "(?:e?s)?"
    return rf"(?<!\w){stem}(?![\w#]|\+\+)"  # C is not named where C++ and C# are


def _by_words(topic: str, document: Document) -> list[float]:
    pattern, text, title = topic_pattern(topic), unaccented(document.full_text), unaccented(document.title)
    lowered = text.lower()
    places = []
    if _may_hold(text, lowered, pattern.first_letters):
        places = [match.start() for match in pattern.phrase.finditer(text)]
    return [
        float(bool(places)),
        1.0 - places[0] / len(text) if places else 0.0,
        float(np.log1p(len(places))),
        _found(pattern, text, lowered),
        _found(pattern, title, title.lower()),
    ]


def _by_title(topic: str, titles: Sequence[str]) -> Floats:
    own = np.array(titled_by(topic, titles), dtype=np.float64)
    return np.column_stack([own, (1.0 - own) * own.max()])


def _found(pattern: _Pattern, text: str, lowered: str) -> float:
    found = (
        _may_hold(text, lowered, letters) and word.search(text) is not None
        for word, letters in zip(pattern.words, pattern.letters, strict=True)
    )
    return sum(found) / max(1, len(pattern.words))


def _may_hold(text: str, lowered: str, letters: str) -> bool:
    """Whether an expression is worth looking for: most texts lack its letters, which is told much faster."""
    return letters in lowered or not text.isascii()
