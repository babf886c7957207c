"""What a rule decides about a shortlist, and what every rule does alike: check its input, order its output."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excise.errors import InvalidInput
from excise.results import Branch

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Decision:
    """What the rule decided about a shortlist. Candidates are named by their position in the input.

    Attributes
    ----------
    ranking
        every candidate, best first, the removed ones last.
    scores
        the scores after the soft penalty.
    penalties
        what the soft penalty took from each candidate.
    cut
        c: the evidence at which the penalty starts, None where the floor stopped the rule; under the coverage rule its
        ``caution``.
    removed
        the hard-demoted candidates, strongest evidence first.
    protected
        the guard's candidate: the best-ranked one that is not the strongest match to the topic. None where nothing
        could be removed.
    branch
        "floor" (no evidence: nothing demoted), "relative" (the shortlist's own spread), "absolute" (too few
        candidates, or the relative cut is off); "coverage", "clear" (nothing may cover the topic) and "few" are those
        of :mod:`excise.rules.coverage`.
    mentions
        candidates that name or match the topic and stay (coverage only).
    doubtful
        candidates that may cover the topic: below all that is clear of it, and above the removed (coverage only).
    margins, openings
        by how many standard deviations each candidate leads what is clear of the topic, and how its opening matches the
        topic that it covers most (coverage only).
    """

    ranking: NDArray[np.intp]
    scores: NDArray[np.float64]
    penalties: NDArray[np.float64]
    cut: float | None
    removed: tuple[int, ...] = field(default=())
    protected: int | None = None
    branch: Branch = "relative"
    mentions: tuple[int, ...] = field(default=())
    doubtful: tuple[int, ...] = field(default=())
    margins: Floats | None = None
    openings: Floats | None = None

    @property
    def kept(self) -> NDArray[np.intp]:
        """The ranking without the removed candidates."""
        return self.ranking[: len(self.ranking) - len(self.removed)]


def checked(scores: ArrayLike, evidence: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores and evidence as arrays: finite, one value per candidate, at least one candidate."""
    arrays = []
    for name, values in (("scores", scores), ("evidence", evidence)):
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"{name} must be a list of numbers: {error}.") from None
        if array.ndim != 1:
            raise InvalidInput(f"{name} must be one-dimensional, got shape {array.shape}.")
        if array.size == 0:
            raise InvalidInput(f"{name} is empty: the rule needs at least one candidate.")
        if not np.isfinite(array).all():
            position = int(np.flatnonzero(~np.isfinite(array))[0])
            raise InvalidInput(f"{name} must be finite, got {array[position]} for candidate {position}.")
        arrays.append(array)
    score, match = arrays
    if score.shape != match.shape:
        raise InvalidInput(f"scores and evidence must have one value per candidate, got {score.size} and {match.size}.")
    return score, match


def by_evidence(match: NDArray[np.float64], score: NDArray[np.float64]) -> list[int]:
    """Candidates, strongest evidence first; equal evidence: the better ranked first."""
    return [int(i) for i in np.lexsort((np.arange(len(match)), -score, -match))]


def ordered(
    score: NDArray[np.float64], removed: tuple[int, ...] = (), doubtful: tuple[int, ...] = ()
) -> NDArray[np.intp]:
    """Best score first, then the doubtful, the removed last; equal scores keep the order of the input."""
    last = np.zeros(len(score), dtype=np.int64)
    last[list(doubtful)] = 1
    last[list(removed)] = 2
    return np.lexsort((np.arange(len(score)), -score, last))
