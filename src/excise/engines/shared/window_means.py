"""One vector for a whole window: what approximate searches look for first."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from excise.vectors.ragged import Ragged, Vectors


def window_mean(vectors: Vectors) -> NDArray[np.float32]:
    """The mean of token vectors, of length one (all zeros where they cancel out).

    Examples
    --------
    >>> window_mean(np.array([[2.0, 0.0], [0.0, 0.0]])).tolist()
    [1.0, 0.0]
    """
    mean = np.asarray(vectors, dtype=np.float32).mean(axis=0)
    length = float(np.linalg.norm(mean))
    return np.asarray(mean / length if length > 0 else mean, dtype=np.float32)


def window_means(windows: Ragged) -> NDArray[np.float32]:
    """:func:`window_mean` of each window."""
    return np.stack([window_mean(windows[i]) for i in range(len(windows))])
