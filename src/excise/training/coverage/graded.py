"""Graded pairs of topic and document with their features: what a coverage readout is fitted on."""

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
from excise.suites.coverage_labels import load_labels

_BATCH = 128  # documents encoded at a time


@dataclass(frozen=True)
class GradedPair:
    """A topic, a document, and whether it covers the topic; ``domain`` is where both come from."""

    domain: str
    topic: str
    document: Document
    covers: bool


@dataclass(frozen=True, eq=False)
class GradedFeatures:
    """The features of graded pairs, row by row, with their domains and answers."""

    features: Floats
    domains: NDArray[np.str_]
    covers: NDArray[np.bool_]


def labelled_pairs(labels: Sequence[str | Path], corpora: Mapping[str, str | Path]) -> list[GradedPair]:
    """Graded candidates of real searches (grade 2 covers; 1 and 0 do not)."""
    read = load_labels(labels, corpora)
    documents = {
        (name, document.id): document for name, corpus in read.corpora.items() for document in corpus.documents()
    }
    return [
        GradedPair(search.corpus, search.topic, documents[search.corpus, id], grade == 2)
        for search in read.searches
        for id, grade in search.grades.items()
    ]


def features_of(pairs: Sequence[GradedPair], backbone: Backbone, progress: Progress = silent) -> GradedFeatures:
    """Encode the pairs' topics and documents, and read the features of each pair."""
    if not pairs:
        raise InvalidInput("there are no graded pairs to fit on.")
    rows: list[Floats] = []
    ordered = sorted(pairs, key=lambda pair: (pair.domain, pair.document.id, pair.topic))
    by_document: dict[tuple[str, str], list[GradedPair]] = {}
    for pair in ordered:
        by_document.setdefault((pair.domain, pair.document.id), []).append(pair)
    groups = list(by_document.values())
    for start in range(0, len(groups), _BATCH):
        batch = groups[start : start + _BATCH]
        encoded = backbone.encode_documents([own[0].document.full_text for own in batch])
        for place, own in enumerate(batch):
            topics = [pair.topic for pair in own]
            alone = encoded.taken([place])
            found = match_features(topics, backbone.encode_topics(topics), [own[0].document], alone)
            rows.extend(found[:, 0])
        progress("reading graded documents", min(start + _BATCH, len(groups)), len(groups))
    return GradedFeatures(
        np.stack(rows), np.array([pair.domain for pair in ordered]), np.array([pair.covers for pair in ordered])
    )
