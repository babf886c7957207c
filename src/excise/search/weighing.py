"""From token vectors to what the rules read: relevance and evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excise.rules.decision import Floats
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import Pooling, best_matches, maxsim, pooled
from excise.vectors.ragged import Vectors
from excise.vectors.windows import best_window


def maxsim_of(query: Vectors, documents: EncodedDocuments) -> Floats:
    """Every document's MaxSim score for a query: that of its best window."""
    return best_window(maxsim(query, documents.windows), documents.offsets).astype(np.float64)


def telling_maxsims_of(queries: Sequence[Vectors], documents: EncodedDocuments) -> Floats:
    """MaxSim of several queries, each token counting by how much it tells the documents apart: queries by documents.

    A token that all candidates match alike ("please", "I need", the subject that they share) says nothing about which
    of them is wanted. So each one's match is weighted by its standard deviation over the documents; the weights of a
    query are 1 in the mean, so that scores keep their scale.

    Examples
    --------
    >>> from excise.vectors.ragged import Ragged
    >>> documents = EncodedDocuments.of([Ragged.of([np.eye(2)]), Ragged.of([np.array([[1.0, 0.0]])])])
    >>> telling_maxsims_of([np.eye(2)], documents).round(2).tolist()
    [[2.0, 0.0]]
    """
    matches = best_matches(np.concatenate(queries), documents.windows).astype(np.float64)
    firsts = np.cumsum([len(query) for query in queries])[:-1]
    return np.stack([_telling(own, documents) for own in np.split(matches, firsts, axis=1)])


def _telling(matches: Floats, documents: EncodedDocuments) -> Floats:
    """Each document's score from the best matches of a query's tokens in its windows."""
    spread = np.maximum.reduceat(matches, documents.offsets[:-1], axis=0).std(axis=0)
    weights = spread / spread.mean() if spread.mean() > 1e-9 else np.ones_like(spread)
    return best_window(matches @ weights, documents.offsets).astype(np.float64)


def with_words(scores: Floats, words: Floats, share: float) -> Floats:
    """Documents' scores by vectors, mixed with those by words, which are brought to the same scale.

    Parameters
    ----------
    scores, words
        each document's score by vectors, and for the words as such.
    share
        how much of the mixture is the words', from 0 to 1.

    Examples
    --------
    >>> with_words(np.array([2.0, 4.0]), np.array([1.0, 0.0]), 0.25).tolist()
    [2.5, 3.5]
    """
    if words.std() < 1e-9:  # all candidates have the same words
        return scores
    scaled = scores.mean() + (words - words.mean()) * (scores.std() / words.std())
    return np.asarray((1 - share) * scores + share * scaled)


def evidence_of(topics: Sequence[Vectors], documents: EncodedDocuments, pooling: Pooling) -> Floats:
    """Every document's evidence for the topics: that of its best window."""
    matches = best_matches(np.concatenate(topics), documents.windows)
    by_window = pooled(matches, [len(topic) for topic in topics], pooling)
    return best_window(by_window, documents.offsets).astype(np.float64)
