"""Coverage: which candidates cover an excluded topic, and which only mention it.

The paper's rule removes at most three candidates. A corpus with twenty pages on the topic needs twenty removals, and a
page that answers the rest of the query and merely mentions the topic has to stay. A few signals of each candidate tell
the two apart, and every constant is a fraction or a number of standard deviations of the shortlist's own values:

evidence
    how well it matches the topic anywhere. Weak against the strongest match: it does not cover the topic. Each of
    several topics has its own strongest match, so that a loud one does not hide a faint one.
opening
    how well its title and first words match the topic. As well as the best: it is *about* the topic, and goes.
relevance
    the residual relevance: how well it matches the query less its topics. A candidate that only mentions the topic
    stays where its margin over what is clear of the topic is large, since nothing could replace it.
title_match
    whether the query names its title outside of the topic. What is asked for by name and not about the topic stays,
    and is lifted in the ranking.

How far is far depends on the topic. Many candidates match "Tesla" in a corpus about cars, and each may cover it. Where
few match, the topic is a name with a page of its own, and a page that opens on something else only names it: it needs
a smaller margin.

Like :mod:`excise.rules.paper` this is numpy alone: nothing here knows about text, encoders or indexes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.rules.decision import Decision, Floats, by_evidence, checked, ordered
from excise.rules.signals import Signals

_COMPARED = 20  # the best candidates, whose spread is the unit of the lead and of the bonus
_CLEAR = 3  # the lead is taken over the third best of the clear candidates: one lucky neighbour does not decide


@dataclass(frozen=True)
class Coverage:
    """The constants of the coverage rule. Chosen with dev figures in view; ``docs/experiments.md`` says how.

    Parameters
    ----------
    evidence_floor
        when no candidate's evidence reaches it, nothing is removed.
    match_fraction
        share of the largest evidence from which a candidate matches the topic.
    opening_fraction
        share of the best opening from which a matching candidate is about the topic.
    opening_floor
        the best opening counts as at least this, so that a shortlist with no page about the topic has none.
    margin
        standard deviations by which a candidate must lead those that do not match the topic, on the rest of the query,
        to stay though it mentions the topic.
    mention_opening
        below this share of the best opening, a candidate opens on something else and names the topic in passing.
    few_matches
        where fewer candidates match the topic, those that name it in passing need only that share of the lead.
    title_bonus
        standard deviations of the best candidates' scores by which one that is asked for by its title is lifted, where
        ranking is by the query less its topics.
    guard
        keep the best answer to the rest of the query, unless it is the strongest match to the topic or leads by less.
    minimum_shortlist
        with fewer candidates there is nothing to compare with: the strongest match goes last, and nothing is removed.
    shortlist
        how many candidates of the first stage are judged.

    Examples
    --------
    >>> Coverage(match_fraction=2.0)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: match_fraction must be a number from 0 to 1, got 2.0.
    """

    evidence_floor: float = 0.4
    match_fraction: float = 0.7
    opening_fraction: float = 0.95
    opening_floor: float = 0.5
    margin: float = 2.2
    mention_opening: float = 0.5
    few_matches: int = 5
    title_bonus: float = 2.0
    guard: bool = True
    minimum_shortlist: int = 4
    shortlist: int = 100

    def __post_init__(self) -> None:
        whole = ("few_matches", "minimum_shortlist", "shortlist")
        for name in (item.name for item in fields(self) if item.name not in (*whole, "guard")):
            value, high = getattr(self, name), float("inf") if name in ("margin", "title_bonus") else 1.0
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
                raise InvalidInput(f"{name} must be a number from 0 to {high:g}, got {value!r}.")
        for name in whole:
            value, least = getattr(self, name), 2 if name == "minimum_shortlist" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}.")

    def cuts(self, evidence: Floats) -> Floats:
        """The evidence from which a candidate matches a topic, for each topic."""
        best = np.atleast_2d(evidence).max(axis=1)
        return np.asarray(np.maximum(self.evidence_floor, self.match_fraction * best), dtype=np.float64)

    def matches(self, evidence: Floats) -> NDArray[np.bool_]:
        """Which candidates match any of the topics."""
        return np.asarray((np.atleast_2d(evidence) >= self.cuts(evidence)[:, None]).any(axis=0))

    def as_dict(self) -> dict[str, float | int | bool | str]:
        """The constants by name, for reports and configuration files."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def cover(scores: Floats, signals: Signals, constants: Coverage | None = None) -> Decision:
    """Rank a shortlist by its scores, less every candidate that covers the excluded topic.

    Examples
    --------
    Seven candidates for "electric cars, not Tesla". The first two are about Tesla. The third and the fourth mention it:
    the third answers the rest of the query far better than anything else, the fourth no better than the clear ones.

    >>> signals = Signals(
    ...     evidence=np.array([0.95, 0.90, 0.85, 0.85, 0.30, 0.25, 0.20]),
    ...     opening=np.array([0.95, 0.88, 0.20, 0.20, 0.20, 0.15, 0.20]),
    ...     relevance=np.array([0.50, 0.45, 0.90, 0.45, 0.46, 0.45, 0.44]),
    ... )
    >>> decision = cover(np.array([9.0, 8.9, 8.8, 8.0, 7.9, 7.8, 7.7]), signals)
    >>> decision.kept.tolist(), decision.removed, decision.mentions
    ([2, 4, 5, 6], (0, 1, 3), (2,))
    """
    constants = constants or Coverage()
    score, match = checked(scores, signals.strongest)
    strongest = by_evidence(match, score)[0]
    untouched = np.zeros_like(score)
    if match[strongest] < constants.evidence_floor:
        return Decision(ordered(score), score, untouched, None, branch="floor")
    cuts = constants.cuts(signals.evidence)
    if len(score) < constants.minimum_shortlist:
        return _last(score, strongest, float(cuts.min()))

    matching, opening = constants.matches(signals.evidence), signals.openings(cuts)
    best_opening = max(float(opening.max()), constants.opening_floor)
    about = opening >= constants.opening_fraction * best_opening
    passing = opening < constants.mention_opening * best_opening
    eased = constants.margin * min(1.0, float(matching.sum()) / constants.few_matches)
    margin = margins(signals.relevance, match, matching)
    answers = margin > np.where(passing, eased, constants.margin)
    if signals.title_match is not None:
        answers |= signals.title_match
    covers = matching & (about | ~answers)
    best = int(np.argmax(signals.relevance))
    guarded = constants.guard and best != strongest and bool(answers[best] and covers[best])
    if guarded:
        covers[best] = False
    removed = tuple(i for i in by_evidence(match, score) if covers[i])
    return Decision(
        ranking=ordered(score, removed),
        scores=score,
        penalties=untouched,
        cut=float(cuts.min()),
        removed=removed,
        protected=best if guarded else None,
        branch="coverage",
        mentions=tuple(int(i) for i in np.flatnonzero(matching & ~covers) if not (guarded and i == best)),
        margins=margin,
        openings=opening,
    )


