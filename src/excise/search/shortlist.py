"""A first stage's candidates, what is known of each of them, and what the rule says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.results import Judged, Status
from excise.rules.coverage import Coverage, Signals, cover, leads
from excise.rules.paper import Constants, Decision, demote
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import Pooling, evidence, maxsim
from excise.vectors.ragged import Ragged, Vectors
from excise.vectors.windows import best_window

OPENING_TOKENS = 16  # a title and the first words after it
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates in frozen order. The rule's constants are in MaxSim units; ``unit`` is one of them in ``scores``."""

    documents: Sequence[Document]
    vectors: EncodedDocuments
    scores: Floats
    unit: float = 1.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the rule decided, and each candidate as it saw it, in frozen order."""

    decision: Decision
    candidates: tuple[Judged, ...]


def maxsim_of(query: Vectors, documents: EncodedDocuments) -> Floats:
    """Every document's MaxSim score for a query: that of its best window."""
    return best_window(maxsim(query, documents.windows), documents.offsets).astype(np.float64)


def evidence_of(topics: Sequence[Vectors], documents: EncodedDocuments, pooling: Pooling) -> Floats:
    """Every document's evidence for the topics: that of its best window."""
    return best_window(evidence(topics, documents.windows, pooling), documents.offsets).astype(np.float64)


def signals_of(
    topics: Sequence[Vectors], wanted: Vectors, documents: EncodedDocuments, pooling: Pooling = "per-topic"
) -> Signals:
    """What the coverage rule reads, topic by topic where evidence is pooled so; else in one row."""
    windows = documents.windows
    first = [windows[int(start)][:OPENING_TOKENS] for start in documents.offsets[:-1]]
    per_topic = np.stack([evidence_of([topic], documents, "mean") for topic in topics])
    openings = np.stack([evidence([topic], Ragged.of(first)).astype(np.float64) for topic in topics])
    relevance = maxsim_of(wanted, documents) / len(wanted)
    if pooling == "per-topic":
        return Signals(per_topic, openings, relevance)
    nearest = per_topic.argmax(axis=0)
    return Signals(evidence_of(topics, documents, pooling), openings[nearest, np.arange(len(nearest))], relevance)


def judge(shortlist: Shortlist, evidence: Floats, constants: Constants) -> Judgement:
    """Apply the paper's rule to a shortlist whose evidence is known."""
    decision = demote(shortlist.scores / shortlist.unit, evidence, constants)
    return _judgement(shortlist, decision, evidence, decision.penalties * shortlist.unit)


def judge_coverage(shortlist: Shortlist, signals: Signals, constants: Coverage) -> Judgement:
    """Apply the coverage rule to a shortlist whose signals are known."""
    decision = cover(shortlist.scores, signals, constants)
    lead = leads(signals.wanted, signals.strongest, constants.matches(signals.evidence))
    opening = signals.openings(constants.cuts(signals.evidence))
    return _judgement(shortlist, decision, signals.strongest, decision.penalties, opening, lead, signals.asked)


def _judgement(
    shortlist: Shortlist,
    decision: Decision,
    evidence: Floats,
    penalties: Floats,
    opening: Floats | None = None,
    lead: Floats | None = None,
    asked: NDArray[np.bool_] | None = None,
) -> Judgement:
    candidates = [
        Judged(
            id=document.id,
            title=document.title,
            frozen_rank=i + 1,
            score=float(shortlist.scores[i] - penalties[i]),
            evidence=float(evidence[i]),
            penalty=float(penalties[i]),
            status=_status(i, decision),
            opening=None if opening is None else float(opening[i]),
            lead=None if lead is None else float(lead[i]),
            asked=None if asked is None else bool(asked[i]),
        )
        for i, document in enumerate(shortlist.documents)
    ]
    return Judgement(decision, tuple(candidates))


def _status(i: int, decision: Decision) -> Status:
    if i in decision.removed:
        return "removed"
    if i == decision.protected:
        return "protected"
    if i in decision.mentions:
        return "mentions"
    return "penalised" if decision.penalties[i] > 0 else "kept"
