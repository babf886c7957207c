"""What the service does with one operator: searches, detections, reranks and writes, each in a queue of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from excise.documents import Document
from excise.engines.base import Engine, Reader
from excise.errors import BadIndex
from excise.filters import read_where
from excise.results import Detection, Hit, IndexReport, SearchResult
from excise.search.inputs import named_topics
from excise.search.operator import Excise
from excise.service.batcher import Batcher
from excise.service.gauges import Gauges
from excise.service.service_limits import ServiceLimits
from excise.settings import Settings, resolve
from excise.text import checked_query

_MOST_WRITES = 32  # writes that may wait; each may be of some megabytes
_MOST_RERANKS = 32


@dataclass(frozen=True)
class SearchKind:
    """What searches must have in common to be done together; ``where`` is JSON."""

    k: int = 10
    exclude: tuple[str, ...] | None = None
    caution: float | None = None
    compare: bool = False
    where: str | None = None


class Searched(NamedTuple):
    """A result, and the engine's own ranking where it was asked for."""

    result: SearchResult
    frozen: tuple[Hit, ...] | None


@dataclass(frozen=True)
class Reranking:
    """Candidates of another first stage, to be judged."""

    query: str
    candidates: Sequence[Mapping[str, Any]]
    k: int | None = None
    exclude: tuple[str, ...] | None = None
    caution: float | None = None


@dataclass(frozen=True)
class Change:
    """A write: documents to add, or ids to delete."""

    documents: Sequence[Document] = ()
    delete: Sequence[str] = ()


class Changed(NamedTuple):
    """What a write did."""

    report: IndexReport
    deleted: int


class OneState:
    """An engine as it is at one moment: searches that belong together see the same documents."""

    def __init__(self, engine: Engine) -> None:
        self.name = engine.name
        self._reader = engine.reader()

    def reader(self) -> Reader:
        return self._reader

    def add(self, *_: Any) -> None:
        raise BadIndex(f"{self.name} is open for reading only.")

    def delete(self, *_: Any) -> int:
        raise BadIndex(f"{self.name} is open for reading only.")

    def tidy(self) -> None:
        """There is nothing to tidy in a moment."""


class SearchDesk:
    """Takes calls from any number of callers and answers them with futures.

    Parameters
    ----------
    operator
        loaded, with an index.
    limits
        how much may wait.
    gauges
        where to count.
    """

    def __init__(self, operator: Excise, limits: ServiceLimits | None = None, gauges: Gauges | None = None) -> None:
        if operator.engine is None:
            raise BadIndex("there is no index to serve.")
        self.operator, self.engine = operator, operator.engine
        self._gauges = gauges
        room = (limits or ServiceLimits()).waiting
        batches = None if gauges is None else gauges.batches.observe
        self.searches: Batcher[SearchKind, str, Searched] = Batcher(self._search, room=room, observe=batches)
        self.detections: Batcher[None, str, Detection] = Batcher(self._detect, room=room)
        self.reranks: Batcher[None, Reranking, SearchResult] = Batcher(self._rerank, most=1, room=_MOST_RERANKS)
        self.changes: Batcher[None, Change, Changed] = Batcher(self._change, most=1, room=_MOST_WRITES)

    def warm_up(self) -> None:
        """Load what a search needs, so that nobody waits for it later."""
        [warm] = self._detect(None, ["bread, but not rye"])
        self._search(SearchKind(k=1, caution=0.5), [warm.query])

    @property
    def default_caution(self) -> float | None:
        """How sure the service is before a removal where nobody says; None where its rule does not ask that."""
        settings = self.operator.settings
        return settings.coverage.caution if settings.rule == "coverage" else None

    def close(self) -> None:
        """Take nothing more, and finish what was begun."""
        for queue in (self.searches, self.detections, self.reranks, self.changes):
            queue.close()

    def checked_kind(self, queries: Sequence[str], kind: SearchKind) -> SearchKind:
        """Refuse what the library would refuse, before it shares a batch with others."""
        for query in queries:
            checked_query(query)
            if kind.exclude is not None:
                named_topics(query, kind.exclude)
        if kind.where is not None:
            read_where(json.loads(kind.where))
        return kind

    def find(self, ids: Sequence[str]) -> tuple[list[Document], list[str]]:
        """Documents by id, and the ids that there are not."""
        reader = self.engine.reader()
        found: list[Document] = []
        missing = []
        for id in dict.fromkeys(ids):
            try:
                found += reader.documents([id])
            except BadIndex:
                missing.append(id)
        return found, missing

    def _settings(self, caution: float | None) -> Settings:
        if caution is None:
            return self.operator.settings
        own = self.operator.settings
        return (own if own.rule == "coverage" else resolve()).with_caution(caution)

    def _search(self, kind: SearchKind, queries: list[str]) -> list[Searched]:
        operator = Excise(self.operator.pipeline.models, OneState(self.engine), self._settings(kind.caution))
        where = None if kind.where is None else json.loads(kind.where)
        results = operator.search_many(queries, kind.k, kind.exclude, where)
        if self._gauges is not None:
            self._gauges.searched(results)
        if not kind.compare:
            return [Searched(result, None) for result in results]
        again = [result.query for result in results if result.fired]
        frozen = iter(operator.search_many(again, kind.k, (), where) if again else ())
        return [Searched(result, (next(frozen) if result.fired else result).hits) for result in results]

    def _detect(self, _: None, queries: list[str]) -> list[Detection]:
        return self.operator.pipeline.detect(queries)

    def _rerank(self, _: None, calls: list[Reranking]) -> list[SearchResult]:
        return [self._reranked(call) for call in calls]

    def _reranked(self, call: Reranking) -> SearchResult:
        operator = Excise(self.operator.pipeline.models, settings=self._settings(call.caution))
        return operator.rerank(call.query, call.candidates, call.exclude, call.k)

    def _change(self, _: None, changes: list[Change]) -> list[Changed]:
        return [self._changed(change) for change in changes]

    def _changed(self, change: Change) -> Changed:
        deleted = self.engine.delete(change.delete) if change.delete else 0
        if change.documents:
            return Changed(self.operator.index(change.documents), deleted)
        return Changed(IndexReport(0, 0, 0, len(self.engine.reader())), deleted)
