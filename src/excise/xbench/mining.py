"""Confusable documents: for each anchor, the nearest documents that are not nearly the same one.

Documents are compared by the mean of their token vectors. A negative lies in a band of similarity: above its floor it
is about the same thing, above its ceiling it is nearly the same text. The product is computed in blocks of anchors, and
only what lies in the band is looked at, so that 50,000 documents take seconds and little memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.xbench.records import MinedPair

_BLOCK = 512  # anchors compared at a time: 100 MB of similarities at 50,000 documents
_SAMPLE = 1_000  # anchors, and documents, that quantiles are estimated on
_CLOSEST = 32  # candidates of an anchor that are weighed against each other
MAX_NEGATIVES = 2

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Band:
    """Where the similarity of a confusable negative lies.

    Parameters
    ----------
    low, high
        edges as cosine similarities, or as quantiles of the similarities in the corpus.
    absolute
        whether the edges are similarities.
    loosen
        how much similarity the lower edge is moved down, for mixed corpora whose documents have few neighbours.

    Examples
    --------
    >>> Band(0.9, 0.5)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: a band runs upwards within -1 and 1 (quantiles: 0 and 1), got 0.9 to 0.5.
    """

    low: float = 0.99
    high: float = 0.9999
    absolute: bool = False
    loosen: float = 0.0

    def __post_init__(self) -> None:
        if not (-1.0 if self.absolute else 0.0) <= self.low < self.high <= 1.0:
            raise InvalidInput(
                f"a band runs upwards within -1 and 1 (quantiles: 0 and 1), got {self.low:g} to {self.high:g}."
            )
        if not 0.0 <= self.loosen <= 2.0:
            raise InvalidInput(f"a band is loosened by 0 to 2, got {self.loosen:g}.")

    def edges(self, means: Matrix, seed: int = 0) -> tuple[float, float]:
        """The band's edges as similarities in this corpus."""
        low, high = self.low, self.high
        if not self.absolute:
            random = np.random.default_rng(seed)
            some = random.permutation(len(means))[:_SAMPLE]
            others = random.permutation(len(means))[: 10 * _SAMPLE]
            similarities = (means[some] @ means[others].T)[some[:, None] != others[None, :]]
            low, high = (float(edge) for edge in np.quantile(similarities, [low, high]))
        return low - self.loosen, high


@dataclass(frozen=True)
class MiningSettings:
    """What is mined, and from where; see :func:`mine`. Paths are whole, so that a run can be gone on with anywhere.

    ``alike`` is the Jaccard similarity from which two documents say the same, so that only the first is used.
    """

    corpus: Path
    index: Path | None = None
    backbone: str | None = None
    band: Band = field(default_factory=Band)
    anchors: int | None = None
    negatives: int = MAX_NEGATIVES
    min_words: int = 20
    seed: int = 0
    alike: float = 0.5

    def to_dict(self) -> dict[str, Any]:
        """Plain types, as a run keeps them."""
        index = None if self.index is None else str(self.index.resolve())
        return {**asdict(self), "corpus": str(self.corpus.resolve()), "index": index}


@dataclass(frozen=True)
class Mined:
    """What mining found: documents looked at, the band's edges as similarities, pairs, those with two negatives.

    ``passed_over`` counts the documents that were left out before, by reason.
    """

    documents: int
    edges: tuple[float, float]
    pairs: int
    two: int
    passed_over: dict[str, int] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "edges": list(self.edges)}


def mean_vectors(tokens: NDArray[Any], offsets: NDArray[np.int64]) -> Matrix:
    """The mean of each document's token vectors, scaled to length one.

    Examples
    --------
    >>> mean_vectors(np.array([[1.0, 0.0], [0.0, 1.0], [3.0, 0.0]]), np.array([0, 2, 3])).round(2).tolist()
    [[0.7099999785423279, 0.7099999785423279], [1.0, 0.0]]
    """
    sums = np.add.reduceat(tokens.astype(np.float32), offsets[:-1], axis=0)
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.asarray(sums / np.maximum(lengths, 1e-12), dtype=np.float32)


