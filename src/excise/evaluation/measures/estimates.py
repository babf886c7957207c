"""Means with 95% confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.evaluation.measures.significance import bootstrap_means

INTERVAL = (0.025, 0.975)
INTERVAL_RESAMPLES = 2_000  # enough for an interval; a p-value takes more
_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True)
class Estimate:
    """A mean over ``n`` queries, pairs or candidates, and its 95% interval."""

    mean: float
    low: float
    high: float
    n: int


def proportion(hits: int, n: int) -> Estimate:
    """A share with Wilson's score interval, which stays honest at 0 and 1, where a bootstrap sees no spread.

    Examples
    --------
    >>> found = proportion(8, 10)
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (0.8, 0.49, 0.943)
    """
    share, z = hits / n, _NORMAL_95
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # At the ends the interval reaches them exactly; rounding must not push it past.
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return Estimate(share, low, high, n)


def bootstrapped(values: NDArray[np.float64], seed: int) -> Estimate:
    """A mean with the percentiles of a seeded bootstrap.

    Examples
    --------
    >>> bootstrapped(np.array([0.5, 0.5]), seed=0)
    Estimate(mean=0.5, low=0.5, high=0.5, n=2)
    """
    low, high = np.quantile(bootstrap_means(values, INTERVAL_RESAMPLES, seed), INTERVAL)
    return Estimate(float(values.mean()), float(low), float(high), values.size)
