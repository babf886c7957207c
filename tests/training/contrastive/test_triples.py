"""Triples: where they come from, what they never contain, and how they are divided."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.documents import Document
from excise.errors import BadCorpus, InvalidInput
from excise.suites.suites import load_suite
from excise.training.contrastive.overlap import Measured, Overlap, measured_sets, without_leaks
from excise.training.contrastive.triples import (
    Triple,
    ordinary_pairs,
    read_triples,
    split_by_group,
    suite_triples,
    triple_batches,
)


@pytest.fixture(scope="module")
def own() -> list[Triple]:
    return read_triples(["own"], per_query=2)


def triple(query: str, gold: str, negative: str) -> Triple:
    documents = Document(gold, f"text of {gold}"), Document(negative, f"text of {negative}")
    return Triple(query, ("z",), *documents, judged=frozenset((gold, negative)))


def test_bundled_triples_are_as_the_suite_judges(own: list[Triple]) -> None:
    suite = load_suite("own", "train")
    queries = {query.text: query for query in suite.queries}
    assert len(own) > 800
    for one in own:
        query = queries[one.query]
        assert one.negative is not None
        assert suite.qrels[query.id][one.gold.id.removeprefix("own/")] > 0
        assert one.negative.id.removeprefix("own/") in suite.negatives[query.id]
        assert one.topics == query.excluded
        assert {one.gold.id, one.negative.id} <= one.judged
    assert read_triples(["own"], 2) == own
    assert read_triples(["own"], 2, seed=1) != own


def test_the_split_shares_no_query_and_no_document(own: list[Triple]) -> None:
    train, held = split_by_group(own, share=0.2)
    assert len(train) + len(held) == len(own)
    assert 0.15 < len(held) / len(own) < 0.3
    for names in (
        lambda rows: {t.query for t in rows},
        lambda rows: {document.id for t in rows for document in t.documents},
    ):
        assert not names(train) & names(held)


def test_triples_that_all_hang_together_cannot_be_split() -> None:
    chained = [triple("q1", "a", "b"), triple("q2", "b", "c"), triple("q3", "c", "a")]
    with pytest.raises(InvalidInput, match="give a learning rate"):
        split_by_group(chained)
    assert len(split_by_group([*chained, triple("q4", "x", "y")])[1]) in (1, 3)


def test_batches_hold_every_triple_once_and_neighbours_share_documents(own: list[Triple]) -> None:
    plan = triple_batches(own, 12, seed=3)
    assert sorted(t.query + t.gold.id for batch in plan for t in batch) == sorted(t.query + t.gold.id for t in own)
    assert plan == triple_batches(own, 12, seed=3) != triple_batches(own, 12, seed=4)
    encoded = [len({document.id for t in batch for document in t.documents}) for batch in plan[:-1]]
    assert sum(encoded) / len(encoded) < 0.85 * 24


def test_files_of_triples(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    row = {"query": "cars, not Tesla", "topics": ["Tesla"], "positive": "The Leaf.", "negative": "The Model 3."}
    path.write_text(json.dumps(row) + "\n\n" + json.dumps({**row, "plain": "cars"}) + "\n")
    found = sorted(read_triples([str(path)], 1), key=lambda t: t.plain or "")
    assert [(t.gold.text, t.plain) for t in found] == [("The Leaf.", None), ("The Leaf.", "cars")]
    for bad in ({**row, "positive": 3}, {**row, "query": " "}, {"query": "a"}):
        path.write_text(json.dumps(bad))
        with pytest.raises(BadCorpus, match=r"mine\.jsonl, line 1: not a triple"):
            read_triples([str(path)], 1)
    path.write_text("{")
    with pytest.raises(BadCorpus, match=r"mine\.jsonl, line 1: not valid JSON"):
        read_triples([str(path)], 1)
    path.write_text("")
    with pytest.raises(InvalidInput, match="no query"):
        read_triples([str(path)], 1)
    with pytest.raises(InvalidInput, match="per_query"):
        read_triples(["own"], 0)


def test_ordinary_pairs_exclude_nothing(tmp_path: Path) -> None:
    texts = [
        {"_id": str(i), "title": f"a title numbered {i // 2 if i < 4 else i}", "text": f"text {i}"} for i in range(8)
    ]
    (tmp_path / "news").mkdir()
    (tmp_path / "news" / "corpus.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
    pairs = ordinary_pairs(tmp_path, titles=9)
    assert all(pair.negative is None and not pair.topics for pair in pairs)
    titled = {pair.query: pair.gold.text for pair in pairs if pair.gold.id.startswith("news/")}
    assert titled == {f"a title numbered {i}": f"text {i}" for i in range(4, 8)}  # titles of two documents name neither
    assert len(pairs) > 400


def test_what_is_measured_is_not_learned_from(own: list[Triple]) -> None:
    clean, overlaps = without_leaks(own, measured_sets(None))
    assert clean == own
    assert overlaps == [Overlap("own dev", 0, 0)]
    measured = Measured("dev", frozenset(["cars not tesla"]), frozenset(["text of b"]))
    rows = [triple("Cars -- not TESLA", "a", "c"), triple("x", "a", "b"), triple("y", "c", "d")]
    clean, overlaps = without_leaks(rows, [measured])
    assert [t.query for t in clean] == ["y"]
    assert overlaps == [Overlap("dev", 1, 1)]


def test_every_suite_of_a_folder_is_looked_through(tmp_path: Path) -> None:
    for name in ("bool", "small/qrels"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "bool" / "dev_pairs.jsonl").write_text(json.dumps({"text": "q", "positive": "a", "negative": "b"}))
    (tmp_path / "bool" / "other_pairs.jsonl").write_text("{}\n")
    seen = suite_triples(load_suite("own", "train"), 1)[0]
    (tmp_path / "small" / "corpus.jsonl").write_text(json.dumps({"_id": "d", "text": seen.gold.text.upper()}))
    (tmp_path / "small" / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "something"}))
    (tmp_path / "small" / "qrels" / "test.tsv").write_text("q\td\t1\n")
    sets = {one.name: one for one in measured_sets(tmp_path)}
    assert list(sets) == ["own dev", "bool dev_pairs", "small test"]
    clean, overlaps = without_leaks([seen, triple("Q!", "c", "d")], sets.values())
    assert not clean
    assert overlaps == [Overlap("own dev", 0, 0), Overlap("bool dev_pairs", 1, 0), Overlap("small test", 0, 1)]


def test_the_bundled_mentions_have_golds_that_name_the_topic() -> None:
    found = read_triples(["mentions"], per_query=1)
    assert len(found) == len({triple.query for triple in found}) > 200
    for triple in found:
        assert triple.negative is not None
        for text in (triple.query, triple.gold.text, triple.negative.text):
            assert any(topic.casefold() in text.casefold() for topic in triple.topics)
