"""Checkpoints in foreign formats: loaded with their own weights, and run as the embedded encoder is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from excise.encoders.backbone import Backbone, load_backbone
from excise.encoders.checkpoints import CheckpointEncoder
from excise.vectors.maxsim import maxsim


@pytest.mark.parametrize("fixture", ["pylate_checkpoint", "stanford_checkpoint"])
def test_foreign_checkpoints_load(fixture: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(fixture)
    backbone = load_backbone(str(folder))
    assert backbone.dimensions == 16
    query = backbone.encode_query("electric cars, but not Tesla")
    assert len(query.vectors) == 32  # expanded with mask tokens
    assert (query.spans[:, 0] >= 0).sum() == 6
    assert len(backbone.encode_topics(["Tesla"])[0]) == 1
    documents = backbone.encode_documents(["electric cars, from Tesla.", "bread"])
    assert [len(documents.windows[i]) for i in range(2)] == [7, 4]  # [CLS] prefix words [SEP]; punctuation skipped
    assert np.isfinite(maxsim(query.vectors, documents.windows)).all()


@pytest.mark.parametrize("fixture", ["pylate_checkpoint", "stanford_checkpoint"])
def test_long_queries_are_not_cut_at_the_expansion_length(fixture: str, request: pytest.FixtureRequest) -> None:
    backbone = load_backbone(str(request.getfixturevalue(fixture)))
    assert len(backbone.encode_query("cars " * 60).vectors) == 63


def test_foreign_formats_agree_with_their_weights(stanford_checkpoint: Path) -> None:
    """The projection in the file is the one that is used."""
    encoder = load_backbone(str(stanford_checkpoint)).encoder
    loaded = dict(encoder.named_weights())["1.linear.weight"]
    assert loaded.equal(load_file(stanford_checkpoint / "model.safetensors")["linear.weight"])


def test_a_plain_encoder_gets_no_random_projection(plain_checkpoint: Path) -> None:
    first, second = load_backbone(str(plain_checkpoint)), load_backbone(str(plain_checkpoint))
    assert first.dimensions == 32
    assert first.fingerprint == second.fingerprint
    assert first.encode_query("cars").vectors == pytest.approx(second.encode_query("cars").vectors)


def test_vectors_are_those_of_the_pipeline(pylate_checkpoint: Path) -> None:
    """Prefixes, expansion, skipped punctuation and lengths are the pipeline's own."""
    backbone = load_backbone(str(pylate_checkpoint))
    assert isinstance(backbone.encoder, CheckpointEncoder)
    pipeline = backbone.encoder.pipeline
    texts = ["electric cars, but not Tesla", "bread. " * 200]
    queries = pipeline.encode_query(texts, convert_to_numpy=True, show_progress_bar=False)
    for text, expected in zip(texts, queries, strict=True):
        assert backbone.encode_query(text).vectors == pytest.approx(expected, abs=1e-5)
    documents = pipeline.encode_document(texts, convert_to_numpy=True, show_progress_bar=False)
    found = backbone.encode_documents(texts)
    for place, expected in enumerate(documents):
        assert found.document(place).vectors.astype(np.float32) == pytest.approx(expected, abs=1e-3)


def test_windows_close_up_where_tokens_are_skipped(pylate_checkpoint: Path) -> None:
    backbone: Backbone = load_backbone(str(pylate_checkpoint))
    found = backbone.encode_documents(["electric cars", ". , .", "bread"])
    assert [len(found.windows[i]) for i in range(3)] == [5, 3, 4]  # [CLS], the prefix and [SEP] are not skipped
    alone = backbone.encode_documents(["bread"]).windows.vectors
    assert found.windows[2].astype(np.float32) == pytest.approx(alone.astype(np.float32), abs=1e-3)
