"""Arithmetic on large arrays: by torch where it is installed, which is several times as fast as numpy."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from time import perf_counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Backend = Literal["torch", "numpy"]

_ROUNDS = 5
_GAIN = 0.7  # of the time of the usual way: what a quicker one must stay below


def much_faster(quick: Callable[[], object], usual: Callable[[], object]) -> bool:
    """Whether one way to compute something is much faster here than the usual one: the best of a few rounds of each."""
    quick(), usual()  # the first time of each prepares it
    quickest = [float("inf"), float("inf")]
    for _ in range(_ROUNDS):
        for number, compute in enumerate((quick, usual)):
            start = perf_counter()
            compute()
            quickest[number] = min(quickest[number], perf_counter() - start)
    return quickest[0] < _GAIN * quickest[1]


@cache
def default_backend() -> Backend:
    """What large arrays are computed with: torch where it is installed."""
    return "torch" if find_spec("torch") else "numpy"


def widened(values: NDArray[Any], backend: Backend | None = None) -> NDArray[np.float32]:
    """Numbers in single precision."""
    if (backend or default_backend()) == "numpy":
        return values.astype(np.float32)
    import torch

    return np.asarray(torch.from_numpy(values if values.flags.writeable else values.copy()).float().numpy())


def scaled(values: NDArray[Any], scales: NDArray[Any], backend: Backend | None = None) -> NDArray[np.float32]:
    """Each row times a number of its own, in single precision.

    Examples
    --------
    >>> scaled(np.array([[1, 2], [3, 4]], dtype=np.int8), np.array([2, 0.5])).tolist()
    [[2.0, 4.0], [1.5, 2.0]]
    """
    factors = scales.astype(np.float32)[:, None]
    if (backend or default_backend()) == "numpy":
        return np.asarray(values.astype(np.float32) * factors)
    import torch

    own = torch.from_numpy(values if values.flags.writeable else values.copy())
    return np.asarray(own.to(torch.float32, copy=True).mul_(torch.from_numpy(factors)).numpy())


def of_length_one(rows: NDArray[Any], backend: Backend | None = None) -> NDArray[np.float32]:
    """Each row divided by its length, in single precision; a row of zeros stays one.

    Examples
    --------
    >>> of_length_one(np.array([[3.0, 4.0], [0.0, 0.0]])).round(2).tolist()
    [[0.6000000238418579, 0.800000011920929], [0.0, 0.0]]
    """
    if (backend or default_backend()) == "numpy":
        wide = rows.astype(np.float32)
        return np.asarray(wide / np.maximum(np.linalg.norm(wide, axis=1, keepdims=True), 1e-9))
    import torch

    own = torch.from_numpy(rows if rows.flags.writeable else rows.copy()).float()
    return np.asarray(torch.nn.functional.normalize(own, dim=1, eps=1e-9).numpy())


def sums_of_runs(
    rows: NDArray[np.float32], starts: NDArray[np.int64], backend: Backend | None = None
) -> NDArray[np.float32]:
    """The sum of each run of rows, from one start to the next; torch is ten times as fast at it.

    Examples
    --------
    >>> sums_of_runs(np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32), np.array([0, 2])).tolist()
    [[4.0, 6.0], [5.0, 6.0]]
    """
    if (backend or default_backend()) == "numpy":
        return np.asarray(np.add.reduceat(rows, starts, axis=0))
    import torch

    places, own = torch.arange(len(rows)), torch.from_numpy(rows)
    return np.asarray(torch.nn.functional.embedding_bag(places, own, torch.from_numpy(starts), mode="sum").numpy())


def largest(
    rows: NDArray[np.float32], count: int, backend: Backend | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Where the largest numbers of each row stand, and what they are, the largest last.

    Examples
    --------
    >>> places, values = largest(np.array([[0.1, 0.9, 0.4]], dtype=np.float32), 2)
    >>> places.tolist(), values.round(1).tolist()
    ([[2, 1]], [[0.4000000059604645, 0.8999999761581421]])
    """
    if (backend or default_backend()) == "numpy":
        found = np.argpartition(rows, rows.shape[1] - count, axis=1)[:, rows.shape[1] - count :]
        values = np.take_along_axis(rows, found, axis=1)
        order = np.argsort(values, axis=1, kind="stable")
        return np.take_along_axis(found, order, axis=1), np.take_along_axis(values, order, axis=1)
    import torch

    top = torch.topk(torch.from_numpy(rows), count, dim=1)
    return np.asarray(top.indices.flip(1).numpy()), np.asarray(top.values.flip(1).numpy())