def margins(relevance: Floats, match: Floats, matching: NDArray[np.bool_]) -> Floats:
    """By how many standard deviations each candidate leads those that match no topic, on the rest of the query.

    Examples
    --------
    >>> match = np.array([0.9, 0.1, 0.1, 0.1])
    >>> margins(np.array([0.9, 0.5, 0.5, 0.5]), match, match > 0.5).round(2).tolist()
    [2.31, 0.0, 0.0, 0.0]
    """
    clear = ~matching
    if clear.sum() < _CLEAR:
        clear = match <= np.sort(match)[min(_CLEAR, len(match)) - 1]
    others, spread = np.sort(relevance[clear])[::-1], _spread(relevance)
    if spread < 1e-9:
        return np.zeros_like(relevance)
    return np.asarray((relevance - others[min(_CLEAR, len(others)) - 1]) / spread, dtype=np.float64)


def lifted(scores: Floats, title_match: NDArray[np.bool_], constants: Coverage) -> Floats:
    """The scores, those of candidates that are asked for by their titles raised by the bonus.

    Examples
    --------
    >>> lifted(np.array([9.0, 8.0, 7.0]), np.array([False, False, True]), Coverage(title_bonus=2.0)).round(2).tolist()
    [9.0, 8.0, 8.63]
    """
    return scores + constants.title_bonus * _spread(scores) * title_match


def _spread(values: Floats) -> float:
    return float(np.sort(values)[::-1][:_COMPARED].std())


def _last(score: Floats, strongest: int, cut: float) -> Decision:
    """Too few candidates to judge: the strongest match loses so much that it comes last."""
    penalties = np.zeros_like(score)
    if len(score) > 1:
        penalties[strongest] = max(0.0, score[strongest] - score.min()) + 1e-3
    return Decision(ordered(score - penalties), score - penalties, penalties, cut, branch="few")
