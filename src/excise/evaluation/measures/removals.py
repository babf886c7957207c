"""Were the removals right? Shares over graded candidates, how well scores tell what covers a topic, calibration.

========================  =============================================================================================
precision                 of the labelled candidates that were removed, the share that cover the topic (grade 2)
precision_1+              the same for those that cover or mention it (grade 1 or 2)
recall, recall_1+         of the candidates with grade 2, with grade 1 or 2, the share that was removed
removed_grade_1           of those that mention it in passing, the share that was removed
removed_grade_0           of those that do not deal with it, the share that was removed
not_shortlisted           of all labelled candidates, the share that the system never saw; it counts as not removed
average_precision         of the ranking of all labelled candidates by their score, for grade 2
brier                     mean squared distance between the probability and whether the grade is 2
foreign_removals          documents removed a search where the corpus has nothing on the topic, labelled or not
foreign_removals@10       how many of those were in the frozen top ten
present_removals, ...@10  the same two where the corpus has documents on the topic
========================  =============================================================================================

All searches are pooled. What has no figure is left out: precision where nothing labelled was removed, average precision
of a system without scores, the Brier score of one without probabilities. A score is the probability where there is one,
else the evidence; candidates without one are in no average precision.

Intervals are percentiles of a seeded bootstrap over searches, since the candidates of one search go together. Those of
shares are at least as wide as Wilson's, which stays honest at 0 and 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from excise.errors import InvalidInput
from excise.evaluation.measures.estimates import INTERVAL, INTERVAL_RESAMPLES, Estimate, proportion
from excise.results import Status
from excise.rules.decision import Floats
from excise.suites.coverage_labels import Grade, TopicKind

COVERS: Grade = 2
MENTIONS: Grade = 1
BINS = 10
_AT_ONCE = 250  # resamples of a ranking: few enough for the memory

CandidateStatus = Status | Literal["not_shortlisted"]


@dataclass(frozen=True)
class GradedCandidate:
    """A labelled candidate, and what a system made of it.

    ``score`` says how sure it covers the topic: the probability where the system has one, else the evidence.
    """

    document: str
    grade: Grade
    status: CandidateStatus
    score: float | None = None
    probability: float | None = None

    @property
    def removed(self) -> bool:
        return self.status == "removed"

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self)


@dataclass(frozen=True)
class SearchRemovals:
    """What a system removed for one search.

    Attributes
    ----------
    corpus, kind
        what is searched, and whether it has documents on the topic.
    candidates
        those that are labelled.
    removals, top_removals
        how many documents were removed, labelled or not, and how many of them out of the frozen top ten.
    """

    corpus: str
    kind: TopicKind
    candidates: tuple[GradedCandidate, ...]
    removals: int
    top_removals: int


@dataclass(frozen=True)
class ReliabilityBin:
    """The candidates whose probability lies in an interval: its mean, and the share that do cover the topic.

    Both are None where there are no such candidates.
    """

    low: float
    high: float
    probability: float | None
    share: float | None
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return asdict(self)


Chosen = Callable[[GradedCandidate], bool]
_SHARES: dict[
    str, tuple[Chosen, Chosen]
] = {  # of the candidates that the second chooses, those that the first does too
    "precision": (lambda one: one.grade == COVERS, lambda one: one.removed),
    "precision_1+": (lambda one: one.grade >= MENTIONS, lambda one: one.removed),
    "recall": (lambda one: one.removed, lambda one: one.grade == COVERS),
    "recall_1+": (lambda one: one.removed, lambda one: one.grade >= MENTIONS),
    "removed_grade_1": (lambda one: one.removed, lambda one: one.grade == 1),
    "removed_grade_0": (lambda one: one.removed, lambda one: one.grade == 0),
    "not_shortlisted": (lambda one: one.status == "not_shortlisted", lambda _: True),
}
_KINDS: tuple[TopicKind, ...] = ("foreign", "present")
REMOVAL_METRICS = (
    *_SHARES,
    "average_precision",
    "brier",
    *(f"{kind}_removals{depth}" for kind in _KINDS for depth in ("", "@10")),
)


def removal_estimates(searches: Sequence[SearchRemovals], seed: int = 0) -> dict[str, Estimate]:
    """Every measure of the module over some searches; one that has no figure is left out.

    Examples
    --------
    >>> tesla = GradedCandidate("model3", 2, "removed", score=0.9)
    >>> named_once = GradedCandidate("history", 1, "removed", score=0.8)
    >>> missed = GradedCandidate("modely", 2, "kept", score=0.4)
    >>> found = removal_estimates([SearchRemovals("cars", "present", (tesla, named_once, missed), 5, 2)])
    >>> found["precision"].mean, found["precision_1+"].mean, found["recall"].mean, found["present_removals"].mean
    (0.5, 1.0, 0.5, 5.0)
    >>> round(found["average_precision"].mean, 3), "brier" in found
    (0.833, False)
    """
    if not searches:
        return {}
    drawn = _draws(len(searches), seed)
    found = {name: _share(searches, top, bottom, drawn) for name, (top, bottom) in _SHARES.items()}
    found["average_precision"] = _average_precision(searches, drawn)
    found["brier"] = _brier(searches, drawn)
    for kind in _KINDS:
        own = np.array([float(one.kind == kind) for one in searches])
        for depth, counts in (
            ("", [one.removals for one in searches]),
            ("@10", [one.top_removals for one in searches]),
        ):
            found[f"{kind}_removals{depth}"] = _ratio(own * np.array(counts), own, drawn)
    return {name: estimate for name in REMOVAL_METRICS if (estimate := found[name]) is not None}


def average_precision(scores: Sequence[float], relevant: Sequence[bool]) -> float:
    """The mean over the relevant of the precision down to each one's score; equal scores count as one step.

    Examples
    --------
    >>> average_precision([0.9, 0.8, 0.7], [True, False, True])
    0.8333333333333333
    >>> average_precision([0.5, 0.5], [True, False])
    0.5
    """
    if not any(relevant):
        raise InvalidInput("average precision needs at least one relevant candidate.")
    values, wanted = np.array(scores, dtype=np.float64), np.array(relevant, dtype=np.float64)
    return float(_average_precisions(values, wanted, np.ones((1, len(values))))[0])


def reliability(searches: Sequence[SearchRemovals], bins: int = BINS) -> tuple[ReliabilityBin, ...]:
    """How often candidates of a given probability do cover the topic; empty where none has a probability.

    Examples
    --------
    >>> sure, unsure = (GradedCandidate(id, 2, "removed", p, p) for id, p in (("a", 0.95), ("b", 0.93)))
    >>> last = reliability([SearchRemovals("cars", "present", (sure, unsure), 2, 0)])[-1]
    >>> last.low, last.high, round(last.probability, 2), last.share, last.count
    (0.9, 1.0, 0.94, 1.0, 2)
    """
    known = [one for search in searches for one in search.candidates if one.probability is not None]
    if not known:
        return ()
    chances = np.array([one.probability for one in known], dtype=np.float64)
    covers = np.array([one.grade == COVERS for one in known], dtype=np.float64)
    places = np.minimum((chances * bins).astype(np.int64), bins - 1)
    found = []
    for place in range(bins):
        own = places == place
        mean, share = (float(values[own].mean()) if own.any() else None for values in (chances, covers))
        found.append(ReliabilityBin(place / bins, (place + 1) / bins, mean, share, int(own.sum())))
    return tuple(found)


def _draws(count: int, seed: int) -> Floats:
    """How often each search is drawn, in each resample."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(count, np.full(count, 1 / count), size=INTERVAL_RESAMPLES).astype(np.float64)


