"""MaxSim over what a database hands out, portion by portion: the best of all in little memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from excise.engines.shared.generations import HALF
from excise.engines.shared.store import RankedSpot, Spot
from excise.errors import BadIndex
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import maxsim_many
from excise.vectors.ragged import Ragged, Vectors, starts
from excise.vectors.windows import best_window


def read_windows(lengths: Sequence[int], vectors: bytes, dimensions: int, name: str) -> Ragged:
    """Windows from how many tokens each has and all of their vectors in half precision, one after the other."""
    try:
        rows = np.frombuffer(vectors, dtype=HALF).reshape(-1, dimensions)
        return Ragged(rows, starts(lengths))
    except ValueError as error:
        raise BadIndex(f"{name} is damaged: vectors do not fit ({error}).") from error


def best_scanned(
    queries: Sequence[Vectors], portions: Iterable[Sequence[tuple[Spot, Ragged]]], k: int
) -> list[list[RankedSpot]]:
    """For each query the k best documents of all portions, best first, equal ones by place."""
    best: list[list[RankedSpot]] = [[] for _ in queries]
    for portion in portions:
        if not portion:
            continue
        encoded = EncodedDocuments.of([windows for _, windows in portion])
        by_window = maxsim_many(queries, encoded.windows)
        for number, scores in enumerate(by_window):
            own = best_window(scores, encoded.offsets)
            best[number] += [RankedSpot(float(own[i]), portion[i][0]) for i in _top(own, k)]
            if len(best[number]) > 4 * k:
                best[number] = _sorted(best[number])[:k]
    return [_sorted(ranked)[:k] for ranked in best]


def _top(scores: NDArray[np.float32], k: int) -> list[int]:
    """The k best, and all that tie with the last of them."""
    if k >= len(scores):
        return list(range(len(scores)))
    return [int(i) for i in np.flatnonzero(scores >= np.partition(scores, -k)[-k])]


def _sorted(ranked: list[RankedSpot]) -> list[RankedSpot]:
    return sorted(ranked, key=lambda one: (-one.score, one.spot.place))
