"""Encoders: the embedded default, and checkpoints in foreign formats."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from excise.encoders.backbone import PRESETS, Backbone, load_backbone, with_windowing
from excise.errors import BackboneError, InvalidInput
from excise.vectors.maxsim import maxsim
from excise.vectors.ragged import Ragged
from excise.vectors.windows import LONG, SHORT, Windowing


def test_token_vectors_are_normalised_and_halved(minilm: Backbone) -> None:
    encoded = minilm.encode_documents(["A short text.", "Another, longer text about electric cars."])
    assert encoded.windows.vectors.dtype == np.float16
    assert np.linalg.norm(encoded.windows.vectors.astype(np.float32), axis=1) == pytest.approx(1, abs=2e-3)
    assert encoded.windows.vectors.shape[1] == minilm.dimensions


def test_neighbours_in_a_batch_do_not_change_a_document(minilm: Backbone) -> None:
    texts = ["Jazz.", "A much longer sentence about the history of jazz saxophonists in New York. " * 5]
    alone = minilm.encode_documents(texts[:1]).windows.vectors
    together = minilm.encode_documents(texts).windows[0]
    assert together.astype(np.float32) == pytest.approx(alone.astype(np.float32), abs=2e-3)


def test_long_documents_become_windows(minilm: Backbone) -> None:
    backbone = with_windowing(minilm, Windowing(words=10, budget=25))
    encoded = backbone.encode_documents(["one", " ".join(["word"] * 60)])
    assert encoded.offsets.tolist() == [0, 1, 4]
    assert backbone.fingerprint != minilm.fingerprint


def test_a_query_finds_its_document(minilm: Backbone) -> None:
    encoded = minilm.encode_documents(["Bread needs flour, water and yeast.", "The probe flew past Jupiter in 1979."])
    query = minilm.encode_query("spacecraft visiting the giant planets")
    assert maxsim(query.vectors, encoded.windows).argmax() == 1


def test_query_tokens_know_their_characters(minilm: Backbone) -> None:
    text = "electric cars, but not Tesla"
    query = minilm.encode_query(text)
    pieces = [text[start:end] for start, end in query.spans if start >= 0]
    assert pieces == ["electric", "cars", ",", "but", "not", "Tesla"]
    masked = query.outside([(text.index("Tesla"), len(text))])
    assert len(masked) == len(query.vectors) - 1
    assert len(query.outside([(0, len(text))])) == len(query.vectors) - 6  # the special tokens stay


def test_topics_are_content_tokens_only(minilm: Backbone) -> None:
    tesla, quoted = minilm.encode_topics(["Tesla", '"Tesla"!'])
    assert len(tesla) == 1
    assert len(quoted) == 1
    assert len(minilm.encode_topics(["..."])[0]) == 3


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
    from safetensors.torch import load_file

    encoder = load_backbone(str(stanford_checkpoint)).encoder
    loaded = dict(encoder.named_weights())["1.linear.weight"]
    assert loaded.equal(load_file(stanford_checkpoint / "model.safetensors")["linear.weight"])


def test_a_plain_encoder_gets_no_random_projection(plain_checkpoint: Path) -> None:
    first, second = load_backbone(str(plain_checkpoint)), load_backbone(str(plain_checkpoint))
    assert first.dimensions == 32
    assert first.fingerprint == second.fingerprint
    assert first.encode_query("cars").vectors == pytest.approx(second.encode_query("cars").vectors)


def test_presets_follow_the_paper() -> None:
    assert PRESETS["reason-moderncolbert"].windowing == LONG
    assert PRESETS["gte-moderncolbert"].windowing == PRESETS["colbertv2"].windowing == SHORT
    assert {preset.source for preset in PRESETS.values()} >= {
        "lightonai/Reason-ModernColBERT",
        "lightonai/GTE-ModernColBERT-v1",
        "colbert-ir/colbertv2.0",
    }


def test_fingerprints_tell_encoders_apart(minilm: Backbone, pylate_checkpoint: Path, stanford_checkpoint: Path) -> None:
    prints = {
        b.fingerprint for b in (minilm, *(load_backbone(str(p)) for p in (pylate_checkpoint, stanford_checkpoint)))
    }
    assert len(prints) == 3


@pytest.mark.parametrize(
    ("query", "sentence"), [("", "query is empty"), (" \n", "query is empty"), ("word " * 2_000, "2,000 words")]
)
def test_bad_queries_are_refused(minilm: Backbone, query: str, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        minilm.encode_query(query)


def test_unknown_and_broken_backbones_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match="unknown backbone 'no-such-model'"):
        load_backbone("no-such-model")
    with pytest.raises(BackboneError, match="could not load"):
        load_backbone(str(tmp_path))


def test_topics_match_what_covers_them(minilm: Backbone) -> None:
    from excise.vectors.maxsim import evidence

    documents = minilm.encode_documents(["The Tesla Model 3 charges fast.", "The Nissan Leaf charges slowly."])
    match = evidence(minilm.encode_topics(["Tesla"]), documents.windows)
    assert match[0] > match[1] + 0.2


def test_no_documents_is_refused(minilm: Backbone) -> None:
    with pytest.raises(InvalidInput, match="no documents"):
        minilm.encode_documents([])
    with pytest.raises(InvalidInput):
        Ragged.of([])
