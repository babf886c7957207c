"""The coverage rule: all that is about the topic goes, what merely mentions it and answers stays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.errors import InvalidInput
from excise.rules.coverage import Coverage, cover, lifted, margins
from excise.rules.signals import Signals

ABOUT = Signals(
    evidence=np.array([0.9, 0.9, 0.9, 0.9, 0.9, 0.2, 0.2, 0.2, 0.2]),
    opening=np.array([0.9, 0.9, 0.9, 0.9, 0.9, 0.1, 0.1, 0.1, 0.1]),
    relevance=np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.49, 0.48, 0.47]),
)
SCORES = np.arange(9, 0, -1.0)


@st.composite
def shortlists(draw: st.DrawFn) -> tuple[np.ndarray, Signals]:
    size = draw(st.integers(1, 30))
    share = st.floats(0, 1, allow_nan=False)
    columns = [np.array(draw(st.lists(share, min_size=size, max_size=size))) for _ in range(4)]
    return columns[0] * 10, Signals(*columns[1:])


def test_five_pages_about_the_topic_are_five_removals() -> None:
    decision = cover(SCORES, ABOUT)
    assert set(decision.removed) == {0, 1, 2, 3, 4}
    assert decision.kept.tolist() == [5, 6, 7, 8]
    assert decision.branch == "coverage"


def test_a_page_that_mentions_the_topic_stays_where_it_leads() -> None:
    opening = np.array([0.9, 0.1, *[0.1] * 7])
    answers = np.array([0.5, 0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5])
    signals = Signals(np.array([0.9, 0.9, *[0.2] * 7]), opening, answers)
    decision = cover(SCORES, signals)
    assert (decision.removed, decision.mentions) == ((0,), (1,))
    level = Signals(signals.evidence, opening, np.full(9, 0.5))
    assert set(cover(SCORES, level).removed) == {0, 1}


def test_a_passing_mention_of_a_rare_topic_needs_a_smaller_lead() -> None:
    relevance = np.array([0.5, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3, 0.25])  # candidate 1 leads by less than 2.4
    opening = np.array([0.9, 0.1, *[0.1] * 7])
    rare = Signals(np.array([0.9, 0.9, *[0.2] * 7]), opening, relevance)
    assert cover(SCORES, rare).mentions == (1,)
    assert set(cover(SCORES, rare, Coverage(few_matches=1)).removed) == {0, 1}
    common = Signals(np.array([0.9, 0.9, *[0.2] * 4, *[0.9] * 3]), opening, relevance)
    assert 1 in cover(SCORES, common).removed
    opens = Signals(rare.evidence, np.array([0.9, 0.6, *[0.1] * 7]), relevance)
    assert 1 in cover(SCORES, opens).removed


def test_the_guard_keeps_the_best_answer_though_it_is_about_the_topic() -> None:
    evidence = np.array([0.95, 0.93, *[0.2] * 7])
    signals = Signals(evidence, evidence, np.array([0.5, 0.9, *[0.5] * 7]))
    decision = cover(SCORES, signals)
    assert (decision.removed, decision.protected) == ((0,), 1)
    assert set(cover(SCORES, signals, Coverage(guard=False)).removed) == {0, 1}
    strongest = Signals(evidence[::-1].copy(), evidence[::-1].copy(), np.array([*[0.5] * 8, 0.9]))
    assert 8 in cover(SCORES, strongest).removed


def test_no_evidence_changes_nothing() -> None:
    faint = Signals(np.full(9, 0.3), np.full(9, 0.3), np.full(9, 0.5))
    decision = cover(SCORES, faint)
    assert decision.branch == "floor"
    assert decision.ranking.tolist() == list(range(9))
    assert decision.removed == ()


def test_few_candidates_are_reordered_and_never_removed() -> None:
    decision = cover(np.array([3.0, 2.0]), Signals(np.array([0.9, 0.5]), np.ones(2), np.ones(2)))
    assert decision.branch == "few"
    assert decision.removed == ()
    assert decision.ranking.tolist() == [1, 0]
    alone = cover(np.array([3.0]), Signals(np.array([0.9]), np.ones(1), np.ones(1)))
    assert alone.ranking.tolist() == [0]


@given(shortlists())
def test_every_candidate_is_ranked_once_and_the_removed_come_last(drawn: tuple[np.ndarray, Signals]) -> None:
    scores, signals = drawn
    decision = cover(scores, signals)
    assert sorted(decision.ranking.tolist()) == list(range(len(scores)))
    assert set(decision.ranking[len(scores) - len(decision.removed) :].tolist()) == set(decision.removed)
    kept = [decision.scores[i] for i in decision.kept]
    assert kept == sorted(kept, reverse=True)
    assert not set(decision.mentions) & set(decision.removed)
    assert decision.protected not in decision.removed
    if decision.cut is not None and decision.removed:
        assert all(signals.evidence[i] >= decision.cut for i in decision.removed)


@given(shortlists(), st.floats(0, 5), st.floats(0, 5))
def test_asking_for_a_larger_lead_removes_no_less(drawn: tuple[np.ndarray, Signals], one: float, other: float) -> None:
    scores, signals = drawn
    small, large = sorted((one, other))
    fewer = set(cover(scores, signals, Coverage(margin=small)).removed)
    assert fewer <= set(cover(scores, signals, Coverage(margin=large)).removed)


@given(shortlists(), st.floats(0.01, 100))
def test_the_scale_of_scores_and_answers_does_not_matter(drawn: tuple[np.ndarray, Signals], scale: float) -> None:
    _, signals = drawn
    if np.ptp(signals.relevance) * min(scale, 1) < 1e-6:
        return
    matching = signals.evidence >= 0.5
    scaled = margins(signals.relevance * scale, signals.evidence, matching)
    assert scaled == pytest.approx(margins(signals.relevance, signals.evidence, matching), abs=1e-4, rel=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"margin": -1},
        {"title_bonus": -0.5},
        {"evidence_floor": 1.5},
        {"shortlist": 0},
        {"minimum_shortlist": 1},
        {"match_fraction": True},
        {"few_matches": 0},
    ],
)
def test_constants_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Coverage(**wrong)  # type: ignore[arg-type]


def test_what_is_asked_for_by_title_stays_unless_it_is_about_the_topic() -> None:
    opening = np.array([0.9, 0.3, 0.9, *[0.1] * 6])
    named = np.array([False, True, True, *[False] * 6])
    signals = Signals(np.array([0.9, 0.9, 0.9, *[0.2] * 6]), opening, np.full(9, 0.5), named)
    decision = cover(SCORES, signals)
    assert (set(decision.removed), decision.mentions) == ({0, 2}, (1,))


def test_what_is_asked_for_by_title_is_lifted_by_the_bonus_alone() -> None:
    named = np.arange(9) == 5
    raised = lifted(SCORES, named, Coverage(title_bonus=1.5))
    assert raised[5] - SCORES[5] == pytest.approx(1.5 * SCORES.std())
    assert (raised[~named] == SCORES[~named]).all()
    assert (lifted(SCORES, named, Coverage(title_bonus=0.0)) == SCORES).all()


def test_a_loud_topic_does_not_hide_a_faint_one() -> None:
    chess, maths = np.array([0.9, *[0.1] * 8]), np.array([0.1, 0.55, 0.5, *[0.1] * 6])
    both = np.stack([chess, maths])
    decision = cover(SCORES, Signals(both, both, np.full(9, 0.5)))
    assert set(decision.removed) == {0, 1, 2}
    assert decision.cut == pytest.approx(0.4)
    pooled = both.max(axis=0)
    assert cover(SCORES, Signals(pooled, pooled, np.full(9, 0.5))).removed == (0,)


def test_a_topic_that_nothing_reaches_rules_nothing_out() -> None:
    chess, faint = np.array([0.9, *[0.1] * 8]), np.array([0.1, 0.39, *[0.1] * 7])
    both = np.stack([chess, faint])
    assert cover(SCORES, Signals(both, both, np.full(9, 0.5))).removed == (0,)
