"""Token vectors of several texts in one flat matrix, with no padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput

Vectors = NDArray[Any]
_CHUNK_TOKENS = 2_048  # token vectors widened and multiplied at a time: they stay in the processor's cache


def starts(lengths: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Where each of several pieces starts, and the end.

    Examples
    --------
    >>> starts([2, 3]).tolist()
    [0, 2, 5]
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def ranges(first: NDArray[np.int64], last: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers from each first up to each last, one after the other.

    Examples
    --------
    >>> ranges(np.array([7, 0]), np.array([9, 1])).tolist()
    [7, 8, 0]
    """
    lengths = last - first
    return np.asarray(np.repeat(last - np.cumsum(lengths), lengths) + np.arange(int(lengths.sum())))


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
        return cls(np.concatenate(texts), starts([len(text) for text in texts]))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Vectors:
        index = range(len(self))[index]
        return self.vectors[self.offsets[index] : self.offsets[index + 1]]

    def taken(self, texts: NDArray[np.int64]) -> Ragged:
        """Some of the texts, in the order asked for."""
        first, last = self.offsets[texts], self.offsets[texts + 1]
        return Ragged(self.vectors[ranges(first, last)], starts(last - first))

    def chunks(self, tokens: int = _CHUNK_TOKENS) -> Iterator[tuple[slice, slice]]:
        """Runs of whole texts of about ``tokens`` token vectors: (which texts, which rows)."""
        start = 0
        while start < len(self):
            reach = self.offsets[start] + tokens
            end = max(start + 1, int(np.searchsorted(self.offsets, reach, side="right")) - 1)
            yield slice(start, end), slice(int(self.offsets[start]), int(self.offsets[end]))
            start = end
