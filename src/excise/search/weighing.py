"""From token vectors to what the rules read: relevance and evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from excise.rules.decision import Floats
from excise.vectors.arithmetic import of_length_one, sums_of_runs, widened
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


def mean_similarities(queries: Sequence[Vectors], documents: EncodedDocuments) -> Floats:
    """How much each document as a whole is like each query: the cosine of their mean vectors, queries by documents.

    MaxSim asks where the single words of a query are met; this asks what all of a document is about.

    Examples
    --------
    >>> from excise.vectors.ragged import Ragged
    >>> documents = EncodedDocuments.of([Ragged.of([np.eye(2)]), Ragged.of([np.array([[1.0, 0.0]])])])
    >>> mean_similarities([np.array([[1.0, 0.0]])], documents).round(2).tolist()
    [[0.71, 1.0]]
    """
    firsts = documents.windows.offsets[documents.offsets[:-1]]
    totals = of_length_one(sums_of_runs(widened(documents.windows.vectors), firsts))
    means = of_length_one(np.stack([query.mean(axis=0) for query in queries]))
    return np.asarray(means @ totals.T, dtype=np.float64)


class ScoreShare(NamedTuple):
    """Scores on any scale, one for each document, and how much of a mixture they are, from 0 to 1."""

    scores: Floats
    share: float


def mixed(scores: Floats, *others: ScoreShare) -> Floats:
    """Documents' scores mixed with other ones, which are brought to the same mean and spread.

    Scores that are the same for all documents tell none apart, and leave their share to the others.

    Examples
    --------
    >>> mixed(np.array([2.0, 4.0]), ScoreShare(np.array([1.0, 0.0]), 0.25)).tolist()
    [2.5, 3.5]
    """
    telling = [other for other in others if other.share and other.scores.std() > 1e-9]
    mean, spread = scores.mean(), scores.std()
    rest = 1.0 - sum(other.share for other in telling)
    ranked = rest * scores
    for other in telling:
        ranked = ranked + other.share * (mean + (other.scores - other.scores.mean()) * (spread / other.scores.std()))
    return np.asarray(ranked)


def evidence_of(topics: Sequence[Vectors], documents: EncodedDocuments, pooling: Pooling) -> Floats:
    """Every document's evidence for the topics: that of its best window."""
    matches = best_matches(np.concatenate(topics), documents.windows)
    by_window = pooled(matches, [len(topic) for topic in topics], pooling)
    return best_window(by_window, documents.offsets).astype(np.float64)
