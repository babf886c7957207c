"""A first stage's candidates, and what the rule says of each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from excise.backbone import EncodedDocuments
from excise.documents import Document
from excise.maxsim import Vectors, maxsim
from excise.results import Judged, Status
from excise.rule import Constants, Decision, demote
from excise.windows import best_window


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates in frozen order. The rule's constants are in MaxSim units; ``unit`` is one of them in ``scores``."""

    documents: Sequence[Document]
    vectors: EncodedDocuments
    scores: NDArray[np.float64]
    unit: float = 1.0


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the rule decided, and each candidate as it saw it, in frozen order."""

    decision: Decision
    candidates: tuple[Judged, ...]


def maxsim_of(query: Vectors, documents: EncodedDocuments) -> NDArray[np.float64]:
    """Every document's MaxSim score for a query: that of its best window."""
    return best_window(maxsim(query, documents.windows), documents.offsets).astype(np.float64)


def judge(shortlist: Shortlist, evidence: NDArray[np.float64], constants: Constants) -> Judgement:
    """Apply the rule to a shortlist whose evidence is known."""
    decision = demote(shortlist.scores / shortlist.unit, evidence, constants)
    penalties = decision.penalties * shortlist.unit
    candidates = [
        Judged(
            id=document.id,
            title=document.title,
            frozen_rank=i + 1,
            score=float(shortlist.scores[i] - penalties[i]),
            evidence=float(evidence[i]),
            penalty=float(penalties[i]),
            status=_status(i, decision),
        )
        for i, document in enumerate(shortlist.documents)
    ]
    return Judgement(decision, tuple(candidates))


def _status(i: int, decision: Decision) -> Status:
    if i in decision.removed:
        return "removed"
    if i == decision.protected:
        return "protected"
    return "penalised" if decision.penalties[i] > 0 else "kept"
