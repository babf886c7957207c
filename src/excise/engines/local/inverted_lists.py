"""Inverted lists: for each centroid of token vectors, the documents that have a token near it.

What a query token finds in a document is about what it finds in the centroids of that document's tokens. So the lists
of the centroids nearest to the query's tokens give every document a rough MaxSim score without touching its vectors:
the family of PLAID and WARP. Exact scores are for the best of them (:mod:`excise.engines.local.candidates`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.engines.local.codebook import Codebook
from excise.vectors.arithmetic import largest
from excise.vectors.byte_products import about_products, bytes_pay
from excise.vectors.ragged import Vectors

_LEAST_PROBES = 32


class Probes(NamedTuple):
    """The centroids nearest to each query token and their products with it, the nearest last."""

    centroids: NDArray[np.int64]
    products: NDArray[np.float32]


def probes_of(query: Vectors, codebook: Codebook) -> Probes:
    """Where to look for a query's tokens: as many centroids as the root of their number, at least 32.

    Examples
    --------
    >>> codebook = Codebook(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), np.arange(3), 1.0, 3)
    >>> probes_of(np.array([[0.6, 0.8]], dtype=np.float32), codebook).centroids.tolist()
    [[0, 1]]
    """
    query = np.asarray(query, dtype=np.float32)
    products = about_products(query, codebook.in_bytes) if bytes_pay() else query @ codebook.centroids.T
    return Probes(*largest(products, min(len(codebook), max(_LEAST_PROBES, round(len(codebook) ** 0.5)))))


@dataclass(frozen=True, eq=False)
class InvertedLists:
    """The lists of one segment: centroid c is near tokens of the documents ``rows[offsets[c]:offsets[c + 1]]``.

    Examples
    --------
    >>> codebook = Codebook(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.float32), np.arange(3), 1.0, 3)
    >>> lists = InvertedLists.of(codebook, np.array([0, 0, 1]), np.array([7, 7, 5]))
    >>> lists.offsets.tolist(), lists.rows.tolist()
    ([0, 1, 2], [7, 5])
    >>> probes = probes_of(np.array([[0.6, 0.8]], dtype=np.float32), codebook)
    >>> lists.rough_scores(probes, documents=8)[[5, 7, 0]].round(2).tolist()
    [0.800000011920929, 0.6000000238418579, 0.6000000238418579]
    """

    codebook: Codebook
    offsets: NDArray[np.int64]
    rows: NDArray[np.uint32]

    @classmethod
    def of(cls, codebook: Codebook, centroids: NDArray[np.integer], rows: NDArray[np.integer]) -> InvertedLists:
        """From pairs of a centroid and a document's row, in any order; each pair counts once."""
        pairs = np.unique(pairs_of(centroids, rows))
        offsets = np.searchsorted(pairs >> 32, np.arange(len(codebook) + 1)).astype(np.int64)
        return cls(codebook, offsets, (pairs & 0xFFFFFFFF).astype(np.uint32))

    def pairs(self) -> NDArray[np.int64]:
        """Every pair of a centroid and a row, as :func:`pairs_of` packs them."""
        return pairs_of(np.repeat(np.arange(len(self.codebook)), np.diff(self.offsets)), np.asarray(self.rows))

    def rough_scores(self, probes: Probes, documents: int) -> NDArray[np.float32]:
        """About what MaxSim gives each of so many documents.

        A document that no list of a token names gets what the furthest of these centroids gives.
        """
        total = np.zeros(documents, dtype=np.float32)
        starts, ends = self.offsets[probes.centroids], self.offsets[probes.centroids + 1]
        match = np.empty(documents, dtype=np.float32)
        for token, products in enumerate(probes.products):
            match.fill(products[0])
            pieces = [self.rows[a:b] for a, b in zip(starts[token].tolist(), ends[token].tolist(), strict=True)]
            # Where a document stands in several lists, the last one, that of the nearest centroid, counts.
            match[np.concatenate(pieces)] = np.repeat(products, ends[token] - starts[token])
            total += match
        return total


def pairs_of(centroids: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.int64]:
    """Centroids and rows as one number each, which sorts by centroid, then by row."""
    return (centroids.astype(np.int64) << 32) | rows.astype(np.int64)
