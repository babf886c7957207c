"""Which segments have inverted lists, with which codebook, and how those of merged segments come about.

A codebook is trained where segments are tidied or merged, never where documents are added: those are placed among the
centroids that there are. Segments that are merged keep the places of their tokens where they share a codebook. It is
trained anew where a segment has outgrown it, or where it does not fit what it is asked to place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.engines.local.codebook import Codebook, centroids_for, sample_for, trained
from excise.engines.local.inverted_lists import InvertedLists, pairs_of
from excise.engines.local.merging import FULL_DOCUMENTS
from excise.engines.local.parts import Part
from excise.engines.local.vector_files import read_tokens
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Vectors

LISTED_FROM = 4_096  # documents of an index from which on it is searched by lists
_LEAST_DOCUMENTS = 256  # of a segment with lists: smaller ones are searched whole as fast
_FIT = 0.93  # how close to its centroids, against those it was trained on, must be what a codebook places


def newest_codebook(parts: Sequence[Part]) -> Codebook | None:
    """The codebook for what is added: the one that was trained for the most token vectors."""
    books = [part.segment.lists.codebook for part in parts if part.segment.lists is not None]
    return max(books, key=lambda book: book.tokens, default=None)


def listing_due(parts: Sequence[Part]) -> list[range]:
    """Segments to be written anew with lists, neighbours as one, where the index is large enough to need them."""
    if sum(part.live for part in parts) < LISTED_FROM:
        return []
    runs: list[range] = []
    size = 0
    for number, part in enumerate(parts):
        if not _lacks_lists(part):
            continue
        if runs and runs[-1].stop == number and size + part.live <= FULL_DOCUMENTS:
            runs[-1], size = range(runs[-1].start, number + 1), size + part.live
        else:
            runs.append(range(number, number + 1))
            size = part.live
    return runs


def _lacks_lists(part: Part) -> bool:
    lists = part.segment.lists
    if lists is None:
        return part.live >= _LEAST_DOCUMENTS
    return _outgrown(lists.codebook, len(part.segment.windows.vectors))


def _outgrown(codebook: Codebook, tokens: int) -> bool:
    return centroids_for(tokens) >= 2 * centroids_for(codebook.tokens)


def lists_of_added(codebook: Codebook | None, encoded: EncodedDocuments) -> InvertedLists | None:
    """The lists of a segment of new documents; None where they are few, or where the codebook does not fit them."""
    if codebook is None or len(encoded) < _LEAST_DOCUMENTS:
        return None
    placed = codebook.nearest(encoded.windows.vectors)
    if placed.closeness < _FIT * codebook.closeness:
        return None
    lengths = np.diff(encoded.windows.offsets[encoded.offsets])
    return InvertedLists.of(codebook, placed.centroids, np.repeat(np.arange(len(encoded)), lengths))


def lists_of_merged(
    folder: Path, bounds: NDArray[np.int64], parts: Sequence[Part], known: Codebook | None
) -> InvertedLists | None:
    """The lists of a segment that was merged from others; None where it is small.

    Parameters
    ----------
    folder
        the merged segment, whose vectors are written.
    bounds
        where each of its documents' token vectors start, and the end.
    parts
        what it was merged from.
    known
        a codebook that others in the index use.
    """
    if len(bounds) - 1 < _LEAST_DOCUMENTS:
        return None
    tokens = int(bounds[-1])
    merged = _Written(folder, parts[0].segment.format, parts[0].segment.dimensions, bounds)
    books = [book for book in (newest_codebook(parts), known) if book is not None]
    codebook = max(books, key=lambda book: book.tokens, default=None)
    if codebook is not None and not _outgrown(codebook, tokens):
        pairs = _joined(codebook, merged, parts)
        if pairs is not None:
            return _from_pairs(codebook, pairs)
    codebook = trained(_sample(merged), tokens)
    return _from_pairs(codebook, _placed(codebook, merged, 0, len(bounds) - 1)[0])


class _Written(NamedTuple):
    """A segment whose vectors are written: its folder, how they are stored, where each document's tokens start."""

    folder: Path
    format: str
    dimensions: int
    bounds: NDArray[np.int64]

    def tokens(self, first: int, last: int) -> Iterator[tuple[int, Vectors]]:
        """The token vectors of documents from ``first`` up to ``last``, in chunks with the number of their first."""
        bounds = int(self.bounds[first]), int(self.bounds[last])
        return read_tokens(self.format, self.folder, self.dimensions, *bounds)


def _from_pairs(codebook: Codebook, pairs: NDArray[np.int64]) -> InvertedLists:
    return InvertedLists.of(codebook, pairs >> 32, pairs & 0xFFFFFFFF)


def _joined(codebook: Codebook, merged: _Written, parts: Sequence[Part]) -> NDArray[np.int64] | None:
    """The pairs of all parts, in the rows of the merged segment; None where the codebook does not fit one of them."""
    joined: list[NDArray[np.int64]] = []
    first = 0
    for part in parts:
        own = part.segment.lists
        if own is not None and own.codebook.key == codebook.key:
            joined.append(_moved(own.pairs(), part, first))
        else:
            pairs, closeness = _placed(codebook, merged, first, first + part.live)
            if closeness < _FIT * codebook.closeness:
                return None
            joined.append(pairs)
        first += part.live
    return np.concatenate(joined)


def _moved(pairs: NDArray[np.int64], part: Part, first: int) -> NDArray[np.int64]:
    """Pairs less those of deleted rows, with the numbers that the rows have after merging."""
    rows = pairs & 0xFFFFFFFF
    living = ~part.deleted
    pairs, rows = pairs[living[rows]], rows[living[rows]]
    fresh = np.cumsum(living) - 1 + first
    return pairs_of(pairs >> 32, fresh[rows])


def _placed(codebook: Codebook, merged: _Written, first: int, last: int) -> tuple[NDArray[np.int64], float]:
    """The pairs of the documents from ``first`` up to ``last``, and how close their tokens are to the centroids."""
    found: list[NDArray[np.int64]] = []
    cosines = 0.0
    for start, chunk in merged.tokens(first, last):
        placed = codebook.nearest(chunk)
        rows = np.searchsorted(merged.bounds, np.arange(start, start + len(chunk)), side="right") - 1
        found.append(np.unique(pairs_of(placed.centroids, rows)))
        cosines += placed.closeness * len(chunk)
    return np.concatenate(found), cosines / int(merged.bounds[last] - merged.bounds[first])


def _sample(merged: _Written) -> Vectors:
    """Token vectors from all over a segment; read in passing, so that little of it is in memory."""
    tokens = int(merged.bounds[-1])
    share = sample_for(tokens) / tokens
    rng = np.random.default_rng(0)
    chunks = merged.tokens(0, len(merged.bounds) - 1)
    return np.concatenate([chunk[rng.random(len(chunk)) < share] for _, chunk in chunks])
