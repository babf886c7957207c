"""Indexing with several processes: the same index as with one, resumable, and refused where it cannot work."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines import EngineAddress
from excise.errors import InvalidInput
from excise.search.operator import load
from excise.search.workers import Workers


def test_two_workers_make_the_index_that_one_makes(
    minilm: Backbone, own_documents: list[Document], demo_index: Path, tmp_path: Path
) -> None:
    first, rest = own_documents[:40], own_documents[40:80]
    load(backbone=minilm).index(first, tmp_path / "index")  # as after an interruption: half of it is there
    corpus = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": d.id, "title": d.title, "text": d.text}) + "\n" for d in (*first, *rest)]
    corpus.write_text("".join(lines))
    seen: list[int] = []
    operator = load(tmp_path / "index", backbone=minilm)
    report = operator.index(corpus, workers=2, progress=lambda done, _: seen.append(done))
    assert (report.added, report.unchanged, report.documents) == (40, 40, 80)
    assert seen == sorted(seen)
    assert seen[-1] == 80
    one, two = load(demo_index, backbone=minilm), load(tmp_path / "index", backbone=minilm)
    for query in ("electric cars, but not Tesla", "bread"):
        expected, found = one.search(query), two.search(query)
        assert [hit.id for hit in found.hits] == [hit.id for hit in expected.hits]
        assert [hit.score for hit in found.hits] == pytest.approx([hit.score for hit in expected.hits], abs=1e-2)


@pytest.mark.parametrize("count", [0, -1, 257, True, 1.5])
def test_impossible_numbers_of_workers_are_refused(count: object) -> None:
    with pytest.raises(InvalidInput, match="from 1 to 256"):
        Workers(count)  # type: ignore[arg-type]


def test_workers_need_an_engine_they_can_open(minilm: Backbone, demo_index: Path) -> None:
    handed_over = load(engine=EngineAddress("local", str(demo_index)).open(), backbone=minilm)
    with pytest.raises(InvalidInput, match="name it with its url"):
        handed_over.index([{"id": "a", "text": "b"}], workers=2)
