"""Metrics against examples worked by hand, and what must hold for every ranking."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.errors import InvalidInput
from excise.evaluation.measures.outcomes import (
    METRICS,
    PerQuery,
    accuracy,
    aggregate,
    aggregate_by,
    by_query,
    outcome_of,
    outcomes_of,
    pair_holds,
    xndcg,
)
from excise.suites.suites import Query, Suite

SECOND = 1 / math.log2(3)  # what a gain of 1 is worth at rank 2
FILLER = [f"other{i}" for i in range(200)]


def suite_of(
    qrels: dict[str, dict[str, int]],
    negatives: dict[str, set[str]] | None = None,
    metadata: dict[str, dict[str, object]] | None = None,
) -> Suite:
    excluded = {id: frozenset(documents) for id, documents in (negatives or {}).items()}
    ids = dict.fromkeys([*qrels, *excluded])
    queries = tuple(Query(id, f"text of {id}", (metadata or {}).get(id, {})) for id in ids)
    return Suite("made", Path("made"), "dev", Path("made/corpus.jsonl"), queries, qrels, excluded)


def judge_one(ranking: list[str], golds: dict[str, int], excluded: set[str], beta: float = 1.0) -> PerQuery:
    suite = suite_of({"q": golds} if golds else {}, {"q": excluded} if excluded else {})
    (outcome,) = outcomes_of(suite, {"q": ranking}, beta=beta)
    return outcome


def test_a_solved_query() -> None:
    outcome = judge_one(["x", "gold", *FILLER[:8], "bad"], {"gold": 1}, {"bad"})
    assert (outcome.success, outcome.hit, outcome.leak, outcome.leaked_documents) == (True, True, False, 0.0)
    assert outcome.ndcg == pytest.approx(SECOND)
    assert outcome.xndcg == pytest.approx(SECOND)
    assert outcome.recall == 1.0


def test_a_leak_at_rank_ten_spoils_success() -> None:
    outcome = judge_one(["gold", *FILLER[:8], "bad1", "bad2"], {"gold": 1}, {"bad1", "bad2"})
    assert (outcome.success, outcome.hit, outcome.leak, outcome.leaked_documents) == (False, True, True, 0.5)
    assert outcome.ndcg == pytest.approx(1.0)
    assert outcome.xndcg == pytest.approx(1.0 - 1 / math.log2(11))


def test_graded_golds_and_two_leaks() -> None:
    # bad, best (3), bad, good (1); the ideal is best, good
    outcome = judge_one(["bad1", "best", "bad2", "good"], {"best": 3, "good": 1, "poor": 0}, {"bad1", "bad2"})
    wanted = 3 * SECOND + 1 / math.log2(5)
    leaked = 1 + 1 / 2
    ideal = 3 + SECOND
    assert outcome.ndcg == pytest.approx(wanted / ideal)
    assert outcome.xndcg == pytest.approx((wanted - leaked) / ideal)
    assert judge_one(["bad1"], {"best": 3}, {"bad1"}, beta=2).xndcg == pytest.approx(-2 / 3)


def test_depths_are_ten_and_a_hundred() -> None:
    golds = {"g1": 1, "g2": 1}
    outcome = judge_one([*FILLER[:10], "g1", *FILLER[10:99], "g2"], golds, set())
    assert (outcome.hit, outcome.ndcg, outcome.recall) == (False, 0.0, 0.5)


def test_a_document_that_was_judged_worthless_is_no_gold() -> None:
    outcome = judge_one(["poor", "worse"], {"poor": 0, "worse": -1, "gold": 1}, set())
    assert (outcome.hit, outcome.ndcg, outcome.xndcg, outcome.recall) == (False, 0.0, 0.0, 0.0)


def test_nothing_excluded_nothing_leaked() -> None:
    outcome = judge_one(["x", "gold"], {"gold": 1}, set())
    assert outcome.success is outcome.hit is True
    assert outcome.leak is outcome.leaked_documents is None
    assert outcome.xndcg == pytest.approx(outcome.ndcg)


def test_no_golds_leave_only_the_leak() -> None:
    assert judge_one(["bad"], {}, {"bad"}) == PerQuery("q", None, None, True, 1.0, None, None, None)
    assert judge_one(["bad"], {"poor": 0}, {"bad"}) == PerQuery("q", None, None, True, 1.0, None, None, None)


def removals(removed: list[str] | None, golds: dict[str, int], excluded: set[str]) -> tuple[float | None, float | None]:
    outcome = outcome_of("q", ["other"], golds, frozenset(excluded), removed=removed)
    return outcome.removal_precision, outcome.unlabelled_removed


def test_what_was_removed() -> None:
    golds, excluded = {"g1": 1, "g2": 2, "poor": 0}, {"b1", "b2"}
    assert removals(["b1", "x", "g1", "b2", "y", "poor"], golds, excluded) == (pytest.approx(2 / 3), 3.0)
    assert removals(["b1"], golds, excluded) == (1.0, 0.0)
    assert removals(["g1", "x"], golds, excluded) == (0.0, 1.0)
    assert removals(["x", "y"], golds, excluded) == (None, 2.0)
    assert removals([], golds, excluded) == (None, 0.0)
    for unknown in (removals(None, golds, excluded), removals(["x"], {}, excluded), removals(["x"], golds, set())):
        assert unknown == (None, None)


def test_means_of_removals_are_over_the_queries_that_have_them() -> None:
    excluded = frozenset({"b"})
    outcomes = [
        outcome_of(f"q{i}", [], {"g": 1}, excluded, removed=removed)
        for i, removed in enumerate([["b"], ["b", "g", "x"], ["x", "y", "z"], []])
    ]
    means = aggregate(outcomes)
    assert (means["removal_precision"].mean, means["removal_precision"].n) == (0.75, 2)
    assert (means["unlabelled_removed"].mean, means["unlabelled_removed"].n) == (1.0, 4)


def test_outcomes_of_a_run_without_the_newer_metrics_are_read() -> None:
    outcome = judge_one(["gold"], {"gold": 1}, {"bad"})
    older = {name: value for name, value in outcome.values().items() if "remov" not in name}
    assert PerQuery.of("q", older) == outcome


def test_queries_that_found_nothing_count_as_zero() -> None:
    suite = suite_of({"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}, {"q3": {"b"}})
    outcomes = outcomes_of(suite, {"q2": [], "q1": ["a"], "stranger": ["a"]})
    assert [outcome.id for outcome in outcomes] == ["q1", "q2", "q3"]
    assert by_query(outcomes, "ndcg@10") == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert by_query(outcomes, "success@10") == {"q1": 1.0, "q2": 0.0, "q3": 0.0}
    assert by_query(outcomes, "leak@10") == {"q3": 0.0}
    assert by_query(outcomes_of(suite, {}), "ndcg@10") == {"q1": 0.0, "q2": 0.0, "q3": 0.0}


def test_what_cannot_be_judged() -> None:
    suite = suite_of({"q1": {"a": 1}})
    with pytest.raises(InvalidInput, match="the ranking of query 'q1' holds a document twice"):
        outcomes_of(suite, {"q1": ["a", "b", "a"]})
    with pytest.raises(InvalidInput, match="beta must be a number of at least 0, got nan"):
        outcomes_of(suite, {}, beta=math.nan)
    with pytest.raises(InvalidInput, match="no metric 'mrr'; there are success@10"):
        by_query([], "mrr")


names = st.sampled_from([f"d{i}" for i in range(30)])
rankings = st.lists(names, unique=True)
grades = st.dictionaries(names, st.integers(1, 3), min_size=1, max_size=15)


@given(rankings, grades, st.sets(names))
def test_what_always_holds(ranking: list[str], golds: dict[str, int], excluded: set[str]) -> None:
    excluded -= golds.keys()
    outcome = judge_one(ranking, golds, excluded)
    assert outcome.success == (outcome.hit and not outcome.leak)
    assert outcome.ndcg is not None
    assert outcome.xndcg is not None
    assert outcome.xndcg <= outcome.ndcg + 1e-9
    assert (outcome.xndcg == pytest.approx(outcome.ndcg)) == (not outcome.leak)
    # with leaks for free it is nDCG, which ir_measures computes by other means
    assert xndcg(ranking, golds, excluded, beta=0) == pytest.approx(outcome.ndcg)


@given(rankings, grades, st.sets(names, min_size=1))
def test_what_lies_below_the_top_ten_changes_recall_alone(
    ranking: list[str], golds: dict[str, int], excluded: set[str]
) -> None:
    excluded -= golds.keys()
    whole = judge_one(ranking, golds, excluded).values()
    top = judge_one(ranking[:10], golds, excluded).values()
    del whole["recall@100"], top["recall@100"]
    assert whole == top


def graded(success: list[bool], ndcg: list[float]) -> list[PerQuery]:
    return [
        PerQuery(f"q{i}", hit, hit, None, None, value, value, 1.0)
        for i, (hit, value) in enumerate(zip(success, ndcg, strict=True))
    ]


def test_means_are_over_the_queries_that_have_the_outcome() -> None:
    suite = suite_of({"q1": {"a": 1}, "q2": {"a": 1}, "q3": {"a": 1}}, {"q1": {"b"}, "q2": {"b", "c"}})
    run = {"q1": ["a"], "q2": ["b", "a"], "q3": ["a"]}
    means = aggregate(outcomes_of(suite, run, fired={"q1": True, "q2": False, "q3": False}))
    assert tuple(means) == tuple(name for name in METRICS if "remov" not in name)  # what was removed is not known
    assert {name: (round(value.mean, 4), value.n) for name, value in means.items()} == {
        "success@10": (0.6667, 3),
        "hit@10": (1.0, 3),
        "leak@10": (0.5, 2),
        "leaked_documents@10": (0.25, 2),
        "ndcg@10": (round((2 + SECOND) / 3, 4), 3),
        "xndcg@10": (round((2 + SECOND - 1) / 3, 4), 3),
        "recall@100": (1.0, 3),
        "fire_rate": (0.3333, 3),
    }


def test_a_metric_that_no_query_has_is_left_out() -> None:
    assert aggregate([]) == {}
    assert not {"leak@10", "fire_rate"} & aggregate(graded([True], [0.5])).keys()


def test_wilson_intervals_of_shares() -> None:
    found = aggregate(graded([True] * 8 + [False] * 2, [0.5] * 10))["success@10"]
    assert (found.mean, found.n) == (0.8, 10)
    assert (found.low, found.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))
    never = accuracy([False] * 10)
    assert (never.mean, never.low, never.high) == (0.0, 0.0, pytest.approx(0.2775, abs=1e-4))
    assert accuracy([True] * 10).high == 1.0
    with pytest.raises(InvalidInput, match="no pairs"):
        accuracy([])


def test_bootstrap_intervals_of_graded_outcomes() -> None:
    values = [i / 399 for i in range(400)]
    found = aggregate(graded([True] * 400, values))["ndcg@10"]
    half = 1.96 * math.sqrt(1 / 12 / 400)  # the normal interval of a uniform mean
    assert found.low == pytest.approx(0.5 - half, abs=0.004)
    assert found.high == pytest.approx(0.5 + half, abs=0.004)
    assert aggregate(graded([True] * 400, values), seed=1)["ndcg@10"] != found
    assert aggregate(graded([True] * 400, values))["ndcg@10"] == found


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=20))
def test_an_interval_holds_its_mean(drawn: list[tuple[bool, float]]) -> None:
    for estimate in aggregate(graded([hit for hit, _ in drawn], [value for _, value in drawn])).values():
        assert 0 <= estimate.low <= estimate.mean + 1e-12
        assert estimate.mean - 1e-12 <= estimate.high <= 1


def test_groups_by_tier_and_by_any_other_key() -> None:
    metadata: dict[str, dict[str, object]] = {
        "q1": {"tier": "T2", "words": 5},
        "q2": {"tier": "T1", "words": 5},
        "q3": {"tier": "T2", "excluded": ["x"]},
        "q4": {},
    }
    suite = suite_of({id: {"a": 1} for id in metadata}, metadata=metadata)
    outcomes = outcomes_of(suite, {"q1": ["a"], "q2": ["a"]})
    tiers = aggregate_by(outcomes, suite.queries)
    assert [(tier, means["hit@10"].mean, means["hit@10"].n) for tier, means in tiers.items()] == [
        ("T2", 0.5, 2),
        ("T1", 1.0, 1),
    ]
    assert aggregate_by(outcomes, suite.queries, "words")["5"]["hit@10"].n == 2
    assert aggregate_by(outcomes, suite.queries, "unheard-of") == {}
    with pytest.raises(InvalidInput, match="cannot be grouped by 'excluded': for query 'q3' it is a list"):
        aggregate_by(outcomes, suite.queries, "excluded")


def test_a_pair_needs_all_its_preferences() -> None:
    assert pair_holds([(0.9, 0.1), (0.9, 0.1)])
    assert not pair_holds([(0.9, 0.1), (0.1, 0.9)])
    assert not pair_holds([(0.5, 0.5)])
