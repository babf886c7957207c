"""The adapter: one set of base weights, frozen and adapted, alone and under concurrent use."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch

from excise.documents import Document
from excise.encoders.adapter import CONFIG, Adapter, AdapterConfig, load_adapter
from excise.encoders.backbone import Backbone, load_backbone, with_windowing
from excise.encoders.cache import EmbeddingCache
from excise.errors import BackboneError, InvalidInput
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import evidence, maxsim
from excise.vectors.windows import Windowing

QUERY = "electric cars, but not Tesla"
DOCUMENTS = [
    Document("long", "A text about cars. " * 12, "Long"),
    Document("leaf", "The Leaf is an electric hatchback."),
    Document("model3", "Tesla's sedan has one large touchscreen."),
]


@pytest.fixture(scope="module")
def backbone(pylate_checkpoint: Path) -> Backbone:
    return with_windowing(load_backbone(str(pylate_checkpoint)), Windowing(words=10, budget=40))


def disturbed(backbone: Backbone, side: str = "both", seed: int = 0) -> Adapter:
    """An adapter whose terms do something."""
    config = AdapterConfig(backbone.name, backbone.weights_fingerprint, rank=4, side=side)  # type: ignore[arg-type]
    adapter = Adapter(backbone, config)
    torch.manual_seed(seed)
    for parameter in adapter.terms.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    return adapter


def test_frozen_vectors_are_the_same_bits_before_and_after(backbone: Backbone) -> None:
    texts = [document.full_text for document in DOCUMENTS]
    before = backbone.encode_query(QUERY).vectors, backbone.encode_documents(texts).windows.vectors
    weights = {name: tensor.clone() for name, tensor in backbone.encoder.state_dict().items()}
    adapter = disturbed(backbone)
    adapted = adapter.encode_query(QUERY).vectors, adapter.encode_documents(texts).windows.vectors
    after = backbone.encode_query(QUERY).vectors, backbone.encode_documents(texts).windows.vectors
    for frozen, changed, again in zip(before, adapted, after, strict=True):
        assert np.array_equal(frozen, again)
        assert changed.shape == frozen.shape
        assert changed.dtype == frozen.dtype
        assert np.abs(changed - frozen).max() > 0.01
    assert not np.allclose(adapter.encode_topics(["Tesla"])[0], backbone.encode_topics(["Tesla"])[0], atol=1e-3)
    assert all(torch.equal(tensor, weights[name]) for name, tensor in backbone.encoder.state_dict().items())


def test_two_adapters_and_the_frozen_encoder_work_at_the_same_time(backbone: Backbone) -> None:
    encoders = [backbone, disturbed(backbone, seed=1), disturbed(backbone, seed=2)]
    alone = [encoder.encode_query(QUERY).vectors for encoder in encoders]
    with ThreadPoolExecutor(3) as pool:
        together = list(pool.map(lambda i: encoders[i % 3].encode_query(QUERY).vectors, range(60)))
    assert all(np.array_equal(vectors, alone[i % 3]) for i, vectors in enumerate(together))


def test_eight_threads_on_the_shipped_adapter_get_what_one_gets(minilm: Backbone) -> None:
    adapter = load_adapter(minilm)
    assert adapter is not None
    queries = ["electric cars " * size + "but not Tesla" for size in (1, 5, 20, 60)]
    encoders = [adapter, minilm]
    alone = {(e, q): encoders[e].encode_query(q).vectors for e in range(2) for q in queries}
    with ThreadPoolExecutor(8) as pool:
        asked = list(alone) * 4
        together = list(pool.map(lambda one: encoders[one[0]].encode_query(one[1]).vectors, asked))
    assert all(np.array_equal(vectors, alone[one]) for one, vectors in zip(asked, together, strict=True))


def test_only_what_the_cache_lacks_is_encoded(backbone: Backbone, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, cache = disturbed(backbone), EmbeddingCache()
    whole = adapter.encode_documents([document.full_text for document in DOCUMENTS])
    encoded: list[int] = []
    encode = adapter.encode_documents
    monkeypatch.setattr(adapter, "encode_documents", lambda texts: encoded.append(len(texts)) or encode(texts))
    adapter.reembed(DOCUMENTS[1:], cache)
    found = adapter.reembed(DOCUMENTS, cache)
    again = adapter.reembed(DOCUMENTS[::-1], cache)
    assert encoded == [2, 1]
    assert (cache.stats.hits, cache.stats.misses) == (5, 3)
    assert found.offsets.tolist() == whole.offsets.tolist() == [0, 4, 5, 6]
    assert found.windows.offsets.tolist() == whole.windows.offsets.tolist()
    assert found.windows.vectors == pytest.approx(whole.windows.vectors, abs=2e-3)
    assert np.array_equal(again.document(2).vectors, found.document(0).vectors)
    renamed = [Document(f"{document.id} of another index", document.text, document.title) for document in DOCUMENTS]
    adapter.reembed(renamed, cache)
    assert encoded == [2, 1]
    adapter.reembed([Document("leaf", "The Leaf was an electric hatchback.")], cache)
    assert encoded == [2, 1, 1]


def test_two_adapters_share_a_cache(backbone: Backbone) -> None:
    cache, adapters = EmbeddingCache(), [disturbed(backbone, seed=seed) for seed in (1, 2)]
    first = [adapter.reembed(DOCUMENTS, cache).windows.vectors for adapter in adapters]
    again = [adapter.reembed(DOCUMENTS, cache).windows.vectors for adapter in adapters]
    assert cache.stats.misses == cache.stats.hits == cache.stats.entries == 2 * len(DOCUMENTS)
    assert all(np.array_equal(one, two) for one, two in zip(first, again, strict=True))
    assert not np.array_equal(*first)


def test_an_adapter_goes_round(backbone: Backbone, tmp_path: Path) -> None:
    adapter = disturbed(backbone)
    adapter.save_pretrained(tmp_path)
    loaded = Adapter.from_pretrained(tmp_path, backbone)
    assert loaded.fingerprint == adapter.fingerprint != disturbed(backbone, seed=1).fingerprint
    assert np.array_equal(loaded.encode_query(QUERY).vectors, adapter.encode_query(QUERY).vectors)


def test_a_query_side_adapter_leaves_documents_and_topics_alone(backbone: Backbone) -> None:
    adapter = disturbed(backbone, side="query")
    frozen = backbone.encode_documents(["cars"]).windows.vectors
    assert np.array_equal(adapter.encode_documents(["cars"]).windows.vectors, frozen)
    assert np.array_equal(adapter.encode_topics(["Tesla"])[0], backbone.encode_topics(["Tesla"])[0])
    assert not np.allclose(adapter.encode_query(QUERY).vectors, backbone.encode_query(QUERY).vectors, atol=1e-3)


def test_misfits_are_refused(backbone: Backbone, minilm: Backbone, tmp_path: Path) -> None:
    with pytest.raises(BackboneError, match="does not hold an adapter"):
        Adapter.from_pretrained(tmp_path, backbone)
    disturbed(backbone).save_pretrained(tmp_path)
    with pytest.raises(BackboneError, match="was trained on"):
        Adapter.from_pretrained(tmp_path, minilm)
    (tmp_path / CONFIG).write_text(json.dumps({"side": "left"}))
    with pytest.raises(BackboneError, match="side must be"):
        Adapter.from_pretrained(tmp_path, backbone)
    with pytest.raises(InvalidInput, match="side must be"):
        AdapterConfig(side="left")  # type: ignore[arg-type]
    assert load_adapter(backbone) is None


def test_the_shipped_adapter_reads_exclusions_and_keeps_the_scale_of_evidence(minilm: Backbone) -> None:
    adapter = load_adapter(minilm)
    assert adapter is not None
    texts = [
        "The Nissan Leaf is an electric hatchback made in Sunderland.",
        "Tesla builds the electric Model Y in Berlin.",
    ]
    frozen, adapted = minilm.judging.encode_documents(texts), adapter.encode_documents(texts)
    cosines = (frozen.windows.vectors.astype(np.float32) * adapted.windows.vectors.astype(np.float32)).sum(axis=1)
    assert cosines.mean() > 0.8

    def lead(encoder: Backbone | Adapter, documents: EncodedDocuments) -> float:
        """By how much the page about Tesla scores above the other."""
        query = encoder.encode_query("electric cars, but not Tesla").vectors
        leaf, tesla = maxsim(query, documents.windows)
        return float(tesla - leaf)

    assert lead(adapter, adapted) < lead(minilm.judging, frozen)
    match = evidence(adapter.encode_topics(["Tesla"]), adapted.windows)
    assert match[1] > match[0] + 0.2


def test_the_shipped_card_says_how_to_rebuild_it() -> None:
    folder = Path(str(files("excise") / "models" / "adapter"))
    card = (folder / "README.md").read_text(encoding="utf-8")
    figures = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    assert "excise train adapter --out DIR" in card
    assert all(row["queries"] == row["documents"] == 0 for row in figures["leakage"])
    assert f"| trained | {figures['own dev']['trained']['relevance']:.3f} |" in card
