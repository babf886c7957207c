"""Long documents are cut into windows of words, up to a budget; a document counts by its best window."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excise.errors import InvalidInput


@dataclass(frozen=True)
class Windowing:
    """How a document is cut: ``words`` per window, and no more than ``budget`` words in all.

    Examples
    --------
    >>> Windowing(words=3, budget=7).cut("one two three four five six seven eight nine")
    ['one two three', 'four five six', 'seven']
    >>> Windowing(words=3, budget=7).cut("")
    ['']
    """

    words: int = 200
    budget: int = 1000

    def __post_init__(self) -> None:
        for name, value in (("words", self.words), ("budget", self.budget)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InvalidInput(f"{name} must be a whole number of at least 1, got {value!r}.")
        if self.words > self.budget:
            raise InvalidInput(f"a window of {self.words} words is larger than the budget of {self.budget}.")

    def cut(self, text: str) -> list[str]:
        """The windows of a text, at least one. White space inside a window is folded to single spaces."""
        words = text.split(maxsplit=self.budget)[: self.budget]
        starts = range(0, max(len(words), 1), self.words)
        return [" ".join(words[start : start + self.words]) for start in starts]


LONG = Windowing(words=512, budget=10_000)
SHORT = Windowing(words=200, budget=1_000)


def best_window(values: ArrayLike, offsets: ArrayLike) -> NDArray[np.float32]:
    """The largest value among each document's windows.

    Parameters
    ----------
    values
        one value per window, the windows of a document next to each other.
    offsets
        where each document's windows start, and the end: document i owns ``values[offsets[i]:offsets[i + 1]]``.

    Examples
    --------
    >>> best_window([0.2, 0.9, 0.4], [0, 2, 3]).tolist()
    [0.8999999761581421, 0.4000000059604645]
    """
    windows = np.asarray(values, dtype=np.float32)
    bounds = np.asarray(offsets, dtype=np.int64)
    if bounds.ndim != 1 or bounds.size == 0 or bounds[0] != 0 or bounds[-1] != windows.size:
        raise InvalidInput(f"offsets must run from 0 to the number of windows ({windows.size}), got {bounds.tolist()}.")
    if (np.diff(bounds) < 1).any():
        raise InvalidInput("every document needs at least one window.")
    if bounds.size == 1:
        return np.empty(0, dtype=np.float32)
    return np.maximum.reduceat(windows, bounds[:-1])
