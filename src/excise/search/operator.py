"""The operator: find the shortlist, weigh each candidate against the excluded topics, demote, explain.

This is the one place where encoder, engine and rule meet. Whatever it removes is listed with its evidence, and a
search that excludes nothing returns the engine's ranking untouched.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from excise.documents import Corpus, Document, read_documents
from excise.encoders.adapter import Adapter, load_adapter
from excise.encoders.backbone import DEFAULT, Backbone, load_backbone
from excise.encoders.cache import DEFAULT_BYTES, EmbeddingCache
from excise.engines.base import Engine
from excise.engines.local.engine import SEGMENT_DOCUMENTS, IndexInfo, LocalEngine
from excise.errors import BadCorpus, BadIndex
from excise.results import Detection, Explanation, Hit, IndexReport, Removed, SearchResult
from excise.rules.paper import Constants
from excise.search.inputs import check_k, named_topics, read_candidates
from excise.search.judging import Judge, wanted_part, with_second_look
from excise.search.shortlist import Judgement, Shortlist, maxsim_of
from excise.settings import Scoring, Settings, resolve
from excise.vectors.maxsim import Pooling

if TYPE_CHECKING:
    from excise.topics.detector import Detector

Progress = Callable[[int, int], None]
SHIPPED = "shipped"


class Excise:
    """Exclusion-aware search over a frozen index. Make one with :func:`load`."""

    def __init__(
        self,
        backbone: Backbone,
        engine: Engine | None = None,
        settings: Settings | None = None,
        detector: Detector | str | Path | None = None,
        adapter: Adapter | None = None,
        cache: EmbeddingCache | None = None,
    ) -> None:
        self.backbone = backbone
        self.engine = engine
        self.settings = settings or Settings()
        self.cache = EmbeddingCache() if cache is None else cache  # an empty one is false
        self.adapter = adapter or (load_adapter(backbone) if self.settings.uses_adapter else None)
        self.judge = Judge(backbone, self.settings, self.adapter, self.cache)
        self._detector = detector
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    def index(
        self,
        documents: Any,
        path: str | Path | None = None,
        *,
        skip_bad: bool = False,
        progress: Progress | None = None,
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
            the index folder; made where it does not exist. Without it, the documents go into the index that is
            open, or into a temporary one that ends with this object.
        skip_bad
            pass over lines that cannot be used, and count them.
        progress
            called with (documents done, documents in all).
        """
        corpus = read_documents(documents, skip_bad)
        total = sum(1 for _ in corpus)  # a whole pass first: a bad line in the middle must leave nothing half done
        skipped = corpus.skipped if isinstance(corpus, Corpus) else 0
        if total == 0:
            raise BadCorpus("the corpus holds no documents.")
        engine = self._engine_for(path)
        try:
            added = self._add_new(engine, corpus, total, progress)
        except BaseException:
            engine.remove_if_empty()
            raise
        engine.tidy()
        return IndexReport(added=added, unchanged=total - added, skipped=skipped, documents=len(engine))

    def _add_new(self, engine: LocalEngine, corpus: Iterable[Document], total: int, progress: Progress | None) -> int:
        """Add what the engine does not hold yet, a segment at a time; returns how many documents that were."""
        added = 0
        batch: list[Document] = []
        for done, document in enumerate(corpus, 1):
            if document not in engine:
                batch.append(document)
            if batch and (len(batch) == SEGMENT_DOCUMENTS or done == total):
                self._add(engine, batch, done - len(batch), total, progress)
                added += len(batch)
                batch = []
            if progress is not None and not batch:
                progress(done, total)
        return added

    @property
    def detector(self) -> Detector | None:
        """What reads exclusions from queries; loaded when it is first needed."""
        from excise.topics.detector import Detector, load_detector

        if self._detector is not None and not isinstance(self._detector, Detector):
            shipped = self._detector == SHIPPED
            self._detector = load_detector() if shipped else Detector.from_pretrained(self._detector)
        return self._detector

    def search(self, query: str, k: int = 10, exclude: Sequence[str] | str | None = None) -> SearchResult:
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
        """
        if self.engine is None:
            raise BadIndex("there is no index to search: call index(...), or load one with excise.load(folder).")
        check_k(k)
        clock = _Clock()
        asked = self._read(query, exclude)
        clock.lap("detect")
        encoded = self.backbone.encode_query(query)
        clock.lap("encode")
        depth = max(k, self.settings.shortlist) if asked.topics else k
        found = self.engine.search(encoded.vectors, depth)
        clock.lap("search")
        documents = self.engine.fetch([candidate.id for candidate in found])
        scores = np.array([candidate.score for candidate in found], dtype=np.float64)
        if not asked.topics or not documents:
            clock.lap("fetch")
            return _untouched(asked, documents, scores, k, clock)
        shortlist = Shortlist(documents, self.engine.vectors([document.id for document in documents]), scores)
        if self.settings.second_look:
            wanted = wanted_part(query, encoded, asked.topics)
            shortlist = with_second_look(shortlist, self.engine, encoded, wanted, depth)
        clock.lap("fetch")
        judgement = self.judge(query, encoded, asked.topics, shortlist, index_id=self.engine.fingerprint)
        clock.lap("judge")
        return self._result(asked, shortlist.documents, judgement, k, clock)

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
        clock = _Clock()
        asked = self._read(query, exclude)
        clock.lap("detect")
        depth = k or len(documents)
        if not asked.topics or not documents:
            unscored = np.zeros(len(documents))
            return _untouched(asked, documents, unscored if scores is None else scores, depth, clock)
        vectors = self.backbone.encode_documents([document.full_text for document in documents])
        encoded = self.backbone.encode_query(query)
        relevance = maxsim_of(encoded.vectors, vectors)
        clock.lap("encode")
        shortlist = Shortlist(documents, vectors, relevance)
        if scores is not None:
            unit = scores.std() / relevance.std() if scores.std() > 0 and relevance.std() > 0 else 1.0
            shortlist = Shortlist(documents, vectors, scores, float(unit))
        judgement = self.judge(query, encoded, asked.topics, shortlist, keep_scores=scores is not None)
        clock.lap("judge")
        return self._result(asked, documents, judgement, depth, clock)

    def _read(self, query: str, exclude: Sequence[str] | str | None) -> Detection:
        """What the query rules out: named by the user, or read by the detector."""
        if exclude is None and self.detector is not None:
            return self.detector.detect([query])[0]
        topics = named_topics(query, exclude or ())
        return Detection(query, bool(topics), float(bool(topics)), topics)

    def _result(
        self, asked: Detection, documents: Sequence[Document], judgement: Judgement, k: int, clock: _Clock
    ) -> SearchResult:
        decision, judged = judgement.decision, judgement.candidates
        hits = [
            Hit(rank, one.id, one.title, documents[i].text, one.score, i + 1, one.evidence, one.status)
            for rank, (i, one) in enumerate(((int(i), judged[i]) for i in decision.kept[:k]), 1)
        ]
        removed = [judged[i] for i in decision.removed]
        return SearchResult(
            query=asked.query,
            fired=True,
            score=asked.score,
            topics=asked.topics,
            hits=tuple(hits),
            removed=tuple(Removed(one.id, one.title, one.evidence, one.frozen_rank, one.score) for one in removed),
            timing_ms=clock.laps(),
            explanation=Explanation(
                decision.branch, decision.cut, self.settings.evidence_floor, judged, self._cache_figures()
            ),
        )

    def _cache_figures(self) -> dict[str, float] | None:
        if not self.settings.reembed:
            return None
        stats = self.cache.stats
        return {**asdict(stats), "hit_rate": stats.hit_rate}

    def _engine_for(self, path: str | Path | None) -> LocalEngine:
        if path is None and isinstance(self.engine, LocalEngine):
            return self.engine
        if path is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="excise-")
            path = self._temporary.name
        engine = LocalEngine.create(path, IndexInfo.of(self.backbone))
        self.engine = engine
        return engine

    def _add(
        self, engine: LocalEngine, batch: list[Document], before: int, total: int, progress: Progress | None
    ) -> None:
        def progress(share: float) -> None:
            if progress is not None:
                progress(before + int(share * len(batch)), total)

        engine.add(batch, self.backbone.encode_documents([document.full_text for document in batch], progress))


def load(
    index: str | Path | None = None,
    *,
    backbone: str | Backbone | None = None,
    preset: str | None = None,
    constants: Constants | None = None,
    pooling: Pooling | None = None,
    scoring: Scoring | None = None,
    reembed: bool | None = None,
    second_look: bool | None = None,
    reembed_first: int | None = None,
    two_readings: bool | None = None,
    detector: Detector | str | Path | None = SHIPPED,
    adapter: Adapter | str | Path = SHIPPED,
    cache_bytes: int = DEFAULT_BYTES,
) -> Excise:
    """Load the operator, with an index or without one.

    Parameters
    ----------
    index
        an index folder made by :meth:`Excise.index` or ``excise index``.
    backbone
        preset name, hub id, or folder of an encoder. By default the one that the index was built with, or the embedded
        ``minilm``.
    preset
        "default" removes all that covers the topic; "paper" is the paper's operator, with its adapter; "frozen-paper"
        is the paper's rule on the index's own vectors.
    constants
        the constants of the paper's rule; naming them chooses "frozen-paper" where no preset is named.
    pooling, scoring, reembed, reembed_first, two_readings, second_look
        what to change about the preset: see :class:`excise.settings.Settings`.
    detector
        what reads exclusions from queries: "shipped", a folder, a :class:`Detector`, or None to rule out only what is
        named with ``exclude``.
    adapter
        what re-embeds: "shipped", a folder, or an :class:`Adapter`.
    cache_bytes
        the most memory that re-embedded documents may take.

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
    engine = None if index is None else LocalEngine.open(index)
    if not isinstance(backbone, Backbone):
        backbone = load_backbone(backbone or (engine.info.backbone if engine else DEFAULT))
    if engine is not None:
        engine.expect(IndexInfo.of(backbone))
    settings = resolve(
        preset,
        constants,
        pooling,
        scoring,
        reembed,
        second_look,
        reembed_first=reembed_first,
        two_readings=two_readings,
    )
    own = Adapter.from_pretrained(adapter, backbone) if isinstance(adapter, str | Path) and adapter != SHIPPED else None
    own = adapter if isinstance(adapter, Adapter) else own
    return Excise(backbone, engine, settings, detector, own, EmbeddingCache(cache_bytes))


class _Clock:
    """Milliseconds spent in each step."""

    def __init__(self) -> None:
        self._start = self._last = time.perf_counter()
        self._laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self._laps[name] = round((now - self._last) * 1000, 3)
        self._last = now

    def laps(self) -> dict[str, float]:
        return {**self._laps, "total": round((time.perf_counter() - self._start) * 1000, 3)}


def _untouched(
    asked: Detection, documents: Sequence[Document], scores: NDArray[np.float64], k: int, clock: _Clock
) -> SearchResult:
    hits = [
        Hit(i, document.id, document.title, document.text, float(score), i, None, "kept")
        for i, (document, score) in enumerate(zip(documents[:k], scores, strict=False), 1)
    ]
    return SearchResult(asked.query, asked.fired, asked.score, asked.topics, tuple(hits), (), clock.laps())
