"""The one intervention that learns something: a logistic readout of frozen vectors, trained on the built-in suite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from excise.encoders.backbone import Backbone
from excise.extras import need
from excise.suites.suites import BUILT_IN, load_suite
from excise.vectors.arithmetic import of_length_one
from excise.vectors.ragged import Vectors

_SEED = 0


@dataclass(frozen=True, eq=False)
class TopicGate:
    """How likely a document covers a topic: logistic in the product of their mean vectors."""

    direction: NDArray[np.float64]
    bias: float

    def probabilities(self, topic: Vectors, documents: Vectors) -> NDArray[np.float64]:
        """One probability per document.

        Examples
        --------
        >>> gate = TopicGate(np.array([4.0, 0.0]), bias=0.0)
        >>> gate.probabilities(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(2).tolist()
        [0.98, 0.5]
        """
        logits = (documents * topic) @ self.direction + self.bias
        return np.asarray(1.0 / (1.0 + np.exp(-logits)), dtype=np.float64)


@lru_cache(maxsize=1)
def train_gate(backbone: Backbone) -> TopicGate:
    """Train a gate on the golds (0) and the excluded documents (1) of the built-in suite's train split, once."""
    need("the gate", "eval", "sklearn")
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    features, labels = _examples(backbone)
    centre, spread = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    model = LogisticRegression(class_weight="balanced", max_iter=1_000, random_state=_SEED)
    model.fit((features - centre) / spread, np.array(labels))
    direction = np.asarray(model.coef_[0] / spread, dtype=np.float64)
    return TopicGate(direction, float(model.intercept_[0] - direction @ centre))


def unit_means(tokens: Vectors, offsets: NDArray[np.int64]) -> Vectors:
    """The mean of each run of token vectors, at unit length.

    Examples
    --------
    >>> unit_means(np.array([[3.0, 0.0], [0.0, 3.0], [0.0, 2.0]]), np.array([0, 1, 3])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    means = np.add.reduceat(tokens.astype(np.float32), offsets[:-1], axis=0) / np.diff(offsets)[:, None]
    return of_length_one(means)


def _examples(backbone: Backbone) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A row per query and judged document, the product of the two mean vectors, and whether it is excluded."""
    suite = load_suite(BUILT_IN, "train")
    queries = [query for query in suite.queries if query.excluded]
    judged: list[tuple[list[str], list[str]]] = [
        ([id for id, score in suite.qrels.get(query.id, {}).items() if score > 0], sorted(suite.negatives[query.id]))
        for query in queries
    ]
    needed = {id for both in judged for ids in both for id in ids}
    documents = [document for document in suite.documents() if document.id in needed]
    encoded = backbone.encode_documents([document.full_text for document in documents])
    means = unit_means(encoded.windows.vectors, encoded.windows.offsets[encoded.offsets])
    place = {document.id: i for i, document in enumerate(documents)}
    texts = list(dict.fromkeys(topic for query in queries for topic in query.excluded))
    named = dict(zip(texts, backbone.encode_topics(texts), strict=True))
    rows, labels = [], []
    for query, both in zip(queries, judged, strict=True):
        topic = np.concatenate([named[text] for text in query.excluded]).mean(axis=0)
        for label, ids in enumerate(both):
            rows += [topic * means[place[id]] for id in ids]
            labels += [label] * len(ids)
    return np.array(rows, dtype=np.float64), np.array(labels, dtype=np.int64)
