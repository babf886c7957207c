"""Windows: nothing lost within the budget, nothing read beyond it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.errors import InvalidInput
from excise.vectors.windows import LONG, SHORT, Windowing, best_window

texts = st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=5), max_size=60).map(" ".join)


def test_the_papers_presets() -> None:
    assert (LONG.words, LONG.budget) == (512, 10_000)
    assert (SHORT.words, SHORT.budget) == (200, 1_000)


@given(texts, st.integers(1, 20), st.integers(0, 40))
def test_windows_hold_the_first_words_in_order(text: str, words: int, extra: int) -> None:
    windowing = Windowing(words, words + extra)
    windows = windowing.cut(text)
    assert " ".join(windows).split() == text.split()[: words + extra]
    assert all(len(window.split()) == words for window in windows[:-1])
    assert len(windows) >= 1


@pytest.mark.parametrize(("words", "budget"), [(0, 10), (5, 4), (-1, 3), (True, 5), (2.5, 10)])
def test_bad_sizes_are_refused(words: int, budget: int) -> None:
    with pytest.raises(InvalidInput):
        Windowing(words, budget)


@given(st.lists(st.lists(st.floats(-5, 5, width=32), min_size=1, max_size=4), max_size=8))
def test_best_window_is_each_documents_maximum(documents: list[list[float]]) -> None:
    flat = [value for document in documents for value in document]
    offsets = np.concatenate([[0], np.cumsum([len(document) for document in documents])])
    assert best_window(flat, offsets).tolist() == [max(document) for document in documents]


@pytest.mark.parametrize("offsets", [[0, 2], [1, 3], [], [0, 0, 3], [[0, 3]]])
def test_bad_offsets_are_refused(offsets: list[int]) -> None:
    with pytest.raises(InvalidInput):
        best_window([0.1, 0.2, 0.3], offsets)
