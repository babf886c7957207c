"""The fine-tuned controls: what is gained by training the encoder instead, and what that costs elsewhere.

``excise train control`` makes them. They rule nothing out: whatever they know of exclusions is in their vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

from excise.encoders.adapter import Adapter
from excise.encoders.backbone import load_backbone
from excise.engines.base import Engine
from excise.errors import InvalidInput
from excise.evaluation.experiments.indexes import cached_index
from excise.evaluation.systems.cases import Case, Collection
from excise.evaluation.systems.rankings import Rank, Ranked, Ranking
from excise.results import Topic
from excise.search.operator import Excise
from excise.vectors.ragged import Vectors


def query_only(collection: Collection, folder: Path) -> Rank:
    """The frozen index, searched with an adapter's query vectors."""
    _there(folder)
    adapter = Adapter.from_pretrained(folder, collection.backbone)

    def rank(case: Case, _: Sequence[Topic]) -> Ranking:
        return _found(case, _engine(collection), adapter.encode_query(case.query.text).vectors)

    return rank


def reindexed(collection: Collection, folder: Path) -> Rank:
    """The same documents, indexed anew by a fine-tuned encoder. The index is kept in the cache."""
    _there(folder)
    backbone = load_backbone(str(folder))

    @cache
    def engine() -> Engine:
        documents = collection.load_documents()
        contents = "\n".join(sorted(f"{document.id} {document.full_text}" for document in documents))
        operator = Excise(backbone)
        operator.index(documents, cached_index("control", backbone, contents))
        assert operator.engine is not None
        return operator.engine

    def rank(case: Case, _: Sequence[Topic]) -> Ranking:
        return _found(case, engine(), backbone.encode_query(case.query.text).vectors)

    return rank


CONTROLS: dict[str, Callable[[Collection, Path], Rank]] = {"query-only": query_only, "reindexed": reindexed}


def _there(folder: Path) -> None:
    if not folder.is_dir():
        raise InvalidInput(f"there is no trained control in {str(folder)!r}: excise train control makes one.")


def _engine(collection: Collection) -> Engine:
    if collection.operator.engine is None:
        raise InvalidInput("a control is measured on an index, and there is none.")
    return collection.operator.engine


def _found(case: Case, engine: Engine, query: Vectors) -> Ranking:
    found = engine.search(query, case.collection.depth)
    documents = engine.fetch([candidate.id for candidate in found])
    ranks = case.frozen_ranks
    placed = zip(documents, found, strict=True)
    return Ranking(tuple(Ranked(d.id, d.title, one.score, ranks.get(d.id)) for d, one in placed))
