"""The documents of a run with their vectors: what mining compares and what the retrieval gates search."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from excise.documents import Corpus, Document
from excise.engines import MANIFEST
from excise.extras import need
from excise.progress import Progress, silent
from excise.vectors.maxsim import maxsim
from excise.vectors.windows import best_window
from excise.xbench.bench_folder import BenchFolder
from excise.xbench.mining import Matrix, MiningSettings, mean_vectors
from excise.xbench.near_duplicates import second_versions
from excise.xbench.shown import reads_as_english, text_without_placeholder
from excise.xbench.storage import XBenchError

if TYPE_CHECKING:
    from excise.engines.base import Reader
    from excise.evaluation.systems.lexical import Lexical
    from excise.search.operator import Excise

_READ = 256  # documents whose vectors are read at a time
_SEARCHED = 32  # queries that are searched for at a time


class Scores(NamedTuple):
    """How well documents match a text, by words and by token vectors."""

    bm25: tuple[float, ...]
    maxsim: tuple[float, ...]


def check_places(settings: MiningSettings) -> None:
    """Refuse a corpus or an index that is not there."""
    if not settings.corpus.exists():
        raise XBenchError(f"{settings.corpus}: no such file or folder.")
    if settings.index is not None and not (settings.index / MANIFEST).is_file():
        raise XBenchError(
            f"{settings.index} is not an excise index: make one with 'excise index', or leave --index out."
        )


class IndexedCorpus:
    """A corpus and its index, one committed state of it; BM25 is loaded when it is first needed."""

    def __init__(self, run: BenchFolder, progress: Progress = silent) -> None:
        settings = run.mining
        self.documents = {document.id: document for document in Corpus([settings.corpus])}
        if not self.documents:
            raise XBenchError(f"{settings.corpus}: holds no documents.")
        self.ids = list(self.documents)
        self._operator, self._reader = self._opened(run, settings, progress)
        which = "\0".join([self._reader.fingerprint, *self.ids])
        self._means_file = run.path(f"means-{hashlib.sha256(which.encode()).hexdigest()[:12]}.npy")
        self._progress = progress

    def _opened(self, run: BenchFolder, settings: MiningSettings, progress: Progress) -> tuple[Excise, Reader]:
        """The index that the user named, as it is; or the run's own, built as far as it is missing."""
        from excise.search.operator import load

        documents = list(self.documents.values())
        place = settings.index or run.path("index")
        operator = load(place if (place / MANIFEST).exists() else None, backbone=settings.backbone)
        if settings.index is None:
            operator.index(documents, place, progress=lambda done, total: progress("indexing", done, total))
        assert operator.engine is not None
        reader = operator.engine.reader()
        missing = [document.id for document, held in zip(documents, reader.holds(documents), strict=True) if not held]
        if missing:
            raise XBenchError(
                f"{place} lacks {len(missing):,} documents of {settings.corpus} or holds other texts for them, "
                f"{missing[0]!r} first: index the corpus again, or leave --index out."
            )
        return operator, reader

    @cached_property
    def means(self) -> Matrix:
        """One mean vector a document, in the order of ``ids``; kept on disk once computed.

        Of the dimensions that exclusions are judged by: pairs are alike in what they are about.
        """
        dimensions = self._operator.backbone.judging.dimensions
        if self._means_file.is_file():
            with suppress(ValueError, OSError):  # a damaged file is computed again
                stored: Matrix = np.load(self._means_file, allow_pickle=False)
                if stored.shape == (len(self.ids), dimensions) and stored.dtype == np.float32:
                    return stored
        parts = []
        for start in range(0, len(self.ids), _READ):
            encoded = self._reader.vectors(self.ids[start : start + _READ]).leading(dimensions)
            parts.append(mean_vectors(encoded.windows.vectors, encoded.windows.offsets[encoded.offsets]))
            self._progress("reading vectors", min(start + _READ, len(self.ids)), len(self.ids))
        means = np.concatenate(parts)
        temporary = self._means_file.with_name("new-" + self._means_file.name)
        np.save(temporary, means, allow_pickle=False)
        temporary.replace(self._means_file)
        return means

    def passed_over(self, settings: MiningSettings) -> dict[str, str]:
        """Documents that make no pair, by id, and why: too short, not English, or a near-duplicate of another."""
        reasons: dict[str, str] = {}
        for document in self.documents.values():
            text = text_without_placeholder(document)
            if len(text.split()) < settings.min_words:
                reasons[document.id] = "too_short"
            elif not reads_as_english(document.text):
                reasons[document.id] = "not_english"
        left = (document for id, document in self.documents.items() if id not in reasons)
        twice = second_versions(left, settings.alike, self._progress)
        return reasons | dict.fromkeys(twice, "near_duplicate")

    @cached_property
    def lexical(self) -> Lexical:
        need("the difficulty gate", "xbench", "bm25s")
        from excise.evaluation.systems.lexical import Lexical

        return Lexical(list(self.documents.values()))

    def document(self, id: str) -> Document:
        if id not in self.documents:
            raise XBenchError(f"the corpus holds no document {id!r}: was it changed since mining?")
        return self.documents[id]

    def scores(self, text: str, ids: Sequence[str]) -> Scores:
        """BM25 and MaxSim scores of some documents for a text."""
        vectors, encoded = self._operator.backbone.encode_query(text).vectors, self._reader.vectors(ids)
        by_words = self.lexical.scores(text, ids)
        by_vectors = best_window(maxsim(vectors, encoded.windows), encoded.offsets)
        return Scores(tuple(float(score) for score in by_words), tuple(float(score) for score in by_vectors))

    def ranks(self, queries: Sequence[str], ids: Sequence[str], depth: int) -> list[int | None]:
        """For each query, the place of one document in what a search finds; None: not among the first ``depth``."""
        orders = self.found(queries, depth)
        return [order.index(id) + 1 if id in order else None for order, id in zip(orders, ids, strict=True)]

    def found(self, queries: Sequence[str], depth: int) -> list[list[str]]:
        """For each query, the ids of what a search with nothing ruled out finds, best first."""
        orders: list[list[str]] = []
        for start in range(0, len(queries), _SEARCHED):
            encoded = self._operator.backbone.encode_queries(queries[start : start + _SEARCHED])
            for shortlist in self._reader.search([query.vectors for query in encoded], depth):
                orders.append([document.id for document in shortlist.documents])
            self._progress("searching", len(orders), len(queries))
        return orders
