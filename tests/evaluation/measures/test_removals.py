"""Measures of removals against examples worked by hand, and against scikit-learn."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, brier_score_loss

from excise.errors import InvalidInput
from excise.evaluation.measures.estimates import proportion
from excise.evaluation.measures.removals import (
    REMOVAL_METRICS,
    CandidateStatus,
    GradedCandidate,
    SearchRemovals,
    average_precision,
    reliability,
    removal_estimates,
)
from excise.suites.coverage_labels import Grade, TopicKind


def one(grade: Grade, status: CandidateStatus, chance: float | None = None) -> GradedCandidate:
    return GradedCandidate("d", grade, status, chance, chance)


def search(
    *candidates: GradedCandidate, kind: TopicKind = "present", removals: int = 0, top: int = 0
) -> SearchRemovals:
    return SearchRemovals("cars", kind, candidates, removals, top)


WORKED = [
    search(one(2, "removed", 0.9), one(1, "removed", 0.7), one(0, "kept", 0.1), one(2, "kept", 0.6), removals=7, top=3),
    search(one(2, "removed", 0.8), one(0, "removed", 0.75), one(1, "mentions", 0.2), removals=3, top=1),
    search(one(2, "not_shortlisted"), one(0, "kept", 0.3), removals=0),
    search(one(0, "removed", 0.65), one(0, "kept", 0.05), kind="foreign", removals=2, top=1),
    search(one(0, "kept", 0.15), kind="foreign", removals=1),
]


def test_every_measure_by_hand() -> None:
    found = removal_estimates(WORKED)
    # by score: .9 covers, .8 covers, .75, .7, .65 not, .6 covers, and nothing more
    ranked = (1 / 1 + 2 / 2 + 3 / 6) / 3
    squares = [0.1, 0.7, 0.1, 0.4, 0.2, 0.75, 0.2, 0.3, 0.65, 0.05, 0.15]
    expected = {
        "precision": (2 / 5, 5),
        "precision_1+": (3 / 5, 5),
        "recall": (2 / 4, 4),
        "recall_1+": (3 / 6, 6),
        "removed_grade_1": (1 / 2, 2),
        "removed_grade_0": (2 / 6, 6),
        "not_shortlisted": (1 / 12, 12),
        "average_precision": (ranked, 11),
        "brier": (sum(square**2 for square in squares) / 11, 11),
        "foreign_removals": (3 / 2, 2),
        "foreign_removals@10": (1 / 2, 2),
        "present_removals": (10 / 3, 3),
        "present_removals@10": (4 / 3, 3),
    }
    assert tuple(found) == tuple(expected) == REMOVAL_METRICS
    for name, (mean, n) in expected.items():
        assert (found[name].mean, found[name].n) == (pytest.approx(mean), n), name


def test_what_has_no_figure_is_left_out() -> None:
    assert removal_estimates([]) == {}
    found = removal_estimates([search(GradedCandidate("d", 0, "kept"))])
    assert list(found) == ["removed_grade_0", "not_shortlisted", "present_removals", "present_removals@10"]
    scored = removal_estimates([search(GradedCandidate("d", 2, "kept", score=0.4))])
    assert scored["average_precision"].mean == 1.0
    assert "brier" not in scored


def test_intervals_of_shares_hold_wilsons_and_know_that_candidates_of_a_search_go_together() -> None:
    alike = [search(*[one(2, "removed" if right else "kept")] * 10) for right in [True] * 6 + [False] * 4]
    recall = removal_estimates(alike)["recall"]
    plain = proportion(60, 100)
    assert recall.mean == plain.mean == 0.6
    assert recall.low < plain.low - 0.1  # ten searches, not a hundred candidates
    assert recall.high > plain.high + 0.1
    never = removal_estimates([search(one(2, "kept"))] * 5)["recall"]
    assert (never.mean, never.low, never.high) == (0.0, 0.0, proportion(0, 5).high)


def test_the_seed_decides_the_intervals_and_nothing_else() -> None:
    first, again, other = (removal_estimates(WORKED, seed) for seed in (0, 0, 1))
    assert first == again != other
    assert {name: value.mean for name, value in first.items()} == {name: value.mean for name, value in other.items()}
    for value in first.values():
        assert value.low <= value.mean <= value.high


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9]), st.booleans()), min_size=1, max_size=40))
def test_average_precision_is_that_of_scikit_learn(drawn: list[tuple[float, bool]]) -> None:
    scores, relevant = [score for score, _ in drawn], [wanted for _, wanted in drawn]
    if any(relevant):
        assert average_precision(scores, relevant) == pytest.approx(average_precision_score(relevant, scores))
    else:
        with pytest.raises(InvalidInput, match="at least one relevant"):
            average_precision(scores, relevant)


def test_resampled_average_precision_is_that_of_searches_drawn_anew() -> None:
    draw = random.Random(0)
    made = [search(*[one(draw.choice([0, 2]), "kept", round(draw.random(), 1)) for _ in range(5)]) for _ in range(30)]
    found = removal_estimates(made)["average_precision"]
    rng, means = np.random.default_rng(1), []
    for _ in range(2_000):
        drawn = [c for i in rng.integers(0, len(made), len(made)) for c in made[i].candidates]
        means.append(average_precision_score([c.grade == 2 for c in drawn], [c.score for c in drawn]))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, (0.025, 0.975))), abs=0.015)


def test_calibration() -> None:
    chances = [0.0, 0.05, 0.1, 0.19, 0.92, 0.95, 1.0]
    grades: list[Grade] = [0, 2, 1, 0, 2, 2, 0]
    made = [search(*[one(grade, "kept", chance) for grade, chance in zip(grades, chances, strict=True)])]
    made.append(search(GradedCandidate("d", 2, "kept", score=0.5)))  # no probability: in no bin
    curve = reliability(made)
    assert [(round(bin.low, 1), round(bin.high, 1)) for bin in curve] == [(i / 10, (i + 1) / 10) for i in range(10)]
    assert [bin.count for bin in curve] == [2, 2, 0, 0, 0, 0, 0, 0, 0, 3]
    assert (curve[0].probability, curve[0].share) == (pytest.approx(0.025), 0.5)
    assert (curve[1].probability, curve[1].share) == (pytest.approx(0.145), 0.0)
    assert (curve[-1].probability, curve[-1].share) == (pytest.approx(2.87 / 3), pytest.approx(2 / 3))
    assert curve[5].probability is curve[5].share is None
    brier = removal_estimates(made)["brier"].mean
    assert brier == pytest.approx(brier_score_loss([grade == 2 for grade in grades], chances))
    assert reliability([search(one(2, "kept"))]) == ()
