"""Coverage: what surely covers an excluded topic goes, what may cover it comes last, everything else keeps its place.

The paper's rule removes at most three candidates, judged against each other. This one asks of each candidate by itself
how likely it covers the topic (:mod:`excise.rules.readout`), and acts on that:

removed
    it surely covers what is surely excluded: its probability reaches ``caution``, times how sure the detector is that
    the topic is excluded (a topic that the user named is). Of the ten candidates that answer the rest of the query
    best, any of which may be what is wanted, it must be ``certain``.
doubtful
    something here may cover the topic (the likeliest candidate reaches ``doubt``), and this one is not far behind it:
    neither its odds nor its match. It ranks below all that is clear of the topic, and is still there.
mentions
    it names the topic or matches it, and stays where it is.

Two kinds of candidates stay though they may cover the topic. What leads everything that is clear of it on the rest of
the query (``margin``) cannot be replaced, and stays unless it is ``certain`` to cover the topic. What the query asks
for by its title stays unless its probability reaches ``asked``.

Where the corpus has nothing on a topic, nothing reaches a high probability, and nothing is removed. Like
:mod:`excise.rules.paper` this is numpy alone: nothing here knows about text, encoders or indexes.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.rules.decision import Decision, Floats, checked, ordered
from excise.rules.signals import Signals

_COMPARED = 20  # the best candidates, whose spread is the unit of the margin
_ANSWERS = 10  # a page of results: the candidates that answer the rest of the query best, which may be what is wanted
_CLEAR = 3  # where fewer candidates are clear of the topic, the least likely ones stand for them


@dataclass(frozen=True)
class Coverage:
    """The constants of the coverage rule. ``docs/results.md`` says on what they were chosen, and on what not.

    Parameters
    ----------
    caution
        how sure to be before a candidate is removed: the least probability that it covers an excluded topic. 1 removes
        nothing.
    doubt
        the least probability that the likeliest candidate must have for any to be demoted: below it, the shortlist has
        nothing on the topic.
    certain
        from this probability on, a candidate goes though it leads what is clear of the topic, or is among the ten that
        answer the rest of the query best.
    asked
        from this probability on, a candidate goes though the query names its title.
    odds_fraction
        share of the likeliest candidate's odds from which a candidate may be demoted: where one surely covers the
        topic, what hardly does is clear of it. What is likelier than not may always be.
    match_share
        how far below the shortlist's strongest evidence a candidate may be to be demoted, as a share of the way down to
        the median of the ten best answers to the rest of the query: how well documents on the wanted subject match a
        topic that they are not about differs from corpus to corpus.
    margin
        standard deviations by which a candidate must lead all that is clear of the topic, on the rest of the query, to
        keep its place though it may cover the topic.
    minimum_shortlist
        with fewer candidates there is nothing to compare with: the likeliest goes last, and nothing is removed.
    shortlist
        how many candidates of the first stage are judged.

    Examples
    --------
    >>> Coverage(caution=2.0)
    Traceback (most recent call last):
        ...
    excise.errors.InvalidInput: caution must be a number from 0 to 1, got 2.0.
    """

    caution: float = 0.45
    doubt: float = 0.04
    certain: float = 0.7
    asked: float = 0.98
    odds_fraction: float = 0.007
    match_share: float = 0.5
    margin: float = 1.75
    minimum_shortlist: int = 4
    shortlist: int = 100

    def __post_init__(self) -> None:
        whole = ("minimum_shortlist", "shortlist")
        for name in (item.name for item in fields(self) if item.name not in whole):
            value, high = getattr(self, name), float("inf") if name == "margin" else 1.0
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= high:
                raise InvalidInput(f"{name} must be a number from 0 to {high:g}, got {value!r}.")
        for name in whole:
            value, least = getattr(self, name), 2 if name == "minimum_shortlist" else 1
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidInput(f"{name} must be a whole number of at least {least}, got {value!r}.")
        if self.doubt > self.caution:
            raise InvalidInput(f"doubt ({self.doubt:g}) must not be larger than caution ({self.caution:g}).")

    def bars(self, signals: Signals) -> Floats:
        """How sure to be of each candidate: ``certain`` of the ten best answers to the rest, ``caution`` of others."""
        if len(signals.relevance) <= _ANSWERS:  # all of them answer it, which tells nothing apart
            return np.full(len(signals.relevance), self.caution)
        return np.where(_answers(signals), max(self.caution, self.certain), self.caution)

    def covers(self, signals: Signals) -> NDArray[np.bool_]:
        """Which candidates are sure enough to cover a topic that is sure enough to be excluded."""
        return np.asarray((signals.unwanted >= self.bars(signals)) & (self.caution < 1.0))

    def matches(self, signals: Signals) -> NDArray[np.bool_]:
        """Which candidates may cover a topic."""
        chance, evidence = signals.probabilities, signals.evidence
        odds = chance / np.maximum(1 - chance, 1e-12)
        usual = np.median(evidence[:, _answers(signals)], axis=1, keepdims=True)
        best = evidence.max(axis=1, keepdims=True)
        strong = evidence >= best - self.match_share * (best - usual)
        near = odds >= np.minimum(1.0, self.odds_fraction * odds.max(axis=1, keepdims=True))
        return np.asarray((strong & near & (chance.max(axis=1, keepdims=True) >= self.doubt)).any(axis=0))

    def acts(self, signals: Signals) -> bool:
        """Whether any candidate may cover a topic: else the ranking stays as it is."""
        return bool((self.matches(signals) | (signals.probability >= self.bars(signals))).any())

    def as_dict(self) -> dict[str, float | int | bool | str]:
        """The constants by name, for reports and configuration files."""
        return {item.name: getattr(self, item.name) for item in fields(self)}


def cover(scores: Floats, signals: Signals, constants: Coverage | None = None) -> Decision:
    """Rank a shortlist by its scores, less every candidate that surely covers a topic; the doubtful ones last.

    Examples
    --------
    Six candidates for "electric cars, not Tesla". The first is about Tesla. The second and the third may be: the second
    answers the rest of the query far better than anything else, the third no better than the clear ones.

    >>> signals = Signals(
    ...     probabilities=np.array([[0.95, 0.20, 0.20, 0.01, 0.00, 0.00]]),
    ...     evidence=np.array([[0.95, 0.85, 0.85, 0.30, 0.25, 0.20]]),
    ...     opening=np.array([[0.95, 0.20, 0.30, 0.20, 0.20, 0.20]]),
    ...     relevance=np.array([0.50, 0.90, 0.45, 0.46, 0.45, 0.44]),
    ...     named=np.array([True, True, True, False, False, False]),
    ...     title_match=np.zeros(6, dtype=bool),
    ...     excluded=np.ones(1),
    ... )
    >>> decision = cover(np.array([9.0, 8.8, 8.0, 7.9, 7.8, 7.7]), signals)
    >>> decision.kept.tolist(), decision.removed, decision.doubtful, decision.mentions
    ([1, 3, 4, 5, 2], (0,), (2,), (1,))
    """
    constants = constants or Coverage()
    score, chance = checked(scores, signals.probability)
    if len(score) < constants.minimum_shortlist:
        return _few(score, signals, constants.acts(signals))
    sure, matching = constants.covers(signals), constants.matches(signals)
    margin = margins(signals.relevance, chance, matching | (chance >= constants.certain))
    stays = signals.title_match & (chance < constants.asked)
    stays |= (margin > constants.margin) & (chance < constants.certain)
    likely = matching | (chance >= constants.bars(signals))  # some cover a topic that may not be excluded after all
    removes, doubts = sure & ~stays, likely & ~sure & ~stays
    removed, doubtful = _likeliest_first(removes, chance), _likeliest_first(doubts, chance)
    penalties = np.where(doubts, _below(score, ~doubts & ~removes, doubts), 0.0)
    return Decision(
        ranking=ordered(score, removed, doubtful),
        scores=score - penalties,
        penalties=penalties,
        cut=constants.caution,
        removed=removed,
        branch="coverage" if likely.any() else "clear",
        mentions=tuple(int(i) for i in np.flatnonzero((likely | signals.named) & ~removes & ~doubts)),
        doubtful=doubtful,
        margins=margin,
        openings=signals.openings,
    )


def _answers(signals: Signals) -> NDArray[np.bool_]:
    """The candidates that answer the rest of the query best: a page of ten, or all where there are no more."""
    relevance = signals.relevance
    return np.asarray(relevance >= np.sort(relevance)[-min(_ANSWERS, len(relevance))])


def margins(relevance: Floats, chance: Floats, matching: NDArray[np.bool_]) -> Floats:
    """By how many standard deviations each candidate leads all that is clear of the topics, on the rest of the query.

    Examples
    --------
    >>> chance = np.array([0.9, 0.1, 0.1, 0.1])
    >>> margins(np.array([0.9, 0.5, 0.5, 0.4]), chance, chance > 0.5).round(2).tolist()
    [2.08, 0.0, 0.0, -0.52]
    """
    clear = ~matching
    if clear.sum() < _CLEAR:
        clear = chance <= np.sort(chance)[min(_CLEAR, len(chance)) - 1]
    spread = float(np.sort(relevance)[::-1][:_COMPARED].std())
    if spread < 1e-9:
        return np.zeros_like(relevance)
    return np.asarray((relevance - relevance[clear].max()) / spread, dtype=np.float64)


def _below(score: Floats, clear: NDArray[np.bool_], doubts: NDArray[np.bool_]) -> float:
    """What the doubtful must lose to come after all that is clear, in the order that they have."""
    if not doubts.any() or not clear.any():
        return 0.0
    return max(0.0, float(score[doubts].max() - score[clear].min())) + 1e-3


def _likeliest_first(chosen: NDArray[np.bool_], chance: Floats) -> tuple[int, ...]:
    return tuple(int(i) for i in np.lexsort((np.arange(len(chance)), -chance)) if chosen[i])


def _few(score: Floats, signals: Signals, acts: bool) -> Decision:
    """Too few candidates to compare: where one may cover a topic, the likeliest comes last, and nothing is removed."""
    penalties = np.zeros_like(score)
    likeliest = int(np.lexsort((np.arange(len(score)), -score, -signals.probability))[0])
    if acts and len(score) > 1:
        penalties[likeliest] = max(0.0, score[likeliest] - score.min()) + 1e-3
    ranking = ordered(score, doubtful=(likeliest,) if acts else ())
    return Decision(ranking, score - penalties, penalties, None, branch="few" if acts else "clear")
