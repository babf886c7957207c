"""Token vectors in eight bits a number, with a scale for each vector."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from excise.vectors.arithmetic import scaled
from excise.vectors.ragged import Vectors

_STEPS = 127


class EightBitVectors:
    """Vectors in eight bits that read as a matrix: a slice of rows comes out in single precision.

    Examples
    --------
    >>> stored = EightBitVectors(np.array([[127, -64]], dtype=np.int8), np.array([1 / 128], dtype=np.float16))
    >>> stored[0:1].tolist()
    [[0.9921875, -0.5]]
    """

    ndim = 2

    def __init__(self, values: NDArray[np.int8], scales: NDArray[np.float16]) -> None:
        self.values, self.scales = values, scales

    @classmethod
    def of(cls, vectors: Vectors) -> EightBitVectors:
        """Vectors put into eight bits: each one's largest number takes all of them.

        Examples
        --------
        >>> EightBitVectors.of(np.array([[0.5, -0.25]])).values.tolist()
        [[127, -64]]
        """
        wide = np.asarray(vectors, dtype=np.float32)
        scales = (np.abs(wide).max(axis=1) / _STEPS).astype("<f2")
        divisors = np.where(scales > 0, scales, 1).astype(np.float32)[:, None]
        return cls(np.clip(np.rint(wide / divisors), -_STEPS, _STEPS).astype(np.int8), scales)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.values), self.values.shape[1]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: slice) -> Vectors:
        return scaled(self.values[rows], self.scales[rows])

    def part(self, rows: slice) -> EightBitVectors:
        """Some rows as they are stored."""
        return EightBitVectors(self.values[rows], self.scales[rows])
