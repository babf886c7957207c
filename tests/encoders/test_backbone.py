"""Backbones: what queries, topics and documents become, alone, in batches and in threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import PRESETS, Backbone, load_backbone, with_windowing
from excise.encoders.batching import PADDED_TOKENS
from excise.errors import BackboneError, InvalidInput
from excise.vectors.encoded import EncoderInfo
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


def test_a_large_batch_gives_what_documents_give_alone(minilm: Backbone, own_documents: list[Document]) -> None:
    texts = [document.full_text for document in own_documents[:25]] + ["", "word " * 450]
    together = minilm.encode_documents(texts)
    for place in (0, 17, 25, 26):
        alone = minilm.encode_documents(texts[place : place + 1])
        assert np.array_equal(alone.windows.offsets, together.document(place).offsets)
        own = together.document(place).vectors.astype(np.float32)
        assert own == pytest.approx(alone.windows.vectors.astype(np.float32), abs=1e-3)


def test_passes_are_bounded_and_progress_ends_at_one(plain_checkpoint: Path, own_documents: list[Document]) -> None:
    backbone = load_backbone(str(plain_checkpoint))
    passes: list[torch.Size] = []
    backbone.encoder.register_forward_hook(lambda _, inputs, output: passes.append(output.mask.shape))
    shares: list[float] = []
    backbone.encode_documents([document.full_text for document in own_documents[:100]], shares.append)
    assert len(passes) == len(shares) > 1
    assert all(texts * tokens <= PADDED_TOKENS for texts, tokens in passes)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


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


def test_queries_in_a_batch_are_what_they_are_alone(minilm: Backbone) -> None:
    queries = ["electric cars, but not Tesla", "jazz", "a longer question about the moons of Jupiter " * 9, "jazz"]
    for query, found in zip(queries, minilm.encode_queries(queries), strict=True):
        alone = minilm.encode_query(query)
        assert found.vectors == pytest.approx(alone.vectors, abs=1e-5)
        assert np.array_equal(found.spans, alone.spans)
    assert minilm.encode_queries([]) == []


def test_an_index_is_told_what_encoded_it(minilm: Backbone) -> None:
    assert minilm.info == EncoderInfo("minilm", minilm.fingerprint, 248, 200, 1000)


def test_broken_text_is_encoded(minilm: Backbone) -> None:
    broken = "caf\udce9 \ud83d"
    assert len(minilm.encode_query(broken).vectors) == len(minilm.encode_query("caf\ufffd \ufffd").vectors)
    assert len(minilm.encode_topics([broken])[0])
    assert len(minilm.encode_documents([broken]))


TEXTS = ["cars", "electric cars, but not Tesla", "a longer text about jazz " * 3, "bread needs flour " * 20]
Job = tuple[str, int]


def answer(backbone: Backbone, job: Job) -> list[NDArray[Any]]:
    """Everything that one kind of encoding gives for some of the texts."""
    kind, first = job
    texts = TEXTS[first:] + TEXTS[:first]
    if kind == "query":
        query = backbone.encode_query(texts[0])
        return [query.vectors, query.spans]
    if kind == "topics":
        return list(backbone.encode_topics(texts))
    documents = backbone.encode_documents(texts)
    return [documents.windows.vectors, documents.windows.offsets]


@pytest.mark.parametrize(("name", "rounds"), [("minilm", 1), ("pylate_checkpoint", 5), ("plain_checkpoint", 50)])
def test_eight_threads_get_what_one_gets(name: str, rounds: int, request: pytest.FixtureRequest) -> None:
    """Small encoders and many calls: the more of the time goes into tokens, the sooner shared state shows."""
    made = request.getfixturevalue(name)
    backbone = made if isinstance(made, Backbone) else load_backbone(str(made))
    kinds = ("query", "topics", "query", "documents")
    jobs: list[Job] = [(kind, first) for kind in kinds for first in range(len(TEXTS))]
    alone = {job: answer(backbone, job) for job in jobs}
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(lambda job: (job, answer(backbone, job)), jobs * rounds))
    finally:
        sys.setswitchinterval(interval)
    for job, arrays in together:
        assert all(np.array_equal(one, other) for one, other in zip(arrays, alone[job], strict=True)), job


def test_topics_are_content_tokens_only(minilm: Backbone) -> None:
    tesla, quoted = minilm.encode_topics(["Tesla", '"Tesla"!'])
    assert len(tesla) == 1
    assert len(quoted) == 1
    assert len(minilm.encode_topics(["..."])[0]) == 3


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
