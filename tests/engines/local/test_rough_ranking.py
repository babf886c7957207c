"""The rough ranking by lists, against exact MaxSim, on the bundled corpus as the embedded encoder has it."""

from __future__ import annotations

import numpy as np

from excise.documents import read_documents
from excise.encoders.backbone import load_backbone
from excise.engines.local.codebook import trained
from excise.engines.local.inverted_lists import InvertedLists, probes_of
from excise.suites import bundled
from excise.vectors.maxsim import maxsim

QUERIES = [
    "home bread baking without rye",
    "how do bees find their way back to the hive",
    "renewable energy storage",
    "training for a first marathon",
]


def test_the_best_of_the_bundled_corpus_lead_the_rough_ranking() -> None:
    backbone = load_backbone("minilm")
    with bundled.corpus() as corpus:
        texts = [document.full_text for document in read_documents(corpus, False)]
    encoded = backbone.encode_documents(texts)
    assert len(encoded.windows) == len(encoded) == 400  # one window each, so that windows are documents
    codebook = trained(encoded.windows.vectors)
    rows = np.repeat(np.arange(len(encoded)), np.diff(encoded.windows.offsets))
    lists = InvertedLists.of(codebook, codebook.nearest(encoded.windows.vectors).centroids, rows)
    shares = []
    for query in backbone.encode_queries(QUERIES):
        exact = np.argsort(-maxsim(query.vectors, encoded.windows), kind="stable")[:20]
        rough = np.argsort(-lists.rough_scores(probes_of(query.vectors, codebook), len(encoded)), kind="stable")[:120]
        shares.append(np.isin(exact, rough).mean())
    assert np.mean(shares) >= 0.9


def test_a_codebook_of_equal_vectors_has_one_centroid_and_holds_all() -> None:
    codebook = trained(np.ones((500, 3), dtype=np.float32) / np.sqrt(3).astype(np.float32))
    placed = codebook.nearest(np.ones((5, 3), dtype=np.float32) / np.sqrt(3).astype(np.float32))
    lists = InvertedLists.of(codebook, placed.centroids, np.arange(5))
    assert sorted(lists.rows.tolist()) == [0, 1, 2, 3, 4]
    assert placed.closeness > 0.99
