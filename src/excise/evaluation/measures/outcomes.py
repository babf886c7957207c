"""What a ranking is worth: outcomes per query, and their means with 95% confidence intervals.

========================  =============================================================================================
success@10                a gold in the top ten, and no excluded document there
hit@10                    a gold in the top ten (Success@10 of ``ir_measures``)
leak@10                   an excluded document in the top ten
leaked_documents@10       the share of the query's excluded documents that are in the top ten
ndcg@10                   nDCG@10 of ``ir_measures``
xndcg@10                  (DCG of golds - beta * DCG of excluded documents) / ideal DCG of golds; it may be negative
recall@100                the share of the query's golds that are in the top hundred (R@100 of ``ir_measures``)
fire_rate                 the share of queries on which the operator fired
removal_precision         of the removed documents that are golds or excluded ones, the share that are excluded ones
unlabelled_removed        how many of the removed documents are neither
graded_success@10         a gold in the top ten, and no document there that rules itself out or was graded to cover Z
graded_leak@10            an excluded document, or another one that was graded to cover Z (2), in the top ten
========================  =============================================================================================

An outcome is None where the suite leaves it without a meaning: leaks of a query that rules nothing out, all that asks
for golds where there are none, removals where either is missing, and their precision where nothing labelled was
removed. Means are over the queries that have the outcome. A query that rules nothing out
cannot leak, so that its success is its hit, and its xndcg its ndcg.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple

import ir_measures
import numpy as np
from ir_measures import Measure, R, Success, nDCG
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.evaluation.measures.estimates import Estimate, bootstrapped, proportion
from excise.suites.suites import Query, Suite

RankedIds = Mapping[str, Sequence[str]]
"""By query id, the ids of the documents found, best first."""

TOP = 10
RECALL_DEPTH = 100
_NDCG, _HIT, _RECALL = nDCG @ TOP, Success @ TOP, R @ RECALL_DEPTH
_FIELDS = {
    "success@10": "success",
    "hit@10": "hit",
    "leak@10": "leak",
    "leaked_documents@10": "leaked_documents",
    "ndcg@10": "ndcg",
    "xndcg@10": "xndcg",
    "recall@100": "recall",
    "fire_rate": "fired",
    "removal_precision": "removal_precision",
    "unlabelled_removed": "unlabelled_removed",
}
METRICS = tuple(_FIELDS)
_GRADED_FIELDS = {"graded_success@10": "graded_success", "graded_leak@10": "graded_leak"}
GRADED_METRICS = tuple(_GRADED_FIELDS)
"""What only a suite with grades has: the other metrics know of the negatives alone."""
_ALL_FIELDS = {**_FIELDS, **_GRADED_FIELDS}
COVERS = 2  # the grade of a document that covers what a query rules out
_BINARY = frozenset({"success@10", "hit@10", "leak@10", "fire_rate", *GRADED_METRICS})


@dataclass(frozen=True)
class PerQuery:
    """The outcomes of one query; None where an outcome has no meaning for it (see the module)."""

    id: str
    success: bool | None
    hit: bool | None
    leak: bool | None
    leaked_documents: float | None
    ndcg: float | None
    xndcg: float | None
    recall: float | None
    fired: bool | None = None
    removal_precision: float | None = None
    unlabelled_removed: float | None = None
    graded_success: bool | None = None
    graded_leak: bool | None = None

    def values(self) -> dict[str, float | None]:
        """The outcomes by the names of the metrics."""
        outcomes = {metric: getattr(self, name) for metric, name in _FIELDS.items()}
        if self.graded_leak is not None:
            outcomes |= {metric: getattr(self, name) for metric, name in _GRADED_FIELDS.items()}
        return {metric: None if outcome is None else float(outcome) for metric, outcome in outcomes.items()}

    @classmethod
    def of(cls, id: str, values: Mapping[str, float | None]) -> PerQuery:
        """From what :meth:`values` gave.

        Examples
        --------
        >>> outcome = PerQuery("q1", True, True, None, None, ndcg=1.0, xndcg=1.0, recall=1.0)
        >>> PerQuery.of("q1", outcome.values()) == outcome
        True
        """
        told = {metric: values.get(metric) for metric in _ALL_FIELDS}  # an older run lacks the newer metrics
        found = {
            name: bool(told[metric]) if metric in _BINARY and told[metric] is not None else told[metric]
            for metric, name in _ALL_FIELDS.items()
        }
        return cls(id, **found)  # type: ignore[arg-type]


def outcomes_of(
    suite: Suite, run: RankedIds, fired: Mapping[str, bool] | None = None, beta: float = 1.0
) -> list[PerQuery]:
    """The outcomes of every query of a suite, in the suite's order.

    Parameters
    ----------
    suite
        what is wanted and what is ruled out.
    run
        the rankings. A query of the suite that is not in it found nothing; one that is not in the suite is not
        looked at.
    fired
        by query id, whether the operator fired.
    beta
        what an excluded document costs in xndcg, in golds.
    """
    told = fired or {}
    return [
        outcome_of(
            query.id,
            run.get(query.id, ()),
            suite.qrels.get(query.id, {}),
            suite.negatives.get(query.id, frozenset()),
            told.get(query.id),
            beta,
            grades=suite.graded.get(query.id),
        )
        for query in suite.queries
    ]


def outcome_of(
    id: str,
    ranking: Sequence[str],
    relevance: Mapping[str, int],
    excluded: frozenset[str],
    fired: bool | None = None,
    beta: float = 1.0,
    removed: Sequence[str] | None = None,
    grades: Mapping[str, int] | None = None,
) -> PerQuery:
    """The outcomes of one query.

    Parameters
    ----------
    id
        the query's.
    ranking
        ids of documents, best first.
    relevance
        the score of each judged document; over 0 is a gold.
    excluded
        the documents that the query rules out.
    fired
        whether the operator fired.
    beta
        what an excluded document costs in xndcg, in golds.
    removed
        the documents that were taken out of the ranking; None where that is not known.
    grades
        how far documents cover what the query rules out (2, 1 or 0); None where nobody graded them.

    Examples
    --------
    >>> outcome = outcome_of("q1", ["other", "gold", "bad"], {"gold": 1}, frozenset({"bad"}))
    >>> outcome.hit, outcome.leak, outcome.success, round(outcome.ndcg, 3)
    (True, True, False, 0.631)
    >>> outcome = outcome_of("q1", ["other"], {"gold": 1}, frozenset({"bad"}), removed=["bad", "gold", "unread"])
    >>> outcome.removal_precision, outcome.unlabelled_removed
    (0.5, 1.0)
    >>> outcome = outcome_of("q1", ["gold", "worse"], {"gold": 1}, frozenset({"bad"}), grades={"worse": 2})
    >>> outcome.success, outcome.graded_success
    (True, False)
    """
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not 0 <= beta < math.inf:
        raise InvalidInput(f"beta must be a number of at least 0, got {beta!r}.")
    if len(set(ranking)) < len(ranking):
        raise InvalidInput(f"the ranking of query {id!r} holds a document twice.")
    golds = _golds(relevance)
    measured = _measured(ranking, relevance) if golds else None
    gone = _removals(removed, golds.keys(), excluded)
    leaked = len(excluded.intersection(ranking[:TOP]))
    hit = None if measured is None else measured[_HIT] > 0
    graded = None if grades is None else _graded_leak(ranking, golds.keys(), excluded, grades)
    return PerQuery(
        id=id,
        success=None if hit is None else hit and not leaked,
        hit=hit,
        leak=leaked > 0 if excluded else None,
        leaked_documents=leaked / len(excluded) if excluded else None,
        ndcg=None if measured is None else measured[_NDCG],
        xndcg=xndcg(ranking, relevance, excluded, beta),
        recall=None if measured is None else measured[_RECALL],
        fired=fired,
        removal_precision=gone.precision,
        unlabelled_removed=gone.unlabelled,
        graded_success=None if hit is None or graded is None else hit and not graded,
        graded_leak=graded,
    )


def xndcg(
    ranking: Sequence[str], relevance: Mapping[str, int], excluded: Iterable[str], beta: float = 1.0
) -> float | None:
    """How well the top ten holds the golds, less what it leaks; None where there are no golds.

    Parameters
    ----------
    ranking
        ids of documents, best first.
    relevance
        the score of each judged document, which is its gain; over 0 is a gold.
    excluded
        the documents that the query rules out, with a gain of 1 each.
    beta
        what a leaked document weighs against a gold in its place.

    Examples
    --------
    >>> round(xndcg(["gold", "bad"], {"gold": 1}, {"bad"}), 3)
    0.369
    >>> round(xndcg(["bad", "gold"], {"gold": 1}, {"bad"}), 3)
    -0.369
    """
    golds = _golds(relevance)
    if not golds:
        return None
    ideal = _dcg(sorted(golds.values(), reverse=True)[:TOP])
    ruled_out = frozenset(excluded)
    top = ranking[:TOP]
    wanted = _dcg([golds.get(document, 0) for document in top])
    leaked = _dcg([int(document in ruled_out) for document in top])
    return (wanted - beta * leaked) / ideal


def aggregate(outcomes: Sequence[PerQuery], seed: int = 0) -> dict[str, Estimate]:
    """The mean of every metric over the queries that have it. A metric that no query has is left out.

    Intervals are Wilson's for outcomes that are true or false (they stay honest at 0 and 1, where a bootstrap sees no
    spread), and percentiles of a seeded bootstrap for the graded ones.

    Examples
    --------
    >>> solved = PerQuery("q1", True, True, False, 0.0, ndcg=1.0, xndcg=1.0, recall=1.0)
    >>> leaked = PerQuery("q2", False, True, True, 0.5, ndcg=0.5, xndcg=-0.5, recall=1.0)
    >>> means = aggregate([solved, leaked])
    >>> means["success@10"].mean, means["leaked_documents@10"].mean, means["xndcg@10"].mean, "fire_rate" in means
    (0.5, 0.25, 0.25, False)
    """
    estimates = {}
    for metric in _ALL_FIELDS:
        values = np.array(list(by_query(outcomes, metric).values()), dtype=np.float64)
        if values.size:
            estimates[metric] = _share(values) if metric in _BINARY else bootstrapped(values, seed)
    return estimates


def aggregate_by(
    outcomes: Sequence[PerQuery], queries: Iterable[Query], key: str = "tier", seed: int = 0
) -> dict[str, dict[str, Estimate]]:
    """:func:`aggregate` for each value that a metadata key takes, in the order in which the values first appear.

    Queries without the key are in no group.
    """
    groups: dict[str, list[PerQuery]] = {}
    values = {query.id: _group(query, key) for query in queries}
    for outcome in outcomes:
        value = values.get(outcome.id)
        if value is not None:
            groups.setdefault(value, []).append(outcome)
    return {value: aggregate(members, seed) for value, members in groups.items()}


def by_query(outcomes: Iterable[PerQuery], metric: str) -> dict[str, float]:
    """One metric's outcomes by query id, without the queries that do not have it: what significance is tested on.

    Examples
    --------
    >>> by_query([PerQuery("q1", True, True, None, None, 1.0, 1.0, 1.0)], "hit@10")
    {'q1': 1.0}
    """
    if metric not in _ALL_FIELDS:
        raise InvalidInput(f"there is no metric {metric!r}; there are {', '.join(METRICS)}.")
    found = {outcome.id: getattr(outcome, _ALL_FIELDS[metric]) for outcome in outcomes}
    return {id: float(value) for id, value in found.items() if value is not None}


def pair_holds(scores: Iterable[tuple[float, float]]) -> bool:
    """Whether a pair counts: for every one of its preferences, the preferred text scores higher. A tie does not.

    Examples
    --------
    >>> pair_holds([(2.0, 1.0)]), pair_holds([(2.0, 1.0), (0.5, 0.5)])
    (True, False)
    """
    return all(preferred > other for preferred, other in scores)


def accuracy(holds: Iterable[bool]) -> Estimate:
    """The share of pairs that hold, with Wilson's interval.

    Examples
    --------
    >>> accuracy([True, True, True, False]).mean
    0.75
    """
    values = np.array(list(holds), dtype=np.float64)
    if values.size == 0:
        raise InvalidInput("there are no pairs to take the accuracy of.")
    return _share(values)


def _measured(ranking: Sequence[str], relevance: Mapping[str, int]) -> dict[Measure, float]:
    """What ``ir_measures`` says of a ranking."""
    # It ranks by score, and breaks ties by id: falling scores keep the order that was given.
    scored = {document: float(-rank) for rank, document in enumerate(ranking[:RECALL_DEPTH])}
    found = ir_measures.iter_calc([_NDCG, _HIT, _RECALL], {"q": dict(relevance)}, {"q": scored})
    return {_NDCG: 0.0, _HIT: 0.0, _RECALL: 0.0} | {one.measure: float(one.value) for one in found}


def _graded_leak(ranking: Sequence[str], golds: Set[str], excluded: Set[str], grades: Mapping[str, int]) -> bool:
    """Whether anything in the top ten is ruled out, by label or by grade; a gold is what the query asks for."""
    return any(
        document in excluded or (grades.get(document, 0) >= COVERS and document not in golds)
        for document in ranking[:TOP]
    )


class _Removals(NamedTuple):
    """What is known of the removed documents."""

    precision: float | None = None
    unlabelled: float | None = None


def _removals(removed: Sequence[str] | None, golds: Set[str], excluded: Set[str]) -> _Removals:
    if removed is None or not golds or not excluded:
        return _Removals()
    right = sum(document in excluded for document in removed)
    labelled = right + sum(document in golds for document in removed)
    return _Removals(right / labelled if labelled else None, float(len(removed) - labelled))


def _golds(relevance: Mapping[str, int]) -> dict[str, int]:
    return {document: score for document, score in relevance.items() if score > 0}


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def _group(query: Query, key: str) -> str | None:
    value: Any = query.metadata.get(key)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    raise InvalidInput(f"queries cannot be grouped by {key!r}: for query {query.id!r} it is a {type(value).__name__}.")


def _share(values: NDArray[np.float64]) -> Estimate:
    return proportion(int(values.sum()), values.size)
