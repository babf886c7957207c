"""The rule: its worked examples, and the properties that the paper claims for it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.rules.paper import Constants, demote

values = st.floats(-30, 30, allow_nan=False, width=32)
matches = st.floats(0, 1, allow_nan=False, width=32)


@st.composite
def shortlists(draw: st.DrawFn, least: int = 1, most: int = 30) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    size = draw(st.integers(least, most))
    scores = draw(st.lists(values, min_size=size, max_size=size, unique=True))
    evidence = draw(st.lists(matches, min_size=size, max_size=size, unique=True))
    return np.array(scores), np.array(evidence)


def test_a_worked_example() -> None:
    # mean 0.52, sample sd 0.3754...; cut = 0.52 + 0.5 * sd
    evidence = np.array([0.95, 0.30, 0.90, 0.25, 0.20])
    decision = demote([9.0, 8.5, 8.4, 8.0, 7.5], evidence)
    cut = evidence.mean() + 0.5 * evidence.std(ddof=1)
    assert decision.cut == pytest.approx(cut)
    assert decision.penalties == pytest.approx(0.97 * np.maximum(evidence - cut, 0))
    assert decision.removed == (0, 2)
    assert decision.protected == 1
    assert decision.ranking.tolist() == [1, 3, 4, 0, 2]
    assert decision.kept.tolist() == [1, 3, 4]
    assert decision.branch == "relative"


def test_paper_values() -> None:
    constants = Constants()
    assert (constants.evidence_floor, constants.anomaly_width) == (0.35, 0.5)
    assert (constants.penalty_scale, constants.removal_fraction, constants.removal_cap) == (0.97, 0.6, 3)
    assert (constants.minimum_shortlist, constants.shortlist) == (4, 100)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_shortlists_take_the_absolute_rule(size: int) -> None:
    evidence = [0.9, 0.2, 0.1][:size]
    decision = demote([5.0, 4.8, 4.7][:size], evidence)
    assert decision.branch == "absolute"
    assert decision.cut == 0.35
    assert decision.removed == ()
    assert decision.penalties[0] == pytest.approx(0.97 * (0.9 - 0.35))


def test_without_the_soft_penalty_a_small_shortlist_loses_its_strongest_match() -> None:
    decision = demote([5.0, 4.8], [0.9, 0.2], Constants(soft_penalty=False))
    assert decision.removed == (0,)
    assert decision.ranking.tolist() == [1, 0]


@given(shortlists(), st.floats(0.01, 0.34))
def test_below_the_floor_nothing_is_demoted(
    shortlist: tuple[NDArray[np.float64], NDArray[np.float64]], top: float
) -> None:
    scores, evidence = shortlist
    decision = demote(scores, evidence * top)
    assert decision.branch == "floor"
    assert decision.removed == ()
    assert not decision.penalties.any()
    assert decision.ranking.tolist() == np.argsort(-scores, kind="stable").tolist()


@given(shortlists(), st.integers(0, 5))
def test_no_more_than_the_cap_is_removed_and_never_the_guards_candidate(
    shortlist: tuple[NDArray[np.float64], NDArray[np.float64]], cap: int
) -> None:
    scores, evidence = shortlist
    decision = demote(scores, evidence, Constants(removal_cap=cap))
    assert len(decision.removed) <= cap
    assert decision.protected not in decision.removed
    assert sorted(decision.ranking.tolist()) == list(range(len(scores)))
    if decision.protected is not None:
        strongest = int(np.argmax(evidence))
        best_other = max((s, i) for i, s in enumerate(decision.scores) if i != strongest)[1]
        assert decision.scores[decision.protected] == decision.scores[best_other]
        assert decision.protected != strongest


@given(shortlists(least=2), st.randoms(use_true_random=False))
def test_permuting_the_candidates_permutes_the_answer(
    shortlist: tuple[NDArray[np.float64], NDArray[np.float64]], random: object
) -> None:
    scores, evidence = shortlist
    order = list(range(len(scores)))
    random.shuffle(order)  # type: ignore[attr-defined]
    first, second = demote(scores, evidence), demote(scores[order], evidence[order])
    assume(len(set(first.scores.tolist())) == len(scores))
    assert [order[i] for i in second.ranking] == first.ranking.tolist()
    assert [order[i] for i in second.removed] == list(first.removed)
    assert second.cut == first.cut
    assert (None if second.protected is None else order[second.protected]) == first.protected


@given(shortlists(least=4))
def test_flat_penalty_invariance(shortlist: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    """Proposition 2: a penalty whose spread is below the smallest gap between scores keeps the order."""
    scores, evidence = shortlist
    constants = Constants(removal=False)
    gap = float(np.diff(np.sort(scores)).min())
    spread = np.ptp(demote(scores, evidence, constants).penalties)
    narrowed = evidence if spread < gap else 0.5 + (evidence - 0.5) * min(1.0, gap / 4)
    decision = demote(scores, narrowed, constants)
    assume(np.ptp(decision.penalties) < gap * (1 - 1e-9))
    assert decision.ranking.tolist() == np.argsort(-scores, kind="stable").tolist()


def test_equal_evidence_everywhere_moves_nothing_softly() -> None:
    scores = np.linspace(9, 8, 50)
    decision = demote(scores, np.full(50, 0.8), Constants(removal=False))
    assert decision.ranking.tolist() == list(range(50))


@pytest.mark.parametrize(
    ("constants", "removed"),
    [
        (Constants(removal=False), ()),
        (Constants(guard=False), (0, 1)),
        (Constants(removal_cap=1), (0,)),
        (Constants(removal_fraction=0.99), (0,)),
        (Constants(removal_cap=3, drop="fixed", guard=False), (0, 1, 2)),
        (Constants(removal_cap=0), ()),
    ],
)
def test_parts_can_be_switched_off(constants: Constants, removed: tuple[int, ...]) -> None:
    assert demote([5.0, 4.9, 4.0, 3.0], [0.9, 0.8, 0.2, 0.1], constants).removed == removed


def test_the_guard_protects_the_best_candidate_that_is_not_the_strongest_match() -> None:
    # Candidate 1 leads after the penalty and is itself a match: it is the guard's, candidate 0 is not.
    decision = demote([5.0, 4.9, 4.0, 3.0], [0.9, 0.8, 0.2, 0.1])
    assert decision.protected == 1
    assert decision.removed == (0,)


def test_an_absolute_cut_can_be_asked_for() -> None:
    decision = demote([5.0, 4.0, 3.0, 2.0], [0.9, 0.5, 0.4, 0.3], Constants(relative_cut=False))
    assert decision.branch == "absolute"
    assert decision.penalties == pytest.approx(0.97 * np.maximum(np.array([0.9, 0.5, 0.4, 0.3]) - 0.35, 0))


@pytest.mark.parametrize(
    ("scores", "evidence", "sentence"),
    [
        ([], [], "scores is empty"),
        ([1.0], [], "evidence is empty"),
        ([1.0, 2.0], [0.5], "one value per candidate, got 2 and 1"),
        ([1.0, float("nan")], [0.5, 0.5], "scores must be finite, got nan for candidate 1"),
        ([1.0, 2.0], [float("inf"), 0.5], "evidence must be finite, got inf for candidate 0"),
        ([[1.0]], [[0.5]], "one-dimensional, got shape (1, 1)"),
        (["a"], [0.5], "scores must be a list of numbers"),
    ],
)
def test_bad_input_is_refused_with_a_sentence(scores: list[float], evidence: list[float], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence.replace("(", r"\(").replace(")", r"\)")):
        demote(scores, evidence)


@pytest.mark.parametrize(
    "wrong",
    [
        {"evidence_floor": 1.5},
        {"evidence_floor": -0.1},
        {"anomaly_width": float("nan")},
        {"penalty_scale": -1.0},
        {"removal_fraction": "x"},
        {"removal_cap": 1.5},
        {"minimum_shortlist": 1},
        {"shortlist": 0},
        {"removal_cap": True},
        {"drop": "some"},
    ],
)
def test_constants_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Constants(**wrong)  # type: ignore[arg-type]


def test_constants_as_dict_rebuild_them() -> None:
    constants = Constants(removal_cap=5, drop="fixed")
    assert Constants(**constants.as_dict()) == constants  # type: ignore[arg-type]


def test_the_rule_imports_no_torch() -> None:
    script = "import sys; from excise.rules.paper import demote; demote([1], [0]); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)
