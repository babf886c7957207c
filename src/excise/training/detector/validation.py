"""How good a detector is: fire recall by tier and form, topics found, false fires by source, long against short."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from excise.errors import InvalidInput
from excise.results import Detection
from excise.topics.detector import Detector
from excise.training.detector.examples import Example

BUDGETS = {"plain": 0.003, "scifact": 0.01, "nfcorpus": 0.01, "decoys_short": 0.08, "decoys_long": 0.08}
# How many ordinary queries of each source may fire at most, where there are any to choose a threshold by.
ORDINARY = {"plain": 0.001, "scifact": 0.01, "nfcorpus": 0.01}
REPORT_HEADER = ("held out", "queries", "fire rate", "span recall", "span precision", "all topics found")
THRESHOLDS = tuple(round(0.10 + 0.02 * step, 2) for step in range(45))


@dataclass(frozen=True)
class GroupReport:
    """A group of queries. Recall, precision and ``all_found`` only where they exclude something."""

    name: str
    queries: int
    fire_rate: float
    span_recall: float | None = None
    span_precision: float | None = None
    all_found: float | None = None


def validate(detector: Detector, examples: Sequence[Example]) -> list[GroupReport]:
    """Report on held-out examples, group by group: source and form, and length against label."""
    detections = detector.detect([example.text for example in examples])
    rows = list(zip(examples, detections, strict=True))
    groups: dict[str, list[tuple[Example, Detection]]] = defaultdict(list)
    for example, detection in rows:
        groups[f"{example.source} {example.form}" if example.fires else example.source].append((example, detection))
        length = "long" if example.is_long else "short"
        groups[f"= {length}, {'fire' if example.fires else 'no fire'}"].append((example, detection))
    return [_report(name, groups[name]) for name in sorted(groups)]


def _report(name: str, rows: Sequence[tuple[Example, Detection]]) -> GroupReport:
    fire_rate = float(np.mean([detection.fired for _, detection in rows]))
    fires = [(example, detection) for example, detection in rows if example.fires]
    if not fires:
        return GroupReport(name, len(rows), fire_rate)
    scores = [span_match(example, detection) for example, detection in fires if detection.fired]
    recall, precision, found = np.mean(scores, axis=0).tolist() if scores else (0.0, 0.0, 0.0)
    return GroupReport(name, len(rows), fire_rate, recall, precision, found * fire_rate)


def span_match(example: Example, detection: Detection) -> tuple[float, float, float]:
    """Characters found, characters right, and whether every distinct topic was touched (1 or 0)."""
    wanted = {i for start, end in example.spans for i in range(start, end)}
    marked = {i for topic in detection.topics for i in range(topic.start or 0, topic.end or 0)}
    topics: dict[str, bool] = {}
    for start, end in example.spans:
        text = example.text[start:end].casefold()
        topics[text] = topics.get(text, False) or bool(marked & set(range(start, end)))
    shared = len(wanted & marked)
    return shared / len(wanted), shared / max(1, len(marked)), float(all(topics.values()))


@dataclass(frozen=True)
class ThresholdChoice:
    """The noise test of the firing threshold: which values are admissible, and whether Youden's J moves at all."""

    threshold: float
    admissible: tuple[float, ...]
    youden: dict[float, float]
    spread: float
    noise: float
    verdict: str


def choose_threshold(scores: NDArray[np.float64], examples: Sequence[Example], default: float) -> ThresholdChoice:
    """Choose the threshold as the paper does: keep the default unless J moves by more than its sampling error.

    A threshold is admissible when false fires on every source of ordinary queries and of decoys stay within its budget.
    Over these, the spread of Youden's J (sensitivity plus specificity, minus one) is held against twice its standard
    error.
    """
    fires = np.array([example.fires for example in examples])
    limits = [(np.array([example.source == name for example in examples]), most) for name, most in BUDGETS.items()]
    admissible = tuple(
        t for t in THRESHOLDS if all(not rows.any() or (scores[rows] > t).mean() <= most for rows, most in limits)
    )
    youden = {t: float((scores[fires] > t).mean() - (scores[~fires] > t).mean()) for t in admissible}
    if not youden:
        return ThresholdChoice(default, (), {}, 0.0, 0.0, "no threshold keeps false fires within the budget")
    spread = max(youden.values()) - min(youden.values())
    rate = float((scores[fires] > default).mean())
    noise = 2 * float(np.sqrt(max(rate * (1 - rate), 1e-9) / fires.sum()))
    if default in admissible and spread <= noise:
        return ThresholdChoice(default, admissible, youden, spread, noise, "flat: the default is kept")
    best = max(youden, key=lambda t: (round(youden[t], 6), -abs(t - default)))
    kept = default in admissible and youden[best] - youden[default] <= noise
    verdict = "the default is within the noise of the best" if kept else "moved: the best admissible value"
    return ThresholdChoice(default if kept else best, admissible, youden, spread, noise, verdict)


def calibrated(scores: NDArray[np.float64], examples: Sequence[Example], default: float) -> ThresholdChoice:
    """The threshold that a detector is written with: the least that ordinary queries allow.

    Below it, queries that exclude nothing would not come back unchanged; above it, it is silent more often. Where there
    are no ordinary queries to tell, it is chosen as the paper does.
    """
    choice = choose_threshold(scores, examples, default)
    if not any(example.source in ORDINARY for example in examples):
        return choice
    budgets = ", ".join(f"{name} {most:.1%}" for name, most in ORDINARY.items())
    verdict = f"the least at which ordinary queries that were held out stay within their budgets ({budgets})"
    return replace(choice, threshold=least_threshold(scores, examples), verdict=verdict)


def least_threshold(scores: NDArray[np.float64], examples: Sequence[Example]) -> float:
    """The least threshold at which no source of ordinary queries fires more often than it may.

    Examples
    --------
    >>> rows = [Example("how tall is a giraffe", (), "plain", "", held_out=True)] * 2
    >>> least_threshold(np.array([0.05, 0.31]), rows)
    0.32
    """
    limits = [(np.array([row.source == name for row in examples]), most) for name, most in ORDINARY.items()]
    for threshold in THRESHOLDS:
        if all(not rows.any() or (scores[rows] > threshold).mean() <= most for rows, most in limits):
            return threshold
    raise InvalidInput("ordinary queries fire at every threshold: this detector cannot be used as it is.")


def report_rows(reports: Sequence[GroupReport]) -> list[list[str]]:
    """Rows for printing, under :data:`REPORT_HEADER`."""

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    return [
        [r.name, str(r.queries), cell(r.fire_rate), cell(r.span_recall), cell(r.span_precision), cell(r.all_found)]
        for r in reports
    ]
