"""MaxSim, and the evidence for a topic, over token vectors of different lengths.

Documents are kept as one flat matrix of token vectors and the offsets at which each document starts, so nothing is
padded and a document's score cannot depend on its neighbours. The product runs in torch where torch is
installed, and in numpy otherwise, with equal results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.vectors.arithmetic import Backend, default_backend, widened
from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.ragged import Ragged, Vectors

Pooling = Literal["mean", "max", "top-m", "per-topic"]

_PRODUCT_TOKENS = 512  # query tokens multiplied with a chunk of document tokens at a time: 16 MB of products

POOLINGS: tuple[Pooling, ...] = ("mean", "max", "top-m", "per-topic")


def best_matches(query: Vectors, documents: Ragged, backend: Backend | None = None) -> NDArray[np.float32]:
    """Each query token's best match in each document: a matrix of documents by query tokens.

    Parameters
    ----------
    query
        token vectors of the query, one row a token.
    documents
        token vectors of the documents.
    backend
        "torch" or "numpy"; by default torch where it is installed.

    Examples
    --------
    >>> documents = Ragged.of([np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8]])])
    >>> best_matches(np.array([[1.0, 0.0]]), documents).round(2).tolist()
    [[1.0], [0.6000000238418579]]
    """
    _check_query(query, documents)
    matches = np.empty((len(documents), len(query)), dtype=np.float32)
    wanted = np.ascontiguousarray(query, dtype=np.float32)
    for texts, rows in documents.chunks():
        starts = documents.offsets[texts] - rows.start
        matches[texts] = _segment_maximum(_products(wanted, stored_rows(documents.vectors, rows), backend), starts)
    return matches


def _check_query(query: Vectors, documents: Ragged) -> None:
    if query.ndim != 2 or len(query) == 0:
        raise InvalidInput(f"a query needs at least one token vector, got shape {query.shape}.")
    if query.shape[1] != documents.vectors.shape[1]:
        raise InvalidInput(
            f"the query has {query.shape[1]} dimensions and the documents have {documents.vectors.shape[1]}: "
            "they come from different encoders."
        )


def stored_rows(vectors: Vectors, rows: slice) -> Vectors:
    """Some of the vectors, as they are stored."""
    return cast(Vectors, vectors.part(rows)) if isinstance(vectors, EightBitVectors) else vectors[rows]


def _products(query: Vectors, vectors: Vectors, backend: Backend | None) -> NDArray[np.float32]:
    """The similarity of each query token with each document token: a row for each query token."""
    if isinstance(vectors, EightBitVectors):  # scaled after multiplying: those are fewer numbers
        return _products(query, vectors.values, backend) * vectors.scales.astype(np.float32)
    rows = widened(vectors, backend)
    if (backend or default_backend()) == "numpy":
        return np.asarray(query @ rows.T)
    import torch

    return np.asarray((torch.from_numpy(query) @ torch.from_numpy(rows).T).numpy())


def _segment_maximum(similarity: NDArray[Any], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.asarray(np.maximum.reduceat(similarity, starts, axis=1).T, dtype=np.float32)


def maxsim(query: Vectors, documents: Ragged, backend: Backend | None = None) -> NDArray[np.float32]:
    """S(q, d): the sum, over the query's tokens, of each one's best match in the document.

    Examples
    --------
    >>> documents = Ragged.of([np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8]])])
    >>> maxsim(np.array([[1.0, 0.0], [0.0, 1.0]]), documents).round(2).tolist()
    [2.0, 1.399999976158142]
    """
    # Added up token by token in double precision, so that the sum does not depend on the shape of the batch.
    total = best_matches(query, documents, backend).sum(axis=1, dtype=np.float64)
    return np.asarray(total, dtype=np.float32)


def maxsim_many(queries: Sequence[Vectors], documents: Ragged, backend: Backend | None = None) -> NDArray[np.float32]:
    """S(q, d) of several queries in one pass over the documents: a matrix of queries by documents.

    The documents' vectors are read and widened once for all queries together. One query by itself gets the very bits of
    :func:`maxsim`; among others its products may be rounded differently in the last place.

    Examples
    --------
    >>> documents = Ragged.of([np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8]])])
    >>> maxsim_many([np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0]])], documents).round(2).tolist()
    [[2.0, 1.399999976158142], [1.0, 0.800000011920929]]
    """
    for query in queries:
        _check_query(query, documents)
    scores = np.empty((len(queries), len(documents)), dtype=np.float32)
    groups = [(group, _stacked(queries, group)) for group in _groups([len(query) for query in queries])]
    for texts, rows in documents.chunks():
        starts = documents.offsets[texts] - rows.start
        for group, stacked in groups:
            matches = _segment_maximum(_products(stacked, stored_rows(documents.vectors, rows), backend), starts)
            ends = np.cumsum([len(queries[number]) for number in group])
            for number, own in zip(group, np.split(matches, ends[:-1], axis=1), strict=True):
                scores[number, texts] = np.ascontiguousarray(own).sum(axis=1, dtype=np.float64)
    return scores


def _stacked(queries: Sequence[Vectors], group: range) -> Vectors:
    return np.ascontiguousarray(np.concatenate([queries[number] for number in group]), dtype=np.float32)


def _groups(lengths: Sequence[int]) -> list[range]:
    """Neighbouring queries of together about as many tokens as one product should have, for the memory it takes."""
    groups: list[range] = []
    size = 0
    for number, length in enumerate(lengths):
        if groups and size + length <= _PRODUCT_TOKENS:
            groups[-1] = range(groups[-1].start, number + 1)
            size += length
        else:
            groups.append(range(number, number + 1))
            size = length
    return groups


def evidence(
    topics: Sequence[Vectors],
    documents: Ragged,
    pooling: Pooling = "mean",
    m: int = 2,
    backend: Backend | None = None,
) -> NDArray[np.float32]:
    """How much each document covers the excluded topics: 1 where every topic token has a perfect match.

    Parameters
    ----------
    topics
        token vectors of each topic.
    documents
        token vectors of the candidates.
    pooling
        "mean" over all topic tokens (the paper), "max" (the strongest token alone), "top-m" (mean of the m
        strongest), or "per-topic" (the mean within each topic, then the best-covered topic).
    m
        how many tokens "top-m" averages.

    Examples
    --------
    >>> topics = [np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])]
    >>> documents = Ragged.of([np.array([[1.0, 0.0]])])
    >>> evidence(topics, documents).tolist(), evidence(topics, documents, "per-topic").tolist()
    ([0.5], [1.0])
    """
    if not topics:
        raise InvalidInput("there is no topic to look for.")
    return pooled(
        best_matches(np.concatenate(topics), documents, backend), [len(topic) for topic in topics], pooling, m
    )


def pooled(
    matches: NDArray[np.float32], lengths: Sequence[int], pooling: Pooling = "mean", m: int = 2
) -> NDArray[np.float32]:
    """Evidence from the topic tokens' best matches (a row for each document), as :func:`evidence` describes it.

    Examples
    --------
    >>> pooled(np.array([[1.0, 0.0, 0.5]], dtype=np.float32), lengths=[2, 1]).tolist()
    [0.5]
    >>> pooled(np.array([[1.0, 0.0, 0.9]], dtype=np.float32), lengths=[2, 1], pooling="per-topic").tolist()
    [0.8999999761581421]
    """
    if pooling not in POOLINGS:
        raise InvalidInput(f"unknown pooling {pooling!r}; choose one of {', '.join(POOLINGS)}.")
    if m < 1:
        raise InvalidInput(f"m must be at least 1, got {m}.")
    wide = matches.astype(np.float64)
    if pooling == "mean":
        found = wide.mean(axis=1)
    elif pooling == "max":
        found = wide.max(axis=1)
    elif pooling == "top-m":
        found = -np.sort(-wide, axis=1)[:, :m].mean(axis=1)
    else:
        parts = np.split(wide, np.cumsum(lengths)[:-1], axis=1)
        found = np.max([part.mean(axis=1) for part in parts], axis=0)
    return np.asarray(found, dtype=np.float32)
