"""Graded candidates with their features: what a coverage readout is fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.errors import InvalidInput
from excise.progress import Progress, silent
from excise.rules.decision import Floats
from excise.search.match_features import match_features
from excise.search.similarity_scale import REFERENCE, SimilarityScale
from excise.suites import bundled
from excise.suites.coverage_labels import load_labels
from excise.suites.suites import load_suite
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.ragged import Ragged

FAMILIES = "families"
_BATCH = 128  # documents encoded at a time


@dataclass(frozen=True)
class GradedSearch:
    """A topic, documents that were candidates together, and which of them cover it; ``domain`` is where it is from."""

    domain: str
    topic: str
    documents: tuple[Document, ...]
    covers: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class GradedFeatures:
    """The features of graded candidates, row by row, with their domains and answers."""

    features: Floats
    domains: NDArray[np.str_]
    covers: NDArray[np.bool_]

    def taken(self, rows: NDArray[np.bool_]) -> GradedFeatures:
        """Some of them."""
        return GradedFeatures(self.features[rows], self.domains[rows], self.covers[rows])

    @classmethod
    def joined(cls, parts: Sequence[GradedFeatures]) -> GradedFeatures:
        """Several as one."""
        return cls(
            np.concatenate([part.features for part in parts]),
            np.concatenate([part.domains for part in parts]),
            np.concatenate([part.covers for part in parts]),
        )


def labelled_searches(labels: Sequence[str | Path], corpora: Mapping[str, str | Path]) -> list[GradedSearch]:
    """Graded candidates of real searches (grade 2 covers; 1 and 0 do not)."""
    read = load_labels(labels, corpora)
    documents = {
        (name, document.id): document for name, corpus in read.corpora.items() for document in corpus.documents()
    }
    return [
        GradedSearch(
            search.corpus,
            search.topic,
            tuple(documents[search.corpus, id] for id in search.grades),
            tuple(grade == 2 for grade in search.grades.values()),
        )
        for search in read.searches
    ]


def family_searches() -> list[GradedSearch]:
    """The bundled training families: what a query with one topic rules out covers it, its golds do not.

    Graded searches find what names the topic first; here most of what covers a topic does so under other names.
    """
    with bundled.suite() as folder:
        suite = load_suite(folder, "train")
    documents = {document.id: document for document in suite.documents()}
    graded: dict[str, dict[str, bool]] = {}
    for query in suite.queries:
        if len(query.excluded) == 1:
            own = graded.setdefault(query.excluded[0], {})
            own |= {id: False for id, score in suite.qrels.get(query.id, {}).items() if score > 0 and id not in own}
            own |= dict.fromkeys(sorted(suite.negatives.get(query.id, ())), True)
    return [
        GradedSearch(FAMILIES, topic, tuple(documents[id] for id in own), tuple(own.values()))
        for topic, own in graded.items()
        if own
    ]


def features_of(
    searches: Sequence[GradedSearch],
    backbone: Backbone,
    progress: Progress = silent,
    scale: SimilarityScale = REFERENCE,
) -> GradedFeatures:
    """Encode the searches' topics and documents, and read the features of each candidate.

    Parameters
    ----------
    searches
        graded searches.
    backbone
        whose vectors are read.
    progress
        called as documents are encoded.
    scale
        where the backbone's similarities lie.
    """
    if not searches:
        raise InvalidInput("there are no graded candidates to fit on.")
    encoded = _encoded(searches, backbone, progress)
    rows = []
    for search in searches:
        vectors = EncodedDocuments.of([encoded[search.domain, one.id] for one in search.documents])
        topic = backbone.encode_topics([search.topic])
        rows.append(match_features([search.topic], topic, search.documents, vectors, scale)[0])
    counts = [len(search.documents) for search in searches]
    return GradedFeatures(
        np.concatenate(rows),
        np.repeat([search.domain for search in searches], counts),
        np.concatenate([search.covers for search in searches]),
    )


def _encoded(searches: Sequence[GradedSearch], backbone: Backbone, progress: Progress) -> dict[tuple[str, str], Ragged]:
    """Every document's vectors by domain and id, each document encoded once; neighbours are of like length."""
    texts = {(search.domain, one.id): one.full_text for search in searches for one in search.documents}
    keys = sorted(texts, key=lambda key: (len(texts[key]), key))
    encoded: dict[tuple[str, str], Ragged] = {}
    for start in range(0, len(keys), _BATCH):
        batch = keys[start : start + _BATCH]
        vectors = backbone.encode_documents([texts[key] for key in batch])
        encoded |= {key: vectors.document(place) for place, key in enumerate(batch)}
        progress("reading graded documents", min(start + _BATCH, len(keys)), len(keys))
    return encoded