def mine(
    means: Matrix,
    ids: Sequence[str],
    band: Band,
    anchors: int | None = None,
    negatives: int = MAX_NEGATIVES,
    seed: int = 0,
    usable: NDArray[np.bool_] | None = None,
    progress: Progress = silent,
) -> list[MinedPair]:
    """Mine pairs.

    Parameters
    ----------
    means
        one vector of length one a document.
    ids
        the documents' ids.
    band
        where a negative's similarity lies.
    anchors
        how many pairs are wanted; by default as many as there are. Anchors are drawn in a seeded order.
    negatives
        how many negatives an anchor has at most, 1 or 2. The second lies in the band to the first, too, and is the
        one that is closest to both: only so do all three share a subject.
    usable
        which documents may be part of a pair (one of a few words cannot); by default all.

    Examples
    --------
    >>> means = np.array([[1, 0], [0.8, 0.6], [0.6, 0.8], [-1, 0]], dtype=np.float32)
    >>> pairs = mine(means, ["a", "b", "c", "d"], Band(0.7, 0.99, absolute=True))
    >>> sorted((pair.gold, pair.negatives) for pair in pairs)
    [('a', ('b',)), ('b', ('c',)), ('c', ('b',))]
    """
    _check_wishes(len(means), anchors, negatives)
    low, high = band.edges(means, seed)
    taken = np.ones(len(means), dtype=bool) if usable is None else usable
    order = np.random.default_rng(seed).permutation(np.flatnonzero(taken))
    wanted = len(order) if anchors is None else min(anchors, len(order))
    pairs: list[MinedPair] = []
    block = min(_BLOCK, max(16, wanted))
    for start in range(0, len(order), block):
        chosen = order[start : start + block]
        for anchor, candidates, similarities in _in_band(means, chosen, low, high, taken):
            kept = _close_to_both(means, candidates, similarities, low, high)[:negatives]
            found = tuple(ids[candidates[i]] for i in kept)
            values = tuple(round(float(similarities[i]), 4) for i in kept)
            pairs.append(MinedPair(f"p{len(pairs) + 1:05d}", ids[anchor], found, values))
            if len(pairs) == wanted:
                return pairs
        progress("mining", len(pairs) if anchors else start + len(chosen), wanted)
    return pairs


def _check_wishes(documents: int, anchors: int | None, negatives: int) -> None:
    if anchors is not None and anchors < 1:
        raise InvalidInput(f"at least 1 anchor must be asked for, got {anchors}.")
    if not 1 <= negatives <= MAX_NEGATIVES:
        raise InvalidInput(f"an anchor has 1 to {MAX_NEGATIVES} negatives, got {negatives}.")
    if documents < 2:
        raise InvalidInput(f"mining needs at least 2 documents, got {documents}.")


def _in_band(
    means: Matrix, anchors: NDArray[np.int64], low: float, high: float, usable: NDArray[np.bool_]
) -> list[tuple[int, NDArray[np.int64], NDArray[np.float32]]]:
    """Each anchor that has any, with its closest candidates in the band, closest first."""
    similarities = means[anchors] @ means.T
    similarities[np.arange(len(anchors)), anchors] = -np.inf
    places = np.flatnonzero(similarities.ravel() >= low)
    values = similarities.ravel()[places]
    rows, columns = np.divmod(places, len(means))
    keep = (values <= high) & usable[columns]
    rows, columns, values = rows[keep], columns[keep], values[keep]
    order = np.lexsort((columns, -values, rows))
    bounds = np.searchsorted(rows[order], np.arange(len(anchors) + 1))
    found = []
    for row, anchor in enumerate(anchors):
        own = order[bounds[row] : min(bounds[row + 1], bounds[row] + _CLOSEST)]
        if len(own):
            found.append((int(anchor), columns[own], values[own]))
    return found


def _close_to_both(
    means: Matrix, candidates: NDArray[np.int64], similarities: NDArray[np.float32], low: float, high: float
) -> list[int]:
    """The closest candidate, and the one that is closest to it and to the anchor together, where one is."""
    to_first = means[candidates] @ means[candidates[0]]
    inside = (to_first >= low) & (to_first <= high)
    inside[0] = False
    if not inside.any():
        return [0]
    return [0, int(np.argmax(np.where(inside, np.minimum(similarities, to_first), -np.inf)))]
