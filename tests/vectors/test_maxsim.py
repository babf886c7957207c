"""MaxSim over ragged vectors: no padding effects, equal back ends, and the identity of Proposition 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from excise.errors import InvalidInput
from excise.vectors import arithmetic
from excise.vectors.maxsim import POOLINGS, best_matches, evidence, maxsim, maxsim_many
from excise.vectors.ragged import Ragged

seeds = st.integers(0, 2**32 - 1)
lengths = st.lists(st.integers(1, 12), min_size=1, max_size=12)


def unit_vectors(rng: np.random.Generator, rows: int, columns: int = 8) -> np.ndarray:
    vectors = rng.standard_normal((rows, columns)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@given(seeds, lengths)
def test_a_score_never_depends_on_the_neighbours(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    query = unit_vectors(rng, 5)
    documents = [unit_vectors(rng, size) for size in sizes]
    together = maxsim(query, Ragged.of(documents))
    alone = [float(maxsim(query, Ragged.of([document]))[0]) for document in documents]
    assert together == pytest.approx(alone, abs=1e-5)


@given(seeds, lengths, st.lists(st.integers(1, 300), max_size=6), st.sampled_from(["torch", "numpy"]))
def test_queries_together_score_as_each_alone(
    seed: int, sizes: list[int], query_sizes: list[int], backend: arithmetic.Backend
) -> None:
    rng = np.random.default_rng(seed)
    documents = Ragged.of([unit_vectors(rng, size).astype(np.float16) for size in sizes])
    queries = [unit_vectors(rng, size) for size in query_sizes]
    together = maxsim_many(queries, documents, backend)
    assert together.shape == (len(queries), len(documents))
    for query, scores in zip(queries, together, strict=True):
        assert scores == pytest.approx(maxsim(query, documents, backend), rel=1e-6, abs=1e-5)
        assert np.array_equal(maxsim_many([query], documents, backend)[0], maxsim(query, documents, backend))


@given(seeds, lengths)
def test_it_is_the_sum_of_best_matches(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    query = unit_vectors(rng, 4)
    documents = [unit_vectors(rng, size) for size in sizes]
    by_hand = [sum(max(float(t @ u) for u in document) for t in query) for document in documents]
    assert maxsim(query, Ragged.of(documents)) == pytest.approx(by_hand, abs=1e-5)


@given(seeds, lengths, st.sampled_from([np.float16, np.float32]))
def test_torch_and_numpy_agree(seed: int, sizes: list[int], precision: type) -> None:
    rng = np.random.default_rng(seed)
    query = unit_vectors(rng, 3)
    documents = Ragged.of([unit_vectors(rng, size).astype(precision) for size in sizes])
    assert best_matches(query, documents, "torch") == pytest.approx(best_matches(query, documents, "numpy"), abs=1e-5)


def test_numpy_serves_where_there_is_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    arithmetic.default_backend.cache_clear()
    monkeypatch.setattr(arithmetic, "find_spec", lambda _: None)
    try:
        assert maxsim(np.eye(2), Ragged.of([np.eye(2)])).tolist() == [2.0]
        assert arithmetic.default_backend() == "numpy"
    finally:
        arithmetic.default_backend.cache_clear()


@settings(max_examples=25)
@given(seeds, lengths, st.integers(1, 20))
def test_chunks_cover_every_text_once(seed: int, sizes: list[int], tokens: int) -> None:
    documents = Ragged.of([unit_vectors(np.random.default_rng(seed), size) for size in sizes])
    pieces = list(documents.chunks(tokens))
    assert [i for texts, _ in pieces for i in range(texts.start, texts.stop)] == list(range(len(sizes)))
    assert [i for _, rows in pieces for i in range(rows.start, rows.stop)] == list(range(sum(sizes)))
    assert all(rows.stop - rows.start <= max(tokens, max(sizes)) for _, rows in pieces)


def test_chunking_does_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    query, documents = unit_vectors(rng, 6), Ragged.of([unit_vectors(rng, size) for size in (3, 1, 7, 2)])
    whole = maxsim(query, documents)
    monkeypatch.setattr(Ragged.chunks, "__defaults__", (4,))
    assert maxsim(query, documents) == pytest.approx(whole, abs=1e-6)


def test_read_only_vectors_are_left_alone() -> None:
    frozen = np.eye(3, dtype=np.float16)
    frozen.flags.writeable = False
    assert best_matches(np.eye(3), Ragged(frozen, np.array([0, 3]))).tolist() == [[1.0, 1.0, 1.0]]


@given(seeds, st.integers(1, 6), st.integers(1, 6))
def test_exclusion_inversion_identity(seed: int, wanted: int, excluded: int) -> None:
    """Proposition 1: S(q, n) - S(q, g) = epsilon + |q_Z| delta."""
    rng = np.random.default_rng(seed)
    query_x, query_z = unit_vectors(rng, wanted), unit_vectors(rng, excluded)
    documents = Ragged.of([unit_vectors(rng, 5), unit_vectors(rng, 7)])  # gold, negative
    gold, negative = maxsim(np.concatenate([query_x, query_z]), documents)
    epsilon = np.subtract(*maxsim(query_x, documents)[::-1])
    delta = np.subtract(*evidence([query_z], documents)[::-1])
    assert negative - gold == pytest.approx(epsilon + excluded * delta, abs=1e-5)


def test_pooling_by_hand() -> None:
    # Token matches in the one document: 1.0, 0.6 (topic one), 0.0 (topic two).
    document = Ragged.of([np.array([[1.0, 0.0, 0.0]])])
    topics = [np.array([[1.0, 0, 0], [0.6, 0.8, 0]]), np.array([[0.0, 0, 1.0]])]
    pooled = {pooling: float(evidence(topics, document, pooling)[0]) for pooling in POOLINGS}
    assert pooled == pytest.approx({"mean": 1.6 / 3, "max": 1.0, "top-m": 0.8, "per-topic": 0.8})
    assert float(evidence(topics, document, "top-m", m=1)[0]) == 1.0


@given(seeds, lengths)
def test_one_topic_makes_per_topic_the_mean(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    topic, documents = unit_vectors(rng, 3), Ragged.of([unit_vectors(rng, size) for size in sizes])
    assert evidence([topic], documents, "per-topic") == pytest.approx(evidence([topic], documents, "mean"))


def test_indexing_a_ragged() -> None:
    ragged = Ragged.of([np.zeros((1, 2)), np.ones((2, 2))])
    assert ragged[-1].tolist() == [[1, 1], [1, 1]]
    with pytest.raises(IndexError):
        ragged[2]


@pytest.mark.parametrize(
    ("vectors", "offsets", "sentence"),
    [
        (np.zeros(3), [0, 3], "must be a matrix"),
        (np.zeros((3, 2)), [1, 3], "starts with 0"),
        (np.zeros((3, 2)), [0, 2], "offsets end at 2, but there are 3"),
        (np.zeros((3, 2)), [0, 0, 3], "at least one token vector"),
    ],
)
def test_bad_ragged_is_refused(vectors: np.ndarray, offsets: list[int], sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        Ragged(vectors, np.array(offsets))


def test_bad_queries_and_topics_are_refused() -> None:
    documents = Ragged.of([np.eye(2)])
    with pytest.raises(InvalidInput, match="at least one token vector"):
        maxsim(np.zeros((0, 2)), documents)
    with pytest.raises(InvalidInput, match="different encoders"):
        maxsim(np.zeros((1, 3)), documents)
    with pytest.raises(InvalidInput, match="unknown pooling 'median'"):
        evidence([np.eye(2)], documents, "median")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="m must be at least 1"):
        evidence([np.eye(2)], documents, "top-m", m=0)
    with pytest.raises(InvalidInput, match="no topic"):
        evidence([], documents)
    with pytest.raises(InvalidInput, match="no texts"):
        Ragged.of([])
