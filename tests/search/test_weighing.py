"""Scores in which a token counts by how much it tells candidates apart."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from excise.search.weighing import ScoreShare, maxsim_of, mean_similarities, mixed, telling_maxsims_of
from excise.vectors.arithmetic import of_length_one
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged

sizes = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=2, max_size=8)


def _documents(windows: list[list[int]], rng: np.random.Generator) -> EncodedDocuments:
    return EncodedDocuments.of(
        [Ragged.of([of_length_one(rng.standard_normal((n, 6))) for n in own]) for own in windows]
    )


@given(sizes, st.integers(1, 6), st.integers(0, 99))
def test_a_word_that_all_match_alike_does_not_count(windows: list[list[int]], tokens: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    documents, query = _documents(windows, rng), of_length_one(rng.standard_normal((tokens, 6)))
    constant = np.zeros((1, 7), dtype=np.float32)
    constant[0, 6] = 1.0  # in a direction that every token of every document has the same share of
    rows = np.column_stack([documents.windows.vectors, np.full(len(documents.windows.vectors), 0.5)])
    wider = EncodedDocuments(Ragged(rows, documents.windows.offsets), documents.offsets)
    asked = np.column_stack([query, np.zeros(tokens)])
    alone = telling_maxsims_of([asked], wider)[0]
    with_it = telling_maxsims_of([np.concatenate([asked, constant])], wider)[0]
    assert with_it == pytest.approx(alone * (tokens + 1) / tokens, abs=1e-4)  # weights are 1 in the mean


@given(sizes, st.integers(1, 6), st.integers(0, 99), st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(
    windows: list[list[int]], tokens: int, seed: int, chooser: Random
) -> None:
    rng = np.random.default_rng(seed)
    documents, query = _documents(windows, rng), of_length_one(rng.standard_normal((tokens, 6)))
    order = list(range(len(documents)))
    chooser.shuffle(order)
    shuffled = telling_maxsims_of([query, query[:1]], documents.taken(order))
    assert shuffled == pytest.approx(telling_maxsims_of([query, query[:1]], documents)[:, order], abs=1e-6)


def test_one_word_and_candidates_that_are_all_alike_are_ranked_as_by_maxsim() -> None:
    rng = np.random.default_rng(0)
    documents = _documents([[3], [2, 4], [1]], rng)
    query = of_length_one(rng.standard_normal((1, 6)))
    assert telling_maxsims_of([query], documents)[0] == pytest.approx(maxsim_of(query, documents))
    same = EncodedDocuments.of([documents.document(0)] * 3)
    several = of_length_one(rng.standard_normal((4, 6)))
    assert telling_maxsims_of([several], same)[0] == pytest.approx(maxsim_of(several, same))


def test_other_scores_have_their_share_of_the_ranking_whatever_their_scale() -> None:
    scores, words = np.array([3.0, 1.6, 1.5]), np.array([0.0, 0.0, 9.0])
    fused = mixed(scores, ScoreShare(words, 0.25))
    assert fused == pytest.approx(mixed(scores, ScoreShare(words * 100 + 7, 0.25)))
    assert fused.mean() == pytest.approx(scores.mean())
    assert fused.argsort()[::-1].tolist() == [0, 2, 1]
    assert mixed(scores, ScoreShare(words, 1.0)).argmax() == 2
    assert mixed(scores).tolist() == scores.tolist()
    assert mixed(scores, ScoreShare(np.ones(3), 0.25)) == pytest.approx(scores)
    both = mixed(scores, ScoreShare(words, 0.25), ScoreShare(scores[::-1], 0.25))
    assert both == pytest.approx(mixed(scores, ScoreShare(scores[::-1], 0.25), ScoreShare(words, 0.25)))
    assert both.mean() == pytest.approx(scores.mean())


def test_a_document_as_a_whole_is_all_of_its_windows() -> None:
    rng = np.random.default_rng(3)
    documents, query = _documents([[3, 2], [4]], rng), of_length_one(rng.standard_normal((3, 6)))
    tokens = np.concatenate([documents.document(0)[0], documents.document(0)[1]]).astype(np.float64)
    wanted, asked = tokens.mean(axis=0), query.astype(np.float64).mean(axis=0)
    cosine = wanted @ asked / np.linalg.norm(wanted) / np.linalg.norm(asked)
    assert mean_similarities([query, query[:1]], documents)[0, 0] == pytest.approx(cosine, abs=1e-5)
