"""Validation figures and the threshold's noise test, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from excise.results import Detection, Topic
from excise.training.detector.examples import Example
from excise.training.detector.validation import THRESHOLDS, choose_threshold, span_match


def example(fires: bool, source: str = "x") -> Example:
    return Example("cars, not Tesla", ((10, 15),) if fires else (), source, "explicit")


def test_span_match() -> None:
    both = Example("neither tea nor coffee", ((8, 11), (16, 22)), "x", "disjunctive")
    one = Detection(both.text, True, 0.9, (Topic("coffee", 16, 22, 0.9),))
    assert span_match(both, one) == (6 / 9, 1.0, 0.0)
    more = Detection(both.text, True, 0.9, (Topic("tea nor coffee", 8, 22, 0.9),))
    assert span_match(both, more) == (1.0, 9 / 14, 1.0)


def test_a_flat_curve_keeps_the_default() -> None:
    examples = [example(True)] * 50 + [example(False)] * 50
    scores = np.array([0.99] * 50 + [0.01] * 50)
    result = choose_threshold(scores, examples, 0.76)
    assert (result.threshold, result.spread) == (0.76, 0.0)
    assert result.admissible == THRESHOLDS


def test_the_budget_decides_what_is_admissible() -> None:
    examples = [example(True)] * 100 + [example(False, "plain")] * 100
    scores = np.array([0.95] * 100 + [0.9] * 5 + [0.0] * 95)
    result = choose_threshold(scores, examples, 0.76)
    assert result.admissible == (0.9, 0.92, 0.94, 0.96, 0.98)
    assert result.threshold == 0.9
    assert result.verdict.startswith("moved")


def test_no_admissible_threshold_is_said() -> None:
    examples = [example(True), example(False, "plain")]
    assert "no threshold" in choose_threshold(np.array([1.0, 1.0]), examples, 0.76).verdict


def test_a_curve_that_moves_less_than_its_noise_keeps_the_default() -> None:
    rng = np.random.default_rng(0)
    examples = [example(True)] * 30 + [example(False)] * 30
    scores = np.concatenate([rng.uniform(0.7, 1, 30), rng.uniform(0, 0.3, 30)])
    result = choose_threshold(scores, examples, 0.76)
    assert result.spread > 0
    assert (
        result.threshold == pytest.approx(0.76) or result.youden[result.threshold] - result.youden[0.76] > result.noise
    )
