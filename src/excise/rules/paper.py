"""The demotion rule: Algorithm 1 of the paper as one pure function over numpy arrays.

Scores and evidence go in; a ranking, the penalties, the cut, the removed candidates and the protected one come
out. Nothing here knows about text, encoders or indexes, and importing this module does not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from excise.errors import InvalidInput
from excise.rules.decision import Decision, by_evidence, checked, ordered

Drop = Literal["adaptive", "fixed"]


@dataclass(frozen=True)
class Constants:
    """Every constant of the rule, at the paper's values (its Table "inert" and Appendix D).

    Its theta, at which the detector fires, is the detector's own: see :class:`excise.settings.Settings`.

    Parameters
    ----------
    evidence_floor
        tau: when no candidate's evidence reaches it, nothing is demoted. Also the cut of the absolute rule.
    anomaly_width
        kappa: standard deviations above the shortlist's mean at which the penalty starts.
    penalty_scale
        lambda: score lost per unit of evidence above the cut.
    removal_fraction
        phi: share of the largest evidence from which a candidate may be removed.
    removal_cap
        the most candidates that are removed.
    cap_per_topic
        let the cap follow the number of topics: as many removals for each of them (not in the paper).
    minimum_shortlist
        below this many candidates the cut is absolute, and nothing is removed while the soft penalty is on.
    shortlist
        k: how many candidates of the first stage are judged.
    soft_penalty, removal, guard, relative_cut
        the four parts of the rule; each can be switched off to measure what it is worth.
    drop
        "adaptive" removes up to ``removal_cap`` candidates over ``removal_fraction``; "fixed" removes exactly
        ``removal_cap`` whatever their evidence (two rows of the paper's design table).

    Examples
    --------
    >>> Constants().penalty_scale
    0.97
    >>> Constants(removal_cap=-1)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: removal_cap must be a whole number of at least 0, got -1.
    """

    evidence_floor: float = 0.35
    anomaly_width: float = 0.5
    penalty_scale: float = 0.97
    removal_fraction: float = 0.6
    removal_cap: int = 3
    minimum_shortlist: int = 4
    shortlist: int = 100
    soft_penalty: bool = True
    removal: bool = True
    guard: bool = True
    relative_cut: bool = True
    drop: Drop = "adaptive"
    cap_per_topic: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (
            ("evidence_floor", 0.0, 1.0),
            ("anomaly_width", 0.0, float("inf")),
            ("penalty_scale", 0.0, float("inf")),
            ("removal_fraction", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
                raise InvalidInput(f"{name} must be a number from {low:g} to {high:g}, got {value!r}.")
        for name, least in (("removal_cap", 0), ("minimum_shortlist", 2), ("shortlist", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}.")
        if self.drop not in ("adaptive", "fixed"):
            raise InvalidInput(f"drop must be 'adaptive' or 'fixed', got {self.drop!r}.")

    def for_topics(self, topics: int) -> Constants:
        """The constants for a query that excludes so many topics.

        Examples
        --------
        >>> Constants(cap_per_topic=True).for_topics(2).removal_cap, Constants().for_topics(2).removal_cap
        (6, 3)
        """
        return replace(self, removal_cap=self.removal_cap * topics) if self.cap_per_topic else self

    def as_dict(self) -> dict[str, float | int | bool | str]:
        """The constants by name, for reports and configuration files."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def demote(scores: ArrayLike, evidence: ArrayLike, constants: Constants | None = None) -> Decision:
    """Rank a shortlist by its scores, less what matches the excluded topic (lines 7 to 23 of Algorithm 1).

    Parameters
    ----------
    scores
        S: one relevance score per candidate, in MaxSim units.
    evidence
        e: how strongly each candidate covers the excluded topic.
    constants
        the rule's constants; the paper's by default.

    Returns
    -------
    Decision

    Examples
    --------
    Five pages about electric cars; the first and the third are about the excluded Tesla:

    >>> decision = demote([9.0, 8.5, 8.4, 8.0, 7.5], [0.95, 0.30, 0.90, 0.25, 0.20])
    >>> decision.ranking.tolist(), decision.removed, decision.protected, decision.branch
    ([1, 3, 4, 0, 2], (0, 2), 1, 'relative')
    """
    constants = constants or Constants()
    score, match = checked(scores, evidence)
    strongest = by_evidence(match, score)[0]

    if match[strongest] < constants.evidence_floor:
        return Decision(ordered(score), score, np.zeros_like(score), None, branch="floor")

    enough = len(score) >= constants.minimum_shortlist
    relative = enough and constants.relative_cut
    cut = _relative_cut(match, constants.anomaly_width) if relative else constants.evidence_floor
    scale = constants.penalty_scale if constants.soft_penalty else 0.0
    penalties = scale * np.maximum(match - cut, 0.0)
    penalised = score - penalties

    removed: tuple[int, ...] = ()
    protected: int | None = None
    if constants.removal and enough:
        protected = _guarded(penalised, strongest) if constants.guard else None
        removed = tuple(i for i in _eligible(match, score, constants) if i != protected)
    elif constants.removal and not constants.soft_penalty:
        removed = (strongest,)  # with so few candidates and no penalty, nothing else would demote

    return Decision(
        ranking=ordered(penalised, removed),
        scores=penalised,
        penalties=penalties,
        cut=cut,
        removed=removed,
        protected=protected,
        branch="relative" if relative else "absolute",
    )


def _relative_cut(match: NDArray[np.float64], width: float) -> float:
    # Summed in sorted order, so that the cut does not depend on the order of the candidates.
    ordered = np.sort(match)
    return float(ordered.mean() + width * ordered.std(ddof=1))


def _eligible(match: NDArray[np.float64], score: NDArray[np.float64], constants: Constants) -> list[int]:
    strongest_first = by_evidence(match, score)
    if constants.drop == "adaptive":
        least = constants.removal_fraction * match[strongest_first[0]]
        strongest_first = [i for i in strongest_first if match[i] >= least]
    return strongest_first[: constants.removal_cap]


def _guarded(penalised: NDArray[np.float64], strongest: int) -> int:
    return next(int(i) for i in ordered(penalised) if i != strongest)
