"""The threshold that a detector is written with: what ordinary queries allow."""

from __future__ import annotations

import numpy as np
import pytest

from excise.errors import InvalidInput
from excise.training.detector.examples import Example
from excise.training.detector.validation import calibrated, choose_threshold, least_threshold


def ordinary(count: int, source: str = "plain") -> list[Example]:
    return [Example("how tall is a giraffe", (), source, "", held_out=True)] * count


def test_the_least_threshold_within_every_budget() -> None:
    rows = [*ordinary(1_000), *ordinary(100, "nfcorpus")]
    quiet = np.zeros(1_000)
    quiet[:2] = 0.3, 0.2  # one of a thousand may fire
    loud = np.zeros(100)
    loud[:2] = 0.9, 0.5  # and one of a hundred titles
    assert least_threshold(quiet, ordinary(1_000)) == 0.2
    assert least_threshold(np.concatenate([quiet, loud]), rows) == 0.5


def test_a_detector_that_always_fires_is_refused() -> None:
    with pytest.raises(InvalidInput, match="at every threshold"):
        least_threshold(np.ones(100), ordinary(100))


def test_ordinary_queries_decide_where_there_are_any() -> None:
    exclusions = [Example("tea, not coffee", ((9, 15),), "w", "explicit", held_out=True)] * 50
    scores = np.concatenate([np.full(50, 0.5), np.full(1_000, 0.01)])
    scores[50:52] = 0.3, 0.2
    choice = calibrated(scores, [*exclusions, *ordinary(1_000)], 0.76)
    assert choice.threshold == 0.2
    assert "ordinary queries" in choice.verdict
    untold = [*exclusions, *[Example("tea and coffee", (), "w", "partner", held_out=True)] * 1_000]
    assert calibrated(scores, untold, 0.76) == choose_threshold(scores, untold, 0.76)
