"""The documents of a run with their vectors: what mining compares and what the retrieval gates search."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.documents import Corpus, Document
from excise.engines.local.engine import MANIFEST, LocalEngine
from excise.progress import Progress, silent
from excise.vectors.maxsim import maxsim
from excise.vectors.windows import best_window
from excise.xbench.mining import Matrix, mean_vectors
from excise.xbench.run import Run
from excise.xbench.storage import XBenchError

if TYPE_CHECKING:
    from excise.encoders.backbone import Backbone
    from excise.evaluation.systems.lexical import Lexical

_READ = 256  # documents whose vectors are read at a time
SHORTLIST = 1_000


class Scores(NamedTuple):
    """How well documents match a text, by words and by token vectors."""

    bm25: tuple[float, ...]
    maxsim: tuple[float, ...]


class IndexedCorpus:
    """A corpus and its index; the encoder and BM25 are loaded when they are first needed."""

    def __init__(self, run: Run, progress: Progress = silent) -> None:
        self.documents = {document.id: document for document in Corpus([run.corpus])}
        if not self.documents:
            raise XBenchError(f"{run.corpus}: holds no documents.")
        self.ids = list(self.documents)
        self._engine = self._opened(run, progress)
        which = "\0".join([self._engine.fingerprint, *self.ids])
        self._means_file = run.path(f"means-{hashlib.sha256(which.encode()).hexdigest()[:12]}.npy")
        self._progress = progress

    def _opened(self, run: Run, progress: Progress) -> LocalEngine:
        """The index that the user named, as it is; or the run's own, built as far as it is missing."""
        given = run.config["mining"]["index"] is not None
        if not given:
            from excise.search.operator import load

            there = (run.index / MANIFEST).exists()
            backbone = run.config["mining"].get("backbone")
            operator = load(run.index, backbone=backbone) if there else load(backbone=backbone)
            operator.index(
                list(self.documents.values()), run.index, progress=lambda done, total: progress("indexing", done, total)
            )
        engine = LocalEngine.open(run.index)
        missing = [document.id for document in self.documents.values() if document not in engine]
        if missing:
            raise XBenchError(
                f"{run.index} lacks {len(missing):,} documents of {run.corpus} or holds other texts for them, "
                f"{missing[0]!r} first: index the corpus again, or leave --index out."
            )
        return engine

    @cached_property
    def means(self) -> Matrix:
        """One mean vector a document, in the order of ``ids``; kept on disk once computed."""
        if self._means_file.is_file():
            with suppress(ValueError, OSError):  # a damaged file is computed again
                stored: Matrix = np.load(self._means_file, allow_pickle=False)
                if stored.shape == (len(self.ids), self._engine.info.dimensions) and stored.dtype == np.float32:
                    return stored
        parts = []
        for start in range(0, len(self.ids), _READ):
            encoded = self._engine.vectors(self.ids[start : start + _READ])
            parts.append(mean_vectors(encoded.windows.vectors, encoded.windows.offsets[encoded.offsets]))
            self._progress("reading vectors", min(start + _READ, len(self.ids)), len(self.ids))
        means = np.concatenate(parts)
        temporary = self._means_file.with_name("new-" + self._means_file.name)
        np.save(temporary, means, allow_pickle=False)
        temporary.replace(self._means_file)
        return means

    def usable(self, words: int) -> NDArray[np.bool_]:
        """Which documents have at least so many words."""
        return np.array([len(document.full_text.split()) >= words for document in self.documents.values()])

    @cached_property
    def backbone(self) -> Backbone:
        from excise.encoders.backbone import load_backbone
        from excise.engines.local.engine import IndexInfo

        backbone = load_backbone(self._engine.info.backbone)
        self._engine.expect(IndexInfo.of(backbone))
        return backbone

    @cached_property
    def lexical(self) -> Lexical:
        from excise.evaluation.systems.lexical import Lexical

        return Lexical(list(self.documents.values()))

    def document(self, id: str) -> Document:
        if id not in self.documents:
            raise XBenchError(f"the corpus holds no document {id!r}: was it changed since mining?")
        return self.documents[id]

    def scores(self, text: str, ids: Sequence[str]) -> Scores:
        """BM25 and MaxSim scores of some documents for a text."""
        by_words = self.lexical.scores(text, ids)
        by_vectors = self._maxsim(self.backbone.encode_query(text).vectors, ids)
        return Scores(tuple(float(score) for score in by_words), tuple(float(score) for score in by_vectors))

    def rank(self, query: str, id: str) -> int | None:
        """A document's rank for a query: a shortlist by mean vectors, reordered by MaxSim. None: not in the shortlist.

        Documents that tie with it count as before it.
        """
        vectors = self.backbone.encode_query(query).vectors
        mean = mean_vectors(vectors, np.array([0, len(vectors)]))[0]
        similarities = self.means @ mean
        places = np.argsort(-similarities, kind="stable")[:SHORTLIST]
        shortlist = [self.ids[place] for place in places]
        if id not in shortlist:
            return None
        scores = self._maxsim(vectors, shortlist)
        return int((scores >= scores[shortlist.index(id)]).sum())

    def _maxsim(self, vectors: NDArray[np.float32], ids: Sequence[str]) -> NDArray[np.float32]:
        encoded = self._engine.vectors(ids)
        return best_window(maxsim(vectors, encoded.windows), encoded.offsets)


def mining_settings(corpus: Path, index: Path | None, backbone: str | None) -> dict[str, str | None]:
    """The part of a run's configuration that says where documents and vectors are."""
    if not corpus.exists():
        raise XBenchError(f"{corpus}: no such file or folder.")
    if index is not None and not (index / MANIFEST).is_file():
        raise XBenchError(f"{index} is not an excise index: make one with 'excise index', or leave --index out.")
    where = None if index is None else str(index.resolve())
    return {"corpus": str(corpus.resolve()), "index": where, "backbone": backbone}
