"""The operator: index documents, search them, rerank anybody's candidates; what is excluded is ruled out and listed.

Whatever it removes is listed with its evidence, and a search that excludes nothing returns the engine's ranking
untouched. The steps themselves are in :mod:`excise.search.pipeline`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from excise.cores import on_all_cores
from excise.documents import Corpus, Document, read_documents
from excise.encoders.adapter import Adapter
from excise.encoders.backbone import DEFAULT, Backbone, load_backbone
from excise.encoders.cache import DEFAULT_BYTES, EmbeddingCache
from excise.engines.base import Engine, Found, expect
from excise.engines.catalogue import EngineAddress, address_of
from excise.errors import BadCorpus, BadIndex, InvalidInput
from excise.filters import read_where
from excise.results import Detection, Explanation, Hit, IndexReport, Removed, SearchResult
from excise.rules.decision import Floats
from excise.search.budget import SearchClock
from excise.search.indexing import IndexProgress, add_new
from excise.search.inputs import check_k, read_candidates
from excise.search.models import SHIPPED, SearchModels
from excise.search.pipeline import Pipeline, decide, shortlisted
from excise.search.stages import Judgement, SearchVectors, Weighed
from excise.search.workers import Workers, add_with_workers
from excise.settings import Settings, resolve

if TYPE_CHECKING:
    from excise.topics.detector import Detector

BATCH = 32  # queries that are encoded and searched together
MAX_QUERIES = 10_000


class Excise:
    """Exclusion-aware search over a frozen index, for any number of threads. Make one with :func:`load`."""

    def __init__(
        self,
        models: SearchModels,
        engine: Engine | None = None,
        settings: Settings | None = None,
        address: EngineAddress | None = None,
    ) -> None:
        self.engine = engine
        self._address = address  # None where the engine was handed over
        self.pipeline = Pipeline(models, settings)
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def backbone(self) -> Backbone:
        return self.pipeline.backbone

    @property
    def settings(self) -> Settings:
        return self.pipeline.settings

    @property
    def detector(self) -> Detector | None:
        """What reads exclusions from queries."""
        return self.pipeline.models.detector

    @property
    def adapter(self) -> Adapter | None:
        """The exclusion adapter, where the settings use one and the backbone has one."""
        return self.pipeline.adapter

    @property
    def cache(self) -> EmbeddingCache:
        """Re-embedded documents."""
        return self.pipeline.models.cache

    def index(
        self,
        documents: Any,
        path: str | Path | None = None,
        *,
        skip_bad: bool = False,
        workers: int | Workers = 1,
        vectors: str | None = None,
        progress: IndexProgress | None = None,
    ) -> IndexReport:
        """Index documents, and search them from then on.

        Documents that are in the index already, unchanged, are passed over: an interrupted run goes on where it
        stopped when it is called again. A document with a known id and another text replaces the old one.

        Parameters
        ----------
        documents
            a path (JSON lines, CSV, TSV, a BEIR folder, a folder of texts), several paths, or an iterable of
            :class:`Document` or of mappings with ``id`` and ``text``.
        path
            the folder of a local index; made where it does not exist. Without it, the documents go into the engine that
            is open, or into a temporary local one that ends with this object.
        skip_bad
            pass over lines that cannot be used, and count them.
        workers
            how many processes encode; a :class:`~excise.search.workers.Workers` spreads them over a Ray cluster.
        vectors
            how a new local index stores token vectors: "int8" (the default), or "f16", which takes twice the space.
        progress
            called with (documents done, documents in all).
        """
        crew = workers if isinstance(workers, Workers) else Workers(workers)
        if crew.many and path is None and self.engine is not None and self._address is None:
            raise InvalidInput("workers open the engine themselves: name it with its url in place of handing it over.")
        corpus = read_documents(documents, skip_bad)
        total = sum(1 for _ in corpus)  # a whole pass first: a bad line in the middle must leave nothing half done
        skipped = corpus.skipped if isinstance(corpus, Corpus) else 0
        if total == 0:
            raise BadCorpus("the corpus holds no documents.")
        engine = self._engine_for(path, vectors)
        if crew.many and self._address is not None:
            added = add_with_workers(self._address, corpus, total, self.backbone, crew, progress)
        else:
            added = add_new(engine, corpus, total, self.backbone, progress)
        engine.tidy()
        return IndexReport(added=added, unchanged=total - added, skipped=skipped, documents=len(engine.reader()))

    def _engine_for(self, path: str | Path | None, vectors: str | None) -> Engine:
        if path is None and self.engine is not None:
            return self.engine
        if path is None and self._address is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="excise-")
            path = self._temporary.name
        if path is not None or self._address is None:
            exact = self._address is not None and self._address.exact
            self._address = EngineAddress("local", str(path), exact=exact, vectors=vectors)
        self.engine = self._address.create(self.backbone.info)
        return self.engine

    def search(
        self,
        query: str,
        k: int = 10,
        exclude: Sequence[str] | str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> SearchResult:
        """The k best documents for a query, less what covers the excluded topics.

        Parameters
        ----------
        query
            what is looked for.
        k
            how many hits to return.
        exclude
            topics to rule out. None (the default) lets the detector read them from the query; an empty list rules
            nothing out. Where nothing is ruled out, the engine's ranking comes back exactly as it is.
        where
            only documents with such metadata: ``{"year": {"gte": 2020}, "lang": "en"}``. Operators are eq (or a plain
            value), ne, in, gt, gte, lt, lte and exists; all conditions must hold.
        """
        return self.search_many([query], k, exclude, where)[0]

    def search_many(
        self,
        queries: Sequence[str],
        k: int = 10,
        exclude: Sequence[str] | str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[SearchResult]:
        """:meth:`search` for several queries at once, all of them over the same state of the index.

        Queries are encoded and searched in batches, which is faster than one by one; the timings of a result are those
        of its batch.
        """
        if self.engine is None:
            missing = "" if self._address is None else f" at {self._address.engine}, {self._address.url}"
            raise BadIndex(
                f"there is no index to search{missing}: call index(...), or load one with excise.load(folder)."
            )
        check_k(k)
        if isinstance(queries, str) or not isinstance(queries, Sequence):
            raise InvalidInput(f"queries must be a list of texts, got {type(queries).__name__}.")
        if len(queries) > MAX_QUERIES:
            raise InvalidInput(f"{len(queries):,} queries were given; at most {MAX_QUERIES:,} are taken.")
        filtered = read_where(where)
        reader = self.engine.reader()
        results: list[SearchResult] = []
        for start in range(0, len(queries), BATCH):
            clock = SearchClock()
            detections = self.pipeline.detect(queries[start : start + BATCH], exclude)
            clock.lap("detect")
            searches = self.pipeline.encode(detections)
            clock.lap_encoding(searches)
            found = self.pipeline.find(reader, searches, k, filtered)
            clock.lap("candidates")
            spread = map if self.settings.reembed else on_all_cores  # re-embedding takes all cores by itself
            weighed = list(spread(self._weighed, list(zip(searches, found, strict=True))))
            clock.lap("evidence")
            judged = [None if one is None else decide(one, self.settings) for one in weighed]
            clock.lap("rule")
            for detection, one, judgement in zip(detections, found, judged, strict=True):
                if judgement is None:
                    results.append(_untouched(detection, one.documents, one.scores, k, clock))
                else:
                    results.append(self._result(detection, judgement, k, clock))
        return results

    def _weighed(self, searched: tuple[SearchVectors, Found]) -> Weighed | None:
        """What is known of the candidates of a search that excludes something, if it found any."""
        search, found = searched
        return self.pipeline.weigh(search, shortlisted(found)) if search.topics and len(found) else None

    def rerank(
        self, query: str, candidates: Iterable[Any], exclude: Sequence[str] | str | None = None, k: int | None = None
    ) -> SearchResult:
        """The same operator over any first stage's candidates.

        Parameters
        ----------
        query
            what is looked for.
        candidates
            mappings with ``id``, ``text`` and perhaps ``title`` and ``score``, best first. Where every candidate has a
            score, those scores are the ranking that the rule works on, whatever their scale; otherwise MaxSim is.
        exclude
            topics to rule out, as in :meth:`search`. Where nothing is ruled out, the candidates keep their own order.
        k
            how many hits to return; all by default.
        """
        if k is not None:
            check_k(k)
        documents, scores = read_candidates(candidates)
        clock = SearchClock()
        detection = self.pipeline.detect([query], exclude)[0]
        clock.lap("detect")
        depth = k or len(documents)
        if not detection.topics or not documents:
            unscored = np.zeros(len(documents))
            return _untouched(detection, documents, unscored if scores is None else scores, depth, clock)
        search = self.pipeline.encode([detection], foreign=scores is not None)[0]
        clock.lap_encoding([search])
        shortlist = self.pipeline.given(search, documents, scores)
        clock.lap("candidates")
        weighed = self.pipeline.weigh(search, shortlist)
        clock.lap("evidence")
        judgement = decide(weighed, self.settings)
        clock.lap("rule")
        return self._result(detection, judgement, depth, clock)

    def _result(self, detection: Detection, judgement: Judgement, k: int, clock: SearchClock) -> SearchResult:
        decision, judged = judgement.decision, judgement.candidates
        documents = judgement.shortlist.documents
        hits = [
            Hit(
                rank,
                one.id,
                one.title,
                documents[i].text,
                one.score,
                i + 1,
                one.evidence,
                one.status,
                one.probability,
                one.passage,
            )
            for rank, (i, one) in enumerate(((int(i), judged[i]) for i in decision.kept[:k]), 1)
        ]
        removed = [
            Removed(one.id, one.title, one.evidence, one.frozen_rank, one.score, one.probability, one.passage)
            for one in (judged[i] for i in decision.removed)
        ]
        floor, cache = self.settings.evidence_floor, self._cache_figures()
        return SearchResult(
            query=detection.query,
            fired=True,
            score=detection.score,
            topics=detection.topics,
            hits=tuple(hits),
            removed=tuple(removed),
            timing_ms=clock.laps(),
            explanation=Explanation(decision.branch, decision.cut, floor, judged, cache),
        )

    def _cache_figures(self) -> dict[str, float] | None:
        if not self.settings.reembed:
            return None
        stats = self.cache.stats
        return {**asdict(stats), "hit_rate": stats.hit_rate}


def load(
    index: str | Path | None = None,
    *,
    engine: Engine | str | None = None,
    url: str | None = None,
    engine_options: Mapping[str, Any] | None = None,
    backbone: str | Backbone | None = None,
    settings: Settings | str | None = None,
    detector: Detector | str | Path | None = SHIPPED,
    adapter: Adapter | str | Path | None = SHIPPED,
    coverage: str | Path = SHIPPED,
    cache_bytes: int = DEFAULT_BYTES,
    exact: bool = False,
) -> Excise:
    """Load the operator, with an index or without one.

    Parameters
    ----------
    index
        the folder of a local index, made by :meth:`Excise.index` or ``excise index``.
    engine
        an engine that is open already, in place of a folder; or an engine's name: "qdrant", "lancedb", "postgres".
        Where it holds no index yet, :meth:`Excise.index` makes one.
    url
        where the named engine is: a server's address, or a folder.
    engine_options
        the named engine's settings, "collection" among them (docs/engines).
    backbone
        preset name, hub id, or folder of an encoder. By default the one that the index was built with, or the embedded
        ``minilm``.
    settings
        what to change about the operator (:class:`Settings`), or a preset's name: "default" removes all that covers the
        topic; "cautious" only what is all but certain to; "paper" is the paper's operator, with its adapter;
        "frozen-paper" is the paper's rule on the index's own vectors.
    detector
        what reads exclusions from queries: "shipped", a folder, a :class:`Detector`, or None to rule out only what is
        named with ``exclude``.
    adapter
        what re-embeds: "shipped", a folder, an :class:`Adapter`, or None.
    coverage
        what tells how likely a document covers a topic: "shipped", or a folder that ``excise train coverage`` wrote.
    cache_bytes
        the most memory that re-embedded documents may take.
    exact
        compare every query with every document. By default a large index is searched where it is likely to pay off,
        which finds nearly all of the same documents (docs/performance.md says how nearly).

    Examples
    --------
    >>> excise = load()
    >>> report = excise.index([
    ...     {"id": "leaf", "text": "The Nissan Leaf is an electric hatchback made in Sunderland."},
    ...     {"id": "model3", "text": "The Tesla Model 3 is an electric sedan with a large touchscreen."},
    ...     {"id": "zoe", "text": "The Renault Zoe is a small electric car, sold until 2024."},
    ...     {"id": "dolphin", "text": "BYD's Dolphin is an electric hatchback from China."},
    ... ])
    >>> [hit.id for hit in excise.search("electric cars", exclude=["Tesla"]).hits]
    ['zoe', 'leaf', 'dolphin']
    >>> [topic.text for topic in excise.search("electric cars, but not Tesla").topics]
    ['Tesla']
    """
    opened, address = _opened(index, engine, url, engine_options, exact)
    if not isinstance(backbone, Backbone):
        backbone = load_backbone(backbone or (opened.reader().encoder.backbone if opened is not None else DEFAULT))
    if opened is not None:
        expect(opened, backbone.info)
    models = SearchModels(backbone, detector, adapter, EmbeddingCache(cache_bytes), coverage)
    return Excise(models, opened, resolve(settings), address)


def _opened(
    index: str | Path | None,
    engine: Engine | str | None,
    url: str | None,
    options: Mapping[str, Any] | None,
    exact: bool,
) -> tuple[Engine | None, EngineAddress | None]:
    """The engine that is meant, where it holds an index, and its address, where it was named."""
    if engine is not None and not isinstance(engine, str):
        if index is not None or url is not None or options:
            raise InvalidInput("name an index folder or hand over an engine, not both.")
        if exact and not engine.reader().exact:
            raise InvalidInput("an engine that is handed over is searched as it was opened: open it for exact search.")
        return engine, None
    address = address_of(engine, index, url, options, exact)
    if exact and address is None:
        raise InvalidInput("exact is how an index is searched: name the index too.")
    if address is None or (address.engine != "local" and not address.exists()):
        return None, address
    return address.open(), address


def _untouched(
    detection: Detection, documents: Sequence[Document], scores: Floats, k: int, clock: SearchClock
) -> SearchResult:
    hits = [
        Hit(i, document.id, document.title, document.text, float(score), i, None, "kept")
        for i, (document, score) in enumerate(zip(documents[:k], scores, strict=False), 1)
    ]
    return SearchResult(
        detection.query, detection.fired, detection.score, detection.topics, tuple(hits), (), clock.laps()
    )
