"""Mining: the band, seeds, near-duplicates, and vectors of documents."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone, load_backbone
from excise.errors import InvalidInput
from excise.search.operator import load
from excise.xbench.bench_folder import BenchFolder
from excise.xbench.indexed_corpus import IndexedCorpus
from excise.xbench.mining import Band, MiningSettings, mine
from excise.xbench.steps import mine_run
from excise.xbench.storage import XBenchError


def vectors(documents: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed).standard_normal((documents, 8)).astype(np.float32)
    return random / np.linalg.norm(random, axis=1, keepdims=True)


def test_every_negative_lies_in_the_band_and_is_the_closest_one_there() -> None:
    means, ids = vectors(1_200), [f"d{i}" for i in range(1_200)]
    for pair in mine(means, ids, Band(0.5, 0.8, absolute=True), anchors=700, seed=3):
        gold = int(pair.gold[1:])
        similarities = means @ means[gold]
        similarities[gold] = -1
        inside = np.flatnonzero((similarities >= 0.5) & (similarities <= 0.8))
        assert pair.negatives[0] == ids[inside[np.argmax(similarities[inside])]]
        assert 1 <= len(pair.negatives) <= 2
        assert pair.similarities[0] == pytest.approx(similarities[int(pair.negatives[0][1:])], abs=1e-4)
        if len(pair.negatives) == 2:
            one, other = (int(id[1:]) for id in pair.negatives)
            assert means[one] @ means[other] <= 0.8


def test_the_second_negative_is_close_to_the_gold_and_to_the_first() -> None:
    """A document that only borders on the gold shares no subject with the pair, and makes a trivial exclusion."""
    means = np.array([[1, 0, 0], [0.8, 0.6, 0], [0.75, -0.66, 0], [0.7, 0.5, 0.51]], dtype=np.float32)
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    pairs = mine(means, ["gold", "first", "aside", "near"], Band(0.5, 0.95, absolute=True))
    assert {pair.gold: pair.negatives for pair in pairs}["gold"] == ("first", "near")


def test_documents_that_make_no_good_prompt_are_passed_over_and_counted(
    own_documents: list[Document], minilm: Backbone, tmp_path: Path
) -> None:
    lines = [{"_id": d.id, "title": d.title, "text": d.text} for d in own_documents[:12]]
    first = lines[0]
    lines += [
        {**first, "_id": "copy", "title": "Another heading of the same"},
        {
            **first,
            "_id": "erratum",
            "title": f"Erratum: {first['title']}",
            "text": "In the third table of the report, " * 8,
        },
        {**first, "_id": "french", "title": "Crédit", "text": "Les États membres exigent que le prêteur informe. " * 6},
        {**first, "_id": "stub", "title": "Stub", "text": "Too short to be of use."},
    ]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    load(backbone=minilm).index(corpus, tmp_path / "index")
    mined = mine_run(tmp_path / "run", MiningSettings(corpus, tmp_path / "index", band=Band(0.1, 0.999)))
    assert mined.mined.passed_over == {"near_duplicate": 2, "not_english": 1, "too_short": 1}
    used = {id for pair in BenchFolder.open(tmp_path / "run").pairs() for id in (pair.gold, *pair.negatives)}
    assert not used & {"copy", "erratum", "french", "stub"}


def test_the_same_seed_gives_the_same_pairs_and_another_does_not() -> None:
    means, ids = vectors(300), [str(i) for i in range(300)]
    first = mine(means, ids, Band(), anchors=20, seed=1)
    assert first == mine(means, ids, Band(), anchors=20, seed=1)
    assert [pair.gold for pair in first] != [pair.gold for pair in mine(means, ids, Band(), anchors=20, seed=2)]


def test_a_near_duplicate_is_no_negative() -> None:
    means = np.array([[1, 0], [0.9999, 0.0141], [0.8, 0.6]], dtype=np.float32)
    pairs = mine(means, ["a", "copy", "b"], Band(0.5, 0.99, absolute=True), negatives=1)
    assert {pair.gold: pair.negatives for pair in pairs}["a"] == ("b",)


def test_loosening_widens_the_band_downwards() -> None:
    means = vectors(400)
    low, high = Band(0.99, 0.999).edges(means)
    assert Band(0.99, 0.999, loosen=0.2).edges(means) == (pytest.approx(low - 0.2), high)


def test_short_documents_are_neither_anchors_nor_negatives() -> None:
    means, usable = vectors(100), np.arange(100) >= 50
    pairs = mine(means, [str(i) for i in range(100)], Band(0.0, 0.9, absolute=True), usable=usable)
    assert pairs
    assert all(int(id) >= 50 for pair in pairs for id in (pair.gold, *pair.negatives))


@pytest.mark.parametrize("wrong", [{"anchors": 0}, {"negatives": 3}])
def test_impossible_wishes_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidInput):
        mine(vectors(10), [str(i) for i in range(10)], Band(), **wrong)


def test_an_index_of_the_run_gives_what_a_given_one_gives(
    small_corpus: Path, small_index: Path, tmp_path: Path
) -> None:
    band = Band(0.8, 0.999)
    given = mine_run(tmp_path / "a", MiningSettings(small_corpus, small_index, band=band, anchors=5))
    built = mine_run(tmp_path / "b", MiningSettings(small_corpus, band=band, anchors=5))
    assert given.mined.pairs == built.mined.pairs == 5
    assert (tmp_path / "a" / "pairs.jsonl").read_text() == (tmp_path / "b" / "pairs.jsonl").read_text()


def test_mean_vectors_are_the_means_of_all_tokens(small_corpus: Path, small_index: Path, tmp_path: Path) -> None:
    run = BenchFolder.start(tmp_path / "run", MiningSettings(small_corpus, small_index))
    corpus = IndexedCorpus(run)
    engine = load(small_index).engine
    assert engine is not None
    judged_by = load_backbone("minilm").judging.dimensions
    tokens = engine.reader().vectors([corpus.ids[7]]).leading(judged_by).windows.vectors
    mean = tokens.mean(axis=0) / np.linalg.norm(tokens.mean(axis=0))
    np.testing.assert_allclose(corpus.means[7], mean, atol=1e-5)
    stored = next((tmp_path / "run").glob("means-*.npy"))
    stored.write_bytes(b"damaged")
    np.testing.assert_allclose(IndexedCorpus(run).means[7], mean, atol=1e-5)


def test_an_index_of_other_documents_is_refused(small_index: Path, corpus_file: Path, tmp_path: Path) -> None:
    with pytest.raises(XBenchError, match="lacks 6 documents"):
        mine_run(tmp_path / "run", MiningSettings(corpus_file, small_index))


def test_other_settings_need_another_folder_or_overwrite(small_corpus: Path, small_index: Path, tmp_path: Path) -> None:
    settings = MiningSettings(small_corpus, small_index, anchors=3)
    mine_run(tmp_path / "run", settings)
    before = (tmp_path / "run" / "pairs.jsonl").read_text()
    mine_run(tmp_path / "run", settings)
    assert (tmp_path / "run" / "pairs.jsonl").read_text() == before
    other = MiningSettings(small_corpus, small_index, anchors=4)
    with pytest.raises(XBenchError, match="anchors differ"):
        mine_run(tmp_path / "run", other)
    assert mine_run(tmp_path / "run", other, overwrite=True).mined.pairs == 4


def test_a_rank_is_the_place_in_what_the_engine_finds(small_corpus: Path, small_index: Path, tmp_path: Path) -> None:
    corpus = IndexedCorpus(BenchFolder.start(tmp_path / "run", MiningSettings(small_corpus, small_index)))
    queries = [f"{document.title.split()[0]} at home" for document in list(corpus.documents.values())[:35]]
    operator = load(small_index)
    for depth in (3, 40):
        ranks = corpus.ranks(queries, corpus.ids[:35], depth)
        for query, id, rank in zip(queries, corpus.ids, ranks, strict=False):
            hits = [hit.id for hit in operator.search(query, k=depth, exclude=()).hits]
            assert rank == (hits.index(id) + 1 if id in hits else None)
        assert (None in ranks) == (depth == 3)


def test_scores_by_vectors_are_those_of_the_search(small_corpus: Path, small_index: Path, tmp_path: Path) -> None:
    corpus = IndexedCorpus(BenchFolder.start(tmp_path / "run", MiningSettings(small_corpus, small_index)))
    hits = load(small_index).search("home bread baking", k=5, exclude=()).hits
    found = corpus.scores("home bread baking", [hit.id for hit in hits])
    assert found.maxsim == pytest.approx([hit.score for hit in hits], abs=1e-4)
    assert len(found.bm25) == 5


def test_a_run_whose_configuration_was_damaged_is_told_in_a_sentence(
    small_corpus: Path, small_index: Path, tmp_path: Path
) -> None:
    BenchFolder.start(tmp_path / "run", MiningSettings(small_corpus, small_index))
    file = tmp_path / "run" / "config.json"
    content = json.loads(file.read_text())
    content["mining"]["seed"] = "zero"
    file.write_text(json.dumps(content))
    with pytest.raises(XBenchError, match=r"config\.json: the field 'seed' of a run cannot be 'zero'"):
        IndexedCorpus(BenchFolder.open(tmp_path / "run"))
