"""Is a difference between two systems more than chance? The paired bootstrap over per-query outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput

RESAMPLES = 10_000
_CHUNK = 1 << 18  # outcomes drawn at once: few enough to stay in the processor's cache
_ZERO = 1e-12  # a mean this small is rounding, left over where outcomes cancel


@dataclass(frozen=True)
class Comparison:
    """How two systems differ over the same queries.

    Attributes
    ----------
    difference
        mean outcome of the system, less that of the baseline.
    low, high
        its 95% interval.
    p_value
        two-sided; at most 1 and at least ``2 / (resamples + 1)``.
    queries, resamples
        how many of each it rests on.
    """

    difference: float
    low: float
    high: float
    p_value: float
    queries: int
    resamples: int


def compare(
    system: Mapping[str, float], baseline: Mapping[str, float], resamples: int = RESAMPLES, seed: int = 0
) -> Comparison:
    """The paired bootstrap: resample the queries, and see on which side of zero the mean difference falls.

    The p-value is twice the share of resamples that fall on the rarer side of zero (zero itself counts on both
    sides; one is added to both counts, so that it is never 0). It goes with the percentile interval: about 0.05 where
    an end of the interval touches zero.

    Parameters
    ----------
    system, baseline
        one outcome per query id; both must hold the same ids, in any order.
    resamples
        how often the queries are drawn anew.
    seed
        the same seed and outcomes give the same result.

    Examples
    --------
    >>> solved = {"q1": 1.0, "q2": 1.0, "q3": 1.0, "q4": 0.0}
    >>> result = compare(solved, {"q1": 0.0, "q2": 1.0, "q3": 0.0, "q4": 0.0})
    >>> result.difference, result.low, result.high, result.p_value > 0.05
    (0.5, 0.0, 1.0, True)
    >>> compare({"q1": 1.0}, {"q2": 1.0})
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: the two systems were measured on different queries: 'q1' is only in the system's
    outcomes.
    """
    _check_same_queries(system, baseline)
    ids = sorted(system)  # so that the order of the outcomes does not matter
    differences = _finite([system[id] for id in ids]) - _finite([baseline[id] for id in ids])
    means = bootstrap_means(differences, resamples, seed)
    rarer = min(int((means <= _ZERO).sum()), int((means >= -_ZERO).sum()))
    low, high = np.quantile(means, (0.025, 0.975))
    return Comparison(
        difference=float(differences.mean()),
        low=float(low),
        high=float(high),
        p_value=min(1.0, 2 * (rarer + 1) / (resamples + 1)),
        queries=len(ids),
        resamples=resamples,
    )


def comparisons(
    outcomes: Mapping[str, Mapping[str, Mapping[str, float]]], baseline: str, seed: int = 0
) -> dict[str, dict[str, Comparison]]:
    """:func:`compare` for every system against the baseline, metric by metric; a metric without outcomes is left out.

    Parameters
    ----------
    outcomes
        by system and metric, the outcome of each query.
    baseline
        one of the systems.
    seed
        as in :func:`compare`.

    Examples
    --------
    >>> found = comparisons({"frozen": {"hit@10": {"q1": 0.0}}, "excise": {"hit@10": {"q1": 1.0}}}, "frozen")
    >>> list(found), found["excise"]["hit@10"].difference
    (['excise'], 1.0)
    """
    return {
        system: {
            metric: compare(values, outcomes[baseline][metric], seed=seed)
            for metric, values in metrics.items()
            if values
        }
        for system, metrics in outcomes.items()
        if system != baseline
    }


def bootstrap_means(values: NDArray[np.float64], resamples: int = RESAMPLES, seed: int = 0) -> NDArray[np.float64]:
    """The mean of each of so many samples, drawn with replacement and as large as ``values``.

    Examples
    --------
    >>> bootstrap_means(np.array([0.0, 1.0]), resamples=1000).shape
    (1000,)
    """
    if values.size == 0:
        raise InvalidInput("there are no outcomes to resample.")
    if isinstance(resamples, bool) or not isinstance(resamples, int) or resamples < 1:
        raise InvalidInput(f"resamples must be a whole number of at least 1, got {resamples!r}.")
    rng = np.random.default_rng(seed)
    means = np.empty(resamples)
    rows = max(1, _CHUNK // values.size)
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), values.size)
        drawn = rng.integers(0, values.size, size=shape, dtype=np.int32)
        means[start : start + rows] = values[drawn].mean(axis=1)
    return means


def _check_same_queries(system: Mapping[str, float], baseline: Mapping[str, float]) -> None:
    for whose, odd in (("system", system.keys() - baseline.keys()), ("baseline", baseline.keys() - system.keys())):
        if odd:
            more = f" and {len(odd) - 1} more are" if len(odd) > 1 else " is"
            raise InvalidInput(
                "the two systems were measured on different queries: "
                f"{min(odd)!r}{more} only in the {whose}'s outcomes."
            )


def _finite(outcomes: list[float]) -> NDArray[np.float64]:
    values = np.array(outcomes, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InvalidInput("an outcome must be a finite number.")
    return values
