"""Encoders of others, through sentence-transformers: bi-encoders as first stages, cross-encoders over the shortlist.

Both read documents in the windows of the backbone that they are compared with, up to the same budget of words, and a
document counts by its best window: none is held back by how much it reads at once.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from excise.cache_folder import cache_folder
from excise.documents import Document
from excise.encoders.fingerprints import files_digest
from excise.errors import BackboneError
from excise.evaluation.systems.cases import Case, Collection
from excise.evaluation.systems.external_spec import ForeignModel
from excise.evaluation.systems.rankings import Rank, Ranking, found_ranking
from excise.results import Detection
from excise.vectors.ragged import Vectors, starts
from excise.vectors.windows import Windowing, best_window

_BATCH = 32


class DenseCorpus(NamedTuple):
    """One vector per window of a corpus, and where each document's windows start."""

    documents: Sequence[Document]
    windows: Vectors
    offsets: NDArray[np.int64]


def dense_rank(way: ForeignModel) -> Rank:
    """Search with one vector per window. The vectors of a corpus are kept in the cache."""
    model = _loaded("SentenceTransformer", way.model)
    unit = str(getattr(model, "similarity_fn_name", "cosine")) != "dot"

    def encode(texts: list[str], side: str, template: str) -> Vectors:
        plain = template == f"{{{side}}}"  # then what the model itself puts before a query or a document
        method = (model.encode_query if side == "query" else model.encode_document) if plain else model.encode
        shown = texts if plain else [template.replace(f"{{{side}}}", text) for text in texts]
        vectors = method(shown, batch_size=_BATCH, normalize_embeddings=unit, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32)

    @cache
    def corpus(collection: Collection) -> DenseCorpus:
        documents = list(collection.documents)
        cut = [collection.backbone.windowing.cut(one.full_text) for one in documents]
        texts = [window for windows in cut for window in windows]
        place = _place(way, unit, texts)
        if not place.exists():
            _keep(place, encode(texts, "document", way.document).astype(np.float16))
        offsets = starts([len(windows) for windows in cut])
        return DenseCorpus(documents, np.load(place).astype(np.float32), offsets)

    def rank(case: Case, _: Detection) -> Ranking:
        known = corpus(case.collection)
        scores = best_window(known.windows @ encode([case.query.text], "query", way.query)[0], known.offsets)
        order = np.argsort(-scores, kind="stable")[: case.collection.depth]
        return found_ranking(case, [known.documents[i] for i in order], scores[order].astype(np.float64))

    return rank


def cross_encoder_rank(way: ForeignModel) -> Rank:
    """Rank the best of the shortlist again by pairs of query and window; the others follow in frozen order."""
    model = _loaded("CrossEncoder", way.model)

    def rank(case: Case, _: Detection) -> Ranking:
        read = list(case.documents[: way.k])
        scores = _pair_scores(model, case.query.text, read, case.collection.backbone.windowing)
        order = [int(i) for i in np.argsort(-scores, kind="stable")]
        rest = list(case.documents[way.k :])
        below = float(scores.min()) - np.arange(1, len(rest) + 1)
        ranked = [read[i] for i in order] + rest
        return found_ranking(case, ranked, np.concatenate([scores[order], below]))

    return rank


def model_fingerprint(model: str) -> str:
    """A digest of a folder's files; of a model on a hub, its id."""
    folder = Path(model)
    if not folder.is_dir():
        return model
    return files_digest(sorted(path for path in folder.rglob("*") if path.is_file()))


def _pair_scores(model: Any, query: str, documents: Sequence[Document], windowing: Windowing) -> NDArray[np.float64]:
    cut = [windowing.cut(one.full_text) for one in documents]
    pairs = [(query, window) for windows in cut for window in windows]
    found = np.asarray(model.predict(pairs, batch_size=_BATCH, show_progress_bar=False), dtype=np.float64)
    if found.ndim > 1:  # a model with several labels: the last one is "relevant"
        found = found[:, -1]
    offsets = starts([len(windows) for windows in cut])
    return np.maximum.reduceat(found, offsets[:-1])


@cache
def _loaded(kind: str, model: str) -> Any:
    """A model of sentence-transformers, loaded once in a process."""
    return load_foreign(kind, model)


def load_foreign(kind: str, model: str) -> Any:
    """A model of sentence-transformers of its own.

    Parameters
    ----------
    kind
        "SentenceTransformer" or "CrossEncoder".
    model
        a folder or a hub id.
    """
    import sentence_transformers

    from excise.encoders.checkpoints import quiet

    if not Path(model).is_dir() and (model.count("/") > 1 or model.startswith((".", "/", "~"))):
        raise BackboneError(f"there is no folder {model!r}: a model is a folder or a hub id.")
    quiet()
    try:
        return getattr(sentence_transformers, kind)(model, device="cpu")
    except Exception as error:  # the loader's own errors are many, and name internals
        reason = str(error).strip().splitlines()
        raise BackboneError(
            f"could not load {model!r} as a {kind} of sentence-transformers: "
            f"{reason[0] if reason else type(error).__name__}"
        ) from error


def _place(way: ForeignModel, unit: bool, texts: Sequence[str]) -> Path:
    digest = hashlib.sha256(repr((model_fingerprint(way.model), way.document, unit)).encode())
    for text in texts:
        digest.update(text.encode(errors="replace") + b"\0")
    return cache_folder() / "dense" / f"{digest.hexdigest()[:16]}.npy"


def _keep(place: Path, vectors: NDArray[np.float16]) -> None:
    """Write vectors in one step, so that nobody finds half of them."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=place.parent, suffix=".npy")
    with os.fdopen(handle, "wb") as out:
        np.save(out, vectors)
    os.replace(name, place)
