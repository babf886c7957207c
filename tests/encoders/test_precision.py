"""Documents in bfloat16: near what single precision gives, for documents alone, and only where it is faster."""

from __future__ import annotations

import numpy as np
import pytest

from excise.documents import Document
from excise.encoders import precision
from excise.encoders.adapter import load_adapter
from excise.encoders.backbone import Backbone
from excise.vectors.eight_bit import EightBitVectors

pays = pytest.mark.parametrize("pays", [True, False])


def _cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    wide = [part.astype(np.float64) for part in (one, other)]
    return np.asarray(
        (wide[0] * wide[1]).sum(axis=1) / np.prod([np.linalg.norm(part, axis=1) for part in wide], axis=0)
    )


def test_documents_lose_no_more_than_by_eight_bits(
    minilm: Backbone, own_documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [document.full_text for document in own_documents[:30]]
    vectors = {}
    for chosen in (False, True):
        monkeypatch.setattr(precision, "bfloat16_pays", lambda chosen=chosen: chosen)
        vectors[chosen] = minilm.encode_documents(texts).windows.vectors
    assert not np.array_equal(vectors[False], vectors[True])
    stored = EightBitVectors.of(vectors[False])
    assert (1 - _cosines(*vectors.values())).mean() < (1 - _cosines(vectors[False], stored[0 : len(stored)])).mean()


def test_queries_and_topics_are_the_same_bits_either_way(minilm: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = load_adapter(minilm)
    assert adapter is not None
    read = []
    for chosen in (False, True):
        monkeypatch.setattr(precision, "bfloat16_pays", lambda chosen=chosen: chosen)
        query, topic = minilm.encode_query("electric cars, not Tesla"), minilm.encode_topics(["Tesla"])[0]
        read.append((query.vectors, topic, adapter.encode_query("electric cars, not Tesla").vectors))
    assert all(np.array_equal(one, other) for one, other in zip(*read, strict=True))


@pays
def test_neighbours_and_an_adapters_terms_change_nothing_of_that(
    pays: bool, minilm: Backbone, own_documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "bfloat16_pays", lambda: pays)
    texts = [document.full_text for document in own_documents[:12]]
    adapter = load_adapter(minilm)
    assert adapter is not None
    for encoder in (minilm, adapter):
        together, alone = encoder.encode_documents(texts), encoder.encode_documents(texts[3:4])
        found = together.document(3).vectors.astype(np.float32)
        assert found == pytest.approx(alone.windows.vectors.astype(np.float32), abs=1e-2 if pays else 1e-3)
