"""The paired bootstrap: known answers, symmetry, and what cannot be compared."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.errors import InvalidInput
from excise.evaluation.measures.significance import bootstrap_means, compare


def named(values: list[float]) -> dict[str, float]:
    return {f"q{i}": value for i, value in enumerate(values)}


def test_no_difference() -> None:
    result = compare(named([1, 0, 1]), named([1, 0, 1]))
    assert (result.difference, result.low, result.high, result.p_value) == (0.0, 0.0, 0.0, 1.0)
    assert (result.queries, result.resamples) == (3, 10_000)


def test_a_difference_on_every_query() -> None:
    result = compare(named([1] * 20), named([0] * 20))
    assert (result.difference, result.low, result.high) == (1.0, 1.0, 1.0)
    assert result.p_value == pytest.approx(2 / 10_001)


def test_a_p_value_that_can_be_worked_out() -> None:
    # One query of five is won. A resample shows no gain where it never draws that query: (4/5)^5 = 0.32768.
    result = compare(named([1, 0, 0, 0, 0]), named([0] * 5))
    assert result.difference == pytest.approx(0.2)
    assert result.p_value == pytest.approx(2 * 0.32768, abs=0.03)


def test_rounding_does_not_take_sides() -> None:
    # Two queries: half of the resamples draw both, and their difference is zero up to rounding.
    result = compare({"a": 0.1 + 0.2, "b": 0.0}, {"a": 0.0, "b": 0.3})
    assert result.p_value == 1.0


def test_the_interval_is_near_the_normal_one() -> None:
    rng = np.random.default_rng(5)
    system, baseline = rng.random(500), rng.random(500) * 0.9
    result = compare(named(system.tolist()), named(baseline.tolist()))
    half = 1.96 * (system - baseline).std() / math.sqrt(500)
    assert result.difference == pytest.approx((system - baseline).mean())
    assert result.low == pytest.approx(result.difference - half, abs=0.003)
    assert result.high == pytest.approx(result.difference + half, abs=0.003)


outcomes = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1)


@given(outcomes)
def test_turning_the_systems_round_turns_the_sign(drawn: list[tuple[float, float]]) -> None:
    system, baseline = named([a for a, _ in drawn]), named([b for _, b in drawn])
    there, back = compare(system, baseline, resamples=500), compare(baseline, system, resamples=500)
    assert there.p_value == back.p_value
    assert there.difference == -back.difference
    assert (there.low, there.high) == (pytest.approx(-back.high), pytest.approx(-back.low))
    assert 0 < there.p_value <= 1


def test_queries_are_aligned_by_id_and_the_seed_decides() -> None:
    system, baseline = named([1, 0, 1, 1, 0, 0.5]), named([0, 0, 1, 0.5, 1, 0])
    shuffled = dict(reversed(system.items()))
    assert compare(shuffled, baseline) == compare(system, baseline)
    assert compare(system, baseline, seed=1) != compare(system, baseline)


@pytest.mark.parametrize(
    ("system", "baseline", "sentence"),
    [
        ({"a": 1.0, "b": 1.0, "c": 1.0}, {"a": 1.0}, "'b' and 1 more are only in the system's outcomes"),
        ({"a": 1.0}, {"a": 1.0, "b": 1.0}, "'b' is only in the baseline's outcomes"),
        ({}, {}, "no outcomes"),
        ({"a": math.nan}, {"a": 1.0}, "must be a finite number"),
    ],
)
def test_what_cannot_be_compared(system: dict[str, float], baseline: dict[str, float], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        compare(system, baseline)


def test_resamples_must_be_a_count() -> None:
    with pytest.raises(InvalidInput, match="resamples must be a whole number of at least 1, got 0"):
        compare({"a": 1.0}, {"a": 0.0}, resamples=0)


@pytest.mark.parametrize("size", [1, 7, 300_000])
def test_every_resample_is_filled(size: int) -> None:
    means = bootstrap_means(np.ones(size), resamples=11)
    assert means.tolist() == [1.0] * 11
