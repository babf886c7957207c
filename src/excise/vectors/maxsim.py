"""MaxSim, and the evidence for a topic, over token vectors of different lengths.

Documents are kept as one flat matrix of token vectors and the offsets at which each document starts, so nothing is
padded and a document's score cannot depend on its neighbours. The product runs in torch where torch is
installed, and in numpy otherwise, with equal results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput

Vectors = NDArray[Any]
Backend = Literal["torch", "numpy"]
Pooling = Literal["mean", "max", "top-m", "per-topic"]

POOLINGS: tuple[Pooling, ...] = ("mean", "max", "top-m", "per-topic")
_CHUNK_TOKENS = 8_192  # token vectors widened and multiplied at a time: they stay in the processor's cache


@dataclass(frozen=True, eq=False)
class Ragged:
    """Token vectors of several texts: text i owns rows ``offsets[i]`` to ``offsets[i + 1]`` of ``vectors``.

    Examples
    --------
    >>> ragged = Ragged.of([np.eye(2), np.ones((1, 2))])
    >>> len(ragged), ragged[1].tolist()
    (2, [[1.0, 1.0]])
    """

    vectors: Vectors
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        if self.vectors.ndim != 2:
            raise InvalidInput(f"token vectors must be a matrix, got shape {self.vectors.shape}.")
        if self.offsets.ndim != 1 or self.offsets.size == 0 or self.offsets[0] != 0:
            raise InvalidInput("offsets must be a list that starts with 0.")
        if self.offsets[-1] != len(self.vectors):
            raise InvalidInput(f"offsets end at {self.offsets[-1]}, but there are {len(self.vectors)} token vectors.")
        if (np.diff(self.offsets) < 1).any():
            raise InvalidInput("every text needs at least one token vector.")

    @classmethod
    def of(cls, texts: Sequence[Vectors]) -> Ragged:
        """From one matrix of token vectors per text."""
        if not texts:
            raise InvalidInput("there are no texts to stack.")
        lengths = [len(text) for text in texts]
        return cls(np.concatenate(texts), np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Vectors:
        index = range(len(self))[index]
        return self.vectors[self.offsets[index] : self.offsets[index + 1]]

    def chunks(self, tokens: int = _CHUNK_TOKENS) -> Iterator[tuple[slice, slice]]:
        """Runs of whole texts of about ``tokens`` token vectors: (which texts, which rows)."""
        start = 0
        while start < len(self):
            reach = self.offsets[start] + tokens
            end = max(start + 1, int(np.searchsorted(self.offsets, reach, side="right")) - 1)
            yield slice(start, end), slice(int(self.offsets[start]), int(self.offsets[end]))
            start = end


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
    if query.ndim != 2 or len(query) == 0:
        raise InvalidInput(f"a query needs at least one token vector, got shape {query.shape}.")
    if query.shape[1] != documents.vectors.shape[1]:
        raise InvalidInput(
            f"the query has {query.shape[1]} dimensions and the documents have {documents.vectors.shape[1]}: "
            "they come from different encoders."
        )
    product = _torch_matches if (backend or _default_backend()) == "torch" else _numpy_matches
    matches = np.empty((len(documents), len(query)), dtype=np.float32)
    wanted = np.ascontiguousarray(query, dtype=np.float32)
    for texts, rows in documents.chunks():
        starts = documents.offsets[texts] - rows.start
        matches[texts] = product(wanted, documents.vectors[rows], starts)
    return matches


@cache
def _default_backend() -> Backend:
    return "torch" if find_spec("torch") else "numpy"


def _numpy_matches(query: Vectors, vectors: Vectors, starts: NDArray[np.int64]) -> NDArray[np.float32]:
    return _segment_maximum(query @ vectors.astype(np.float32).T, starts)


def _torch_matches(query: Vectors, vectors: Vectors, starts: NDArray[np.int64]) -> NDArray[np.float32]:
    import torch

    rows = torch.from_numpy(vectors if vectors.flags.writeable else vectors.copy())
    return _segment_maximum((torch.from_numpy(query) @ rows.float().T).numpy(), starts)


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
    if pooling not in POOLINGS:
        raise InvalidInput(f"unknown pooling {pooling!r}; choose one of {', '.join(POOLINGS)}.")
    if m < 1:
        raise InvalidInput(f"m must be at least 1, got {m}.")
    if not topics:
        raise InvalidInput("there is no topic to look for.")
    matches = best_matches(np.concatenate(topics), documents, backend).astype(np.float64)
    if pooling == "mean":
        pooled = matches.mean(axis=1)
    elif pooling == "max":
        pooled = matches.max(axis=1)
    elif pooling == "top-m":
        pooled = -np.sort(-matches, axis=1)[:, :m].mean(axis=1)
    else:
        ends = np.cumsum([len(topic) for topic in topics])[:-1]
        pooled = np.max([part.mean(axis=1) for part in np.split(matches, ends, axis=1)], axis=0)
    return np.asarray(pooled, dtype=np.float32)
