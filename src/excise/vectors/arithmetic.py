"""Arithmetic on large arrays: by torch where it is installed, which is several times as fast as numpy."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Backend = Literal["torch", "numpy"]


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
