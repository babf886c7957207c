"""From token vectors to what the rules read: relevance and evidence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from excise.rules.decision import Floats
from excise.vectors.encoded import EncodedDocuments
from excise.vectors.maxsim import Pooling, best_matches, maxsim, maxsim_many, pooled
from excise.vectors.ragged import Vectors
from excise.vectors.windows import best_window


def maxsim_of(query: Vectors, documents: EncodedDocuments) -> Floats:
    """Every document's MaxSim score for a query: that of its best window."""
    return best_window(maxsim(query, documents.windows), documents.offsets).astype(np.float64)


def maxsims_of(queries: Sequence[Vectors], documents: EncodedDocuments) -> Floats:
    """The same for several queries at once: queries by documents."""
    by_window = maxsim_many(queries, documents.windows)
    return np.stack([best_window(scores, documents.offsets) for scores in by_window]).astype(np.float64)


def evidence_of(topics: Sequence[Vectors], documents: EncodedDocuments, pooling: Pooling) -> Floats:
    """Every document's evidence for the topics: that of its best window."""
    matches = best_matches(np.concatenate(topics), documents.windows)
    by_window = pooled(matches, [len(topic) for topic in topics], pooling)
    return best_window(by_window, documents.offsets).astype(np.float64)
