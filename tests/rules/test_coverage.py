"""The coverage rule: what surely covers the topic goes, what may cover it comes last, all else keeps its place."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.rules.coverage import Coverage, cover, margins
from excise.rules.signals import Signals
from excise.settings import resolve

SCORES = np.arange(9, 0, -1.0)
CLEAR = [0.0] * 6
NONE = np.zeros(9, dtype=bool)
Shortlisted = tuple[NDArray[np.float64], Signals]


def signals_of(probability: list[float], **changes: Any) -> Signals:
    """The signals of one topic whose evidence is strong where it is likely covered; nothing leads, nothing is named."""
    row = np.array([probability])
    strong = np.where(row > 0, 0.9, 0.2)
    plain = Signals(row, strong, strong, np.full(row.size, 0.5), np.zeros(row.size, bool), NONE, np.ones(1))
    return replace(plain, **changes)


@st.composite
def shortlists(draw: st.DrawFn, least: int = 1) -> Shortlisted:
    """Any shortlist: one to three topics, probabilities at the thresholds too, no two scores alike."""
    size, topics = draw(st.integers(least, 24)), draw(st.integers(1, 3))
    share = st.floats(0, 1, allow_nan=False)
    likely = st.one_of(share, st.sampled_from([0.0, Coverage().doubt, Coverage().caution, 1.0]))

    def rows(values: st.SearchStrategy[float]) -> NDArray[np.float64]:
        return np.array(draw(st.lists(values, min_size=size * topics, max_size=size * topics))).reshape(topics, size)

    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    scores = draw(st.lists(st.integers(-1_000, 1_000), min_size=size, max_size=size, unique=True))
    relevance = np.array(draw(st.lists(share, min_size=size, max_size=size)))
    excluded = np.array(draw(st.lists(share, min_size=topics, max_size=topics)))
    named, asked = np.array(draw(flags)), np.array(draw(flags))
    signals = Signals(rows(likely), rows(share), rows(share), relevance, named, asked, excluded)
    return np.array(scores) / 10, signals


def taken(signals: Signals, order: list[int]) -> Signals:
    return Signals(
        signals.probabilities[:, order],
        signals.evidence[:, order],
        signals.opening[:, order],
        signals.relevance[order],
        signals.named[order],
        signals.title_match[order],
        signals.excluded,
    )


def test_what_reaches_the_caution_is_removed_however_much_it_is() -> None:
    decision = cover(SCORES, signals_of([0.45, 0.9, 0.6, *CLEAR]))
    assert decision.removed == (1, 2, 0)  # the surest first
    assert decision.kept.tolist() == [3, 4, 5, 6, 7, 8]
    assert (decision.branch, decision.cut) == ("coverage", 0.45)
    assert (decision.penalties == 0).all()
    everything = cover(SCORES, signals_of([0.9] * 9))
    assert len(everything.removed) == 9
    assert everything.kept.size == 0


def test_what_may_cover_the_topic_ranks_below_all_that_is_clear_and_above_the_removed() -> None:
    decision = cover(SCORES, signals_of([0.9, 0.1, 0.34, *CLEAR]))
    assert (decision.removed, decision.doubtful) == ((0,), (2, 1))
    assert decision.ranking.tolist() == [3, 4, 5, 6, 7, 8, 1, 2, 0]
    assert decision.kept.tolist() == [3, 4, 5, 6, 7, 8, 1, 2]


def test_a_doubtful_one_that_leads_the_rest_of_the_query_keeps_its_place_as_a_mention() -> None:
    relevance = np.array([0.5, 0.9, *[0.5] * 7])
    leading = signals_of([0.9, 0.2, 0.0, *CLEAR], relevance=relevance)
    decision = cover(SCORES, leading)
    assert (decision.removed, decision.doubtful, decision.mentions) == ((0,), (), (1,))
    assert decision.ranking.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]
    assert decision.margins is not None
    assert decision.margins[1] > Coverage().margin
    assert cover(SCORES, leading, Coverage(margin=9.0)).doubtful == (1,)


def test_a_margin_saves_what_may_well_cover_the_topic_and_not_what_is_certain_to() -> None:
    leading = np.array([0.9, *[0.5] * 8])
    likely = cover(SCORES, signals_of([0.6, *[0.0] * 8], relevance=leading))
    assert (likely.removed, likely.mentions) == ((), (0,))
    assert cover(SCORES, signals_of([0.9, *[0.0] * 8], relevance=leading)).removed == (0,)
    assert cover(SCORES, signals_of([0.6, *[0.0] * 8])).removed == (0,)


def test_what_names_the_topic_and_is_not_likely_to_cover_it_is_marked_and_stays() -> None:
    decision = cover(SCORES, signals_of([0.9, 0.0, 0.0, *CLEAR], named=np.arange(9) < 2))
    assert (decision.removed, decision.doubtful, decision.mentions) == ((0,), (), (1,))
    assert decision.ranking.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 0]


def test_a_faint_match_is_not_demoted_where_another_is_far_stronger() -> None:
    signals = signals_of([0.9, 0.1, 0.1, *CLEAR], evidence=np.array([[0.9, 0.52, 0.48, *[0.1] * 6]]))
    assert cover(SCORES, signals).doubtful == (1,)  # 0.5 is as far down the way from 0.9 to 0.1 as it may be
    assert cover(SCORES, signals, Coverage(match_share=1.0)).doubtful == (1, 2)


def test_how_near_a_match_is_depends_on_how_well_the_others_match_and_not_on_the_scale() -> None:
    evidence = np.array([[0.9, 0.7, 0.45, *[0.1] * 6]])
    signals = signals_of([0.9, 0.1, 0.1, *CLEAR], evidence=evidence)
    assert cover(SCORES, signals).doubtful == (1,)
    jargon = replace(signals, evidence=np.where(evidence < 0.6, 0.6, evidence))  # everything sounds like the topic
    assert cover(SCORES, jargon).doubtful == ()
    assert cover(SCORES, replace(signals, evidence=0.6 + 0.3 * evidence)).doubtful == (1,)


def test_what_covers_a_topic_that_may_not_be_excluded_is_demoted_and_not_removed() -> None:
    signals = signals_of([0.95, 0.6, 0.0, *CLEAR], excluded=np.array([0.7]))
    decision = cover(SCORES, signals)
    assert (decision.removed, decision.doubtful) == ((0,), (1,))  # 0.7 of 0.95 reaches the caution, of 0.6 it does not
    weak = replace(signals, evidence=np.array([[0.9, 0.2, *[0.1] * 7]]))
    assert cover(SCORES, weak).doubtful == (1,)  # likelier than not to cover it, however it matches
    unsure = cover(SCORES, replace(signals, excluded=np.array([0.3])))
    assert (unsure.removed, unsure.doubtful) == ((), (0, 1))


def test_what_hardly_covers_a_topic_is_not_demoted_where_another_surely_does() -> None:
    faint = [0.02, 0.02, 0.0, *CLEAR]
    assert cover(SCORES, signals_of([0.2, *faint[1:]])).doubtful == (0, 1)
    beside = cover(SCORES, signals_of([0.99, *faint[1:]]))
    assert (beside.removed, beside.doubtful) == ((0,), ())
    assert cover(SCORES, signals_of([0.99, *faint[1:]]), Coverage(odds_fraction=0.0)).doubtful[0] == 1
    assert cover(SCORES, signals_of([1.0, *faint[1:]])).doubtful == ()


def test_where_the_likeliest_is_not_likely_nothing_is_demoted() -> None:
    assert cover(SCORES, signals_of([0.039, 0.03, 0.0, *CLEAR])).branch == "clear"
    assert cover(SCORES, signals_of([0.041, 0.03, 0.0, *CLEAR])).doubtful == (0, 1)


def test_a_loud_topic_does_not_hide_a_faint_one() -> None:
    chess, maths = [0.2, *[0.0] * 8], [0.0, 0.2, *[0.0] * 7]
    evidence = np.array([[0.9, *[0.1] * 8], [0.1, 0.45, *[0.1] * 7]])
    both = signals_of(chess, probabilities=np.array([chess, maths]), evidence=evidence, opening=evidence)
    assert set(cover(SCORES, both).doubtful) == {0, 1}
    pooled = signals_of(chess, probabilities=np.array([[0.2, 0.2, *[0.0] * 7]]), evidence=evidence.max(axis=0)[None])
    assert cover(SCORES, pooled).doubtful == (0,)


def test_where_nothing_matches_the_ranking_is_the_one_given() -> None:
    decision = cover(SCORES, signals_of([0.0009] * 9))
    assert decision.branch == "clear"
    assert decision.ranking.tolist() == list(range(9))
    assert decision.removed == decision.doubtful == decision.mentions == ()
    assert (decision.scores == SCORES).all()


def test_a_shortlist_with_a_match_that_its_margin_saved_is_not_called_clear() -> None:
    leading = signals_of([0.2, *[0.0] * 8], relevance=np.array([0.9, *[0.5] * 8]))
    decision = cover(SCORES, leading)
    assert (decision.removed, decision.doubtful, decision.mentions) == ((), (), (0,))
    assert decision.branch == "coverage"  # "clear" promises that nothing matches


def test_few_candidates_are_reordered_and_never_removed() -> None:
    sure = signals_of([0.8, 0.9, 0.0], title_match=np.zeros(3, bool))
    decision = cover(SCORES[:3], sure)
    assert (decision.branch, decision.removed, decision.doubtful) == ("few", (), ())
    assert decision.ranking.tolist() == [0, 2, 1]
    assert decision.penalties[1] > 0
    alone = cover(SCORES[:1], taken(sure, [0]))
    assert (alone.ranking.tolist(), alone.penalties.tolist()) == ([0], [0.0])
    assert cover(SCORES[:3], sure, Coverage(minimum_shortlist=3)).branch == "coverage"


def test_few_candidates_of_which_none_may_cover_the_topic_stay_as_they_are() -> None:
    decision = cover(SCORES[:3], signals_of([0.001, 0.002, 0.0], title_match=np.zeros(3, bool)))
    assert (decision.branch, decision.ranking.tolist(), decision.penalties.tolist()) == ("clear", [0, 1, 2], [0.0] * 3)


def test_what_comes_last_of_few_ranks_last_though_scores_are_too_large_for_its_penalty_to_show() -> None:
    huge = np.array([1e20, 1e20, 1e20])
    decision = cover(huge, signals_of([0.0, 0.9, 0.0], title_match=np.zeros(3, bool)))
    assert decision.ranking.tolist() == [0, 2, 1]


def test_full_caution_removes_nothing_and_still_demotes() -> None:
    decision = cover(SCORES, signals_of([1.0, 0.9, *[0.0] * 7]), Coverage(caution=1.0))
    assert (decision.removed, decision.doubtful) == ((), (0, 1))
    assert Coverage(caution=1.0).covers(signals_of([1.0] * 9)).sum() == 0


def test_a_page_that_the_query_names_by_title_stays_unless_it_is_certain() -> None:
    named = np.array([True, True, *[False] * 7])
    decision = cover(SCORES, signals_of([0.995, 0.8, *[0.0] * 7], title_match=named))
    assert (decision.removed, decision.mentions) == ((0,), (1,))


@pytest.mark.parametrize(
    "wrong",
    [
        {"caution": 1.1},
        {"caution": -0.1},
        {"caution": float("nan")},
        {"caution": "high"},
        {"doubt": 1.5},
        {"doubt": 0.6, "caution": 0.5},
        {"match_share": True},
        {"margin": -1},
        {"margin": None},
        {"certain": 1.5},
        {"asked": -0.5},
        {"minimum_shortlist": 1},
        {"shortlist": 0},
        {"shortlist": 2.0},
    ],
)
def test_constants_are_checked(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        Coverage(**wrong)  # type: ignore[arg-type]


def test_constants_are_all_reported() -> None:
    assert Coverage(**Coverage(caution=0.8).as_dict()) == Coverage(caution=0.8)  # type: ignore[arg-type]


def test_a_little_caution_lowers_the_doubt_with_it_and_nonsense_is_refused() -> None:
    default = resolve()
    assert default.with_caution(0.0).coverage.doubt == 0.0
    assert default.with_caution(0.9).coverage.doubt == Coverage().doubt
    assert resolve("cautious").coverage.caution > default.coverage.caution
    for wrong in (True, 2, -1.0, float("nan"), "much", None):
        with pytest.raises(InvalidInput, match="caution must be a number from 0 to 1"):
            default.with_caution(wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="not of the paper's"):
        resolve("paper").with_caution(0.5)


@pytest.mark.parametrize("wrong", [np.array([]), np.array([1.0, float("nan")]), np.ones(3)])
def test_scores_that_do_not_fit_the_signals_are_refused(wrong: NDArray[np.float64]) -> None:
    with pytest.raises(InvalidInput):
        cover(wrong, signals_of([0.9, 0.1]))


@given(shortlists())
def test_everything_is_ranked_once_and_has_one_outcome(drawn: Shortlisted) -> None:
    scores, signals = drawn
    decision = cover(scores, signals)
    ranking, groups = decision.ranking.tolist(), (decision.removed, decision.doubtful, decision.mentions)
    assert sorted(ranking) == list(range(len(scores)))
    assert sum(map(len, groups)) == len(set().union(*groups))
    if decision.branch == "few":
        return
    place = {candidate: rank for rank, candidate in enumerate(ranking)}
    clear = set(ranking) - set(decision.removed) - set(decision.doubtful)
    order = [
        place[i]
        for group in (clear, decision.doubtful, decision.removed)
        for i in sorted(group, key=lambda i: place[i])
    ]
    assert order == list(range(len(scores)))
    for group in (clear, decision.doubtful, decision.removed):
        best_first = [scores[i] for i in sorted(group, key=lambda i: place[i])]
        assert best_first == sorted(best_first, reverse=True)
    bars = Coverage().bars(signals)  # caution, but certain for the ten that answer the rest of the query best
    assert bars.min() >= Coverage().caution
    sure = set(np.flatnonzero(signals.unwanted >= bars).tolist())
    assert set(decision.removed) <= sure
    assert {i for i in sure if signals.probability[i] >= Coverage().asked} <= set(decision.removed)
    likely = set(np.flatnonzero(signals.probability >= bars).tolist())
    assert likely <= {*decision.removed, *decision.doubtful, *decision.mentions}
    assert not decision.doubtful or signals.probabilities.max() >= Coverage().doubt


@given(shortlists(), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(drawn: Shortlisted, chance: random.Random) -> None:
    scores, signals = drawn
    order = list(range(len(scores)))
    chance.shuffle(order)
    one, other = cover(scores, signals), cover(scores[order], taken(signals, order))
    assert [order[i] for i in other.ranking] == one.ranking.tolist()
    for group in ("removed", "doubtful", "mentions"):
        assert {order[i] for i in getattr(other, group)} == set(getattr(one, group))


@given(shortlists(), st.floats(Coverage().doubt, 1), st.floats(Coverage().doubt, 1))
def test_raising_the_caution_never_removes_more(drawn: Shortlisted, one: float, other: float) -> None:
    low, high = sorted((one, other))
    bold, careful = (cover(*drawn, Coverage(caution=caution)) for caution in (low, high))
    assert set(careful.removed) <= set(bold.removed)
    assert cover(*drawn, Coverage(caution=1.0)).removed == ()


@given(shortlists(), st.floats(0, 5), st.floats(0, 5))
def test_a_larger_margin_saves_no_more(drawn: Shortlisted, one: float, other: float) -> None:
    small, large = (cover(*drawn, Coverage(margin=margin)) for margin in sorted((one, other)))
    assert set(small.doubtful) <= set(large.doubtful)
    assert set(small.removed) <= set(large.removed)


@given(shortlists(), st.floats(0.01, 100))
def test_the_scale_of_the_answers_does_not_matter(drawn: Shortlisted, scale: float) -> None:
    _, signals = drawn
    if np.ptp(signals.relevance) * min(scale, 1) < 1e-6:
        return
    chance, matching = signals.probability, signals.probability >= 0.5
    scaled = margins(signals.relevance * scale, chance, matching)
    assert scaled == pytest.approx(margins(signals.relevance, chance, matching), abs=1e-4, rel=1e-4)


def test_what_answers_the_rest_of_the_query_best_goes_only_when_it_is_certain_to_cover_the_topic() -> None:
    chances = np.array([[0.6, 0.75, *[0.01] * 10, 0.6]])
    signals = Signals(
        probabilities=chances,
        evidence=chances,
        opening=chances,
        relevance=np.array([0.81, 0.81, *np.linspace(0.8, 0.7, 10), 0.1]),
        named=np.zeros(13, dtype=bool),
        title_match=np.zeros(13, dtype=bool),
        excluded=np.ones(1),
    )
    decision = cover(np.linspace(9.0, 8.0, 13), signals)
    assert decision.removed == (1, 12)  # an answer that is certain to, and one that answers little
    assert 0 in (*decision.doubtful, *decision.mentions)


def test_documents_on_other_subjects_do_not_make_wanted_ones_doubtful() -> None:
    """What is near is measured on what answers the rest: neighbours of the topic stay, whatever else there is."""
    wanted, junk = 12, 60
    chances = [0.06] * wanted + [0.001] * junk
    signals = replace(
        signals_of(chances),
        evidence=np.array([[0.62, *[0.6] * (wanted - 1), *[0.2] * junk]]),
        relevance=np.array([*np.linspace(0.9, 0.8, wanted), *np.linspace(0.3, 0.2, junk)]),
        title_match=np.zeros(wanted + junk, dtype=bool),
    )
    scores = np.linspace(9, 1, wanted + junk)
    assert len(cover(scores, signals).doubtful) <= 1
    fewer = replace(
        signals_of(chances[:wanted]),
        evidence=signals.evidence[:, :wanted],
        relevance=signals.relevance[:wanted],
        title_match=signals.title_match[:wanted],
    )
    assert cover(scores[:wanted], fewer).doubtful == cover(scores, signals).doubtful