def _share(searches: Sequence[SearchRemovals], top: Chosen, bottom: Chosen, drawn: Floats) -> Estimate | None:
    of = np.array([sum(map(bottom, one.candidates)) for one in searches], dtype=np.float64)
    hits = np.array([sum(bottom(c) and top(c) for c in one.candidates) for one in searches], dtype=np.float64)
    found = _ratio(hits, of, drawn)
    if found is None:
        return None
    plain = proportion(int(hits.sum()), found.n)
    return Estimate(found.mean, min(found.low, plain.low), max(found.high, plain.high), found.n)


def _brier(searches: Sequence[SearchRemovals], drawn: Floats) -> Estimate | None:
    known = [[c for c in one.candidates if c.probability is not None] for one in searches]
    squares = [sum(((c.probability or 0.0) - (c.grade == COVERS)) ** 2 for c in own) for own in known]
    return _ratio(np.array(squares), np.array([float(len(own)) for own in known]), drawn)


def _ratio(hits: Floats, of: Floats, drawn: Floats) -> Estimate | None:
    """A ratio of sums over searches; None where there is nothing to divide by."""
    if not of.sum():
        return None
    resampled = drawn @ of
    usable = resampled > 0  # by chance a resample holds no candidate of the kind
    low, high = np.quantile((drawn @ hits)[usable] / resampled[usable], INTERVAL)
    return Estimate(float(hits.sum() / of.sum()), float(low), float(high), int(of.sum()))


def _average_precision(searches: Sequence[SearchRemovals], drawn: Floats) -> Estimate | None:
    scored = [(i, c.score, c.grade) for i, one in enumerate(searches) for c in one.candidates if c.score is not None]
    covers = np.array([float(grade == COVERS) for _, _, grade in scored])
    if not covers.any():
        return None
    owners, scores = np.array([i for i, _, _ in scored]), np.array([score for _, score, _ in scored])
    parts = np.array_split(drawn, max(1, len(drawn) // _AT_ONCE))
    resampled = np.concatenate([_average_precisions(scores, covers, part[:, owners]) for part in parts])
    low, high = np.nanquantile(resampled, INTERVAL)
    whole = _average_precisions(scores, covers, np.ones((1, len(scores))))[0]
    return Estimate(float(whole), float(low), float(high), len(scored))


def _average_precisions(scores: Floats, relevant: Floats, weights: Floats) -> Floats:
    """One average precision for each row of weights; not a number where a row has nothing relevant."""
    order = np.argsort(-scores, kind="stable")
    steps = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)  # the last of each run of equal scores
    weighed = weights[:, order]
    found = np.cumsum(weighed * relevant[order], axis=1)[:, steps]
    seen = np.cumsum(weighed, axis=1)[:, steps]
    gained = np.diff(found, axis=1, prepend=0.0)
    with np.errstate(invalid="ignore"):
        return np.asarray((gained * found / np.maximum(seen, 1.0)).sum(axis=1) / found[:, -1], dtype=np.float64)
