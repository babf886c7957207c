"""The fine-tuned controls: what is gained by training the encoder instead, and what that costs elsewhere.

``excise train control`` makes them. They rule nothing out: whatever they know of exclusions is in their vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from excise.encoders.adapter import Adapter
from excise.encoders.backbone import load_backbone
from excise.engines.base import Reader
from excise.errors import InvalidInput
from excise.evaluation.experiments.indexes import cached_index
from excise.evaluation.systems.cases import Case, Collection
from excise.evaluation.systems.rankings import Rank, Ranking, found_ranking, reordered
from excise.evaluation.systems.spec import ControlName
from excise.results import Detection
from excise.search.models import SearchModels
from excise.search.operator import load
from excise.search.weighing import maxsim_of
from excise.vectors.ragged import Vectors


def query_only(models: SearchModels, folder: Path) -> Rank:
    """The frozen index, searched with an adapter's query vectors."""
    _check(folder)
    adapter = Adapter.from_pretrained(folder, models.backbone)

    def rank(case: Case, _: Detection) -> Ranking:
        query = adapter.encode_query(case.query.text).vectors
        if case.collection.reader is None:
            return reordered(case, maxsim_of(query, case.shortlist.vectors))
        return _found(case, case.collection.reader, query)

    return rank


def reindexed(_: SearchModels, folder: Path) -> Rank:
    """The same documents, indexed anew by a fine-tuned encoder. The index is kept in the cache."""
    _check(folder)
    backbone = load_backbone(str(folder))

    @cache
    def reader(collection: Collection) -> Reader:
        contents = "\n".join(sorted(f"{document.id} {document.full_text}" for document in collection.documents))
        operator = load(backbone=backbone)
        operator.index(collection.documents, cached_index("control", backbone, contents))
        assert operator.engine is not None
        return operator.engine.reader()

    def rank(case: Case, _: Detection) -> Ranking:
        query = backbone.encode_query(case.query.text).vectors
        if case.collection.reader is None:  # candidates are given: no index would hold them alone
            documents = backbone.encode_documents([document.full_text for document in case.documents])
            return reordered(case, maxsim_of(query, documents))
        return _found(case, reader(case.collection), query)

    return rank


CONTROLS: dict[ControlName, Callable[[SearchModels, Path], Rank]] = {"query-only": query_only, "reindexed": reindexed}


def _check(folder: Path) -> None:
    if not folder.is_dir():
        raise InvalidInput(f"there is no trained control in {str(folder)!r}: excise train control makes one.")


def _found(case: Case, reader: Reader, query: Vectors) -> Ranking:
    found = reader.search([query], case.collection.depth)[0]
    return found_ranking(case, found.documents, found.scores)
