"""From token vectors to what a rule reads: evidence, openings, residual relevance. Each product is made once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from excise.rules.decision import Floats
from excise.rules.signals import Signals
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import Pooling, best_matches, maxsim, pooled
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import best_window

OPENING_TOKENS = 16  # a title and the first words after it


def maxsim_of(query: Vectors, documents: EncodedDocuments) -> Floats:
    """Every document's MaxSim score for a query: that of its best window."""
    return best_window(maxsim(query, documents.windows), documents.offsets).astype(np.float64)


def evidence_of(topics: Sequence[Vectors], documents: EncodedDocuments, pooling: Pooling) -> Floats:
    """Every document's evidence for the topics: that of its best window."""
    return _documents(best_matches(np.concatenate(topics), documents.windows), topics, documents, pooling)


def signals_of(
    topics: Sequence[Vectors],
    relevance: Floats,
    documents: EncodedDocuments,
    pooling: Pooling,
    title_match: NDArray[np.bool_] | None = None,
) -> tuple[Signals, Floats]:
    """What the coverage rule reads, topic by topic where evidence is pooled so; and the evidence over all topics."""
    matches = best_matches(np.concatenate(topics), documents.windows)
    every = _documents(matches, topics, documents, pooling)
    own = [_documents(part, [topic], documents, "mean") for part, topic in _by_topic(matches, topics)]
    openings = _openings(topics, documents)
    if pooling == "per-topic":
        return Signals(np.stack(own), openings, relevance, title_match), every
    nearest = np.stack(own).argmax(axis=0)
    return Signals(every, openings[nearest, np.arange(len(nearest))], relevance, title_match), every


def _documents(
    matches: NDArray[np.float32], topics: Sequence[Vectors], documents: EncodedDocuments, pooling: Pooling
) -> Floats:
    by_window = pooled(matches, [len(topic) for topic in topics], pooling)
    return best_window(by_window, documents.offsets).astype(np.float64)


def _openings(topics: Sequence[Vectors], documents: EncodedDocuments) -> Floats:
    """A row for each topic: how well each document's first tokens match it."""
    first = Ragged.of([documents.windows[int(start)][:OPENING_TOKENS] for start in documents.offsets[:-1]])
    matches = best_matches(np.concatenate(topics), first)
    return np.stack([pooled(part, [len(topic)]).astype(np.float64) for part, topic in _by_topic(matches, topics)])


def _by_topic(matches: NDArray[np.float32], topics: Sequence[Vectors]) -> zip[tuple[NDArray[np.float32], Vectors]]:
    ends = np.cumsum([len(topic) for topic in topics])[:-1]
    return zip(np.split(matches, ends, axis=1), topics, strict=True)
