"""Measuring where a backbone's similarities lie, on documents of the bundled corpus and the topics that they are on."""

from __future__ import annotations

import json
from importlib.resources import files

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.encoders.fingerprints import remembered
from excise.errors import InvalidInput
from excise.search.match_features import FEATURES, match_features
from excise.search.similarity_scale import SimilarityScale

_EVERY = 4  # one document in four is enough: a hundred, two or three of each family
_APART = 2.0  # standard deviations of the floor by which the top must lie above it


def measured_scale(backbone: Backbone) -> SimilarityScale | None:
    """The scale of a backbone, measured once and then remembered beside the digests of its weights.

    None where documents that name a topic hardly match it better than those that have no word of it: such vectors say
    nothing about coverage.
    """
    text = remembered(backbone.encoder.origin, f"similarity scale 1 {backbone.dimensions}", lambda: _measured(backbone))
    return SimilarityScale.from_text(text) if text else None


def _measured(backbone: Backbone) -> str:
    """The scale as text; empty where the levels do not stand apart."""
    documents, topics = _sample()
    vectors = backbone.encode_topics(topics)
    encoded = backbone.encode_documents([document.full_text for document in documents])
    features = match_features(topics, vectors, documents, encoded)
    naming = features[..., FEATURES.index("named")] > 0
    strange = features[..., FEATURES.index("words")] == 0
    evidence, semantic = (features[..., FEATURES.index(name)] for name in ("evidence", "semantic"))
    floor, spread = float(evidence[strange].mean()), float(evidence[strange].std())
    if evidence[naming].mean() < floor + _APART * spread:
        return ""
    levels = (floor, evidence[naming].mean(), semantic[strange].mean(), semantic[naming].mean())
    try:
        return SimilarityScale(*(round(float(level), 4) for level in levels)).to_text()
    except InvalidInput:
        return ""


def _sample() -> tuple[list[Document], list[str]]:
    """Some documents of the bundled corpus, and the topics of all of them."""
    content = (files("excise") / "data" / "own" / "corpus.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in content.splitlines()][::_EVERY]
    topics = dict.fromkeys(topic for row in rows for topic in row["facets"])
    return [Document(row["_id"], row["text"], row["title"]) for row in rows], list(topics)
