"""Centroids of token vectors, in two steps: a few cells, and in each cell its own centroids.

A flat set of sixteen thousand centroids would take sixteen thousand products to place one token vector; with cells it
takes a few hundred, and clustering them is as much cheaper. The clustering itself is scikit-learn's.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.vectors.eight_bit import EightBitVectors
from excise.vectors.ragged import Vectors

_MOST_CELLS = 128
_PER_CENTROID = 32  # token vectors that a centroid is fitted on
_PER_CELL = 256  # token vectors that a cell is fitted on
_ROUNDS = 8
_CHUNK = 32_768  # token vectors that are placed at a time
_SEED = 0


class Placed(NamedTuple):
    """For each token vector the number of its centroid, and how close to it they are: the mean cosine."""

    centroids: NDArray[np.int32]
    closeness: float


@dataclass(frozen=True, eq=False)
class Codebook:
    """Unit centroids; cell i owns ``centroids[starts[i]:starts[i + 1]]``.

    Attributes
    ----------
    cells
        the middle of each cell.
    centroids
        those of one cell next to each other.
    starts
        where each cell's centroids start, and the end.
    closeness
        the mean cosine of what it was trained on to its centroids. Vectors that are much further away are of another
        kind, and need a codebook of their own.
    tokens
        how many token vectors it was trained for.

    Examples
    --------
    >>> codebook = trained(np.repeat(np.eye(4, dtype=np.float32), 50, axis=0))
    >>> placed = codebook.nearest(np.eye(4, dtype=np.float32))
    >>> len(set(placed.centroids.tolist())), round(placed.closeness, 3)
    (4, 1.0)
    """

    cells: NDArray[np.float32]
    centroids: NDArray[np.float32]
    starts: NDArray[np.int64]
    closeness: float
    tokens: int

    def __len__(self) -> int:
        return len(self.centroids)

    @cached_property
    def key(self) -> str:
        """Tells it from all others; lists over equal codebooks can be joined."""
        return hashlib.blake2b(self.centroids.tobytes(), digest_size=8).hexdigest()

    @cached_property
    def in_bytes(self) -> EightBitVectors:
        """The centroids in eight bits, for rough products."""
        return EightBitVectors.of(self.centroids)

    def nearest(self, vectors: Vectors) -> Placed:
        """The centroid nearest to each token vector, looked for in the two nearest cells."""
        found = np.empty(len(vectors), dtype=np.int32)
        cosines = 0.0
        for start in range(0, len(vectors), _CHUNK):
            rows = slice(start, start + _CHUNK)
            found[rows], best = self._place(np.asarray(vectors[rows], dtype=np.float32))
            cosines += float(best.sum(dtype=np.float64))
        return Placed(found, cosines / max(1, len(vectors)))

    def _place(self, vectors: NDArray[np.float32]) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        found = np.zeros(len(vectors), dtype=np.int32)
        best = np.full(len(vectors), -np.inf, dtype=np.float32)
        by_cell = vectors @ self.cells.T
        for _ in range(min(2, len(self.cells))):
            chosen = by_cell.argmax(axis=1)
            by_cell[np.arange(len(vectors)), chosen] = -np.inf
            order = np.argsort(chosen, kind="stable")
            bounds = np.searchsorted(chosen[order], np.arange(len(self.cells) + 1))
            for cell in np.flatnonzero(np.diff(bounds)):
                rows = order[bounds[cell] : bounds[cell + 1]]
                first, last = self.starts[cell : cell + 2]
                products = vectors[rows] @ self.centroids[first:last].T
                top = products.argmax(axis=1)
                value = products[np.arange(len(rows)), top]
                better = value > best[rows]
                found[rows[better]] = (top[better] + first).astype(np.int32)
                best[rows[better]] = value[better]
        return found, best


def centroids_for(tokens: int) -> int:
    """How many centroids so many token vectors should have: twelve times their root, up to 16,384.

    Examples
    --------
    >>> centroids_for(10_000), centroids_for(2_000_000)
    (1225, 16384)
    """
    return _cells_for(tokens) ** 2


def sample_for(tokens: int) -> int:
    """How many of so many token vectors a codebook is trained on."""
    return min(tokens, _PER_CENTROID * centroids_for(tokens))


def _cells_for(tokens: int) -> int:
    return max(1, min(_MOST_CELLS, round(math.sqrt(12 * math.sqrt(tokens)))))


def trained(sample: Vectors, tokens: int | None = None) -> Codebook:
    """A codebook for ``tokens`` token vectors (by default as many as there are here) from a sample of them."""
    points = np.asarray(sample, dtype=np.float32)
    tokens = len(points) if tokens is None else tokens
    cells = _cells_for(tokens)
    few = np.random.default_rng(_SEED).permutation(len(points))[: cells * _PER_CELL]
    middles = _clusters(points[few], cells)
    owner = np.concatenate([(points[i : i + _CHUNK] @ middles.T).argmax(axis=1) for i in range(0, len(points), _CHUNK)])
    kept, fine = [], []
    for cell in range(len(middles)):
        own = points[owner == cell]
        if len(own):
            kept.append(cell)
            fine.append(_clusters(own, max(1, round(len(own) / len(points) * cells * cells))))
    starts = np.concatenate([[0], np.cumsum([len(one) for one in fine])]).astype(np.int64)
    # Half precision is what is written: a codebook is the same before and after.
    stored = np.concatenate(fine).astype(np.float16).astype(np.float32)
    untried = Codebook(middles[kept].astype(np.float16).astype(np.float32), stored, starts, 0.0, tokens)
    closeness = untried.nearest(points[:_CHUNK]).closeness
    return replace(untried, closeness=closeness)


def _clusters(points: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Unit vectors in the middle of clusters; fewer than asked for where there are not as many different points."""
    if count >= len(points):
        centres = np.unique(points, axis=0)
    elif count == 1:
        centres = points.mean(axis=0, keepdims=True)
    else:
        from sklearn.cluster import KMeans  # type: ignore[import-untyped]
        from sklearn.exceptions import ConvergenceWarning  # type: ignore[import-untyped]
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        # One thread: in a process that was forked, OpenMP would wait for ever for threads that stayed behind.
        with warnings.catch_warnings(), threadpool_limits(1):
            warnings.simplefilter("ignore", ConvergenceWarning)  # equal points: clusters that are equal do no harm
            fitted = KMeans(count, init="random", n_init=1, max_iter=_ROUNDS, random_state=_SEED).fit(points)
        centres = fitted.cluster_centers_
    lengths = np.linalg.norm(centres, axis=1, keepdims=True)
    return np.asarray(centres / np.where(lengths > 0, lengths, 1), dtype=np.float32)
