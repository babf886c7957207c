"""Negative feedback as search engines and vector databases offer it: a topic is an example of what is not wanted.

Each one takes the same topics as excise, from the detector or the record, so that what is compared is what is done with
them. All but ``bm25-not`` rank the frozen shortlist, by all dimensions of its vectors: the leading ones, which excise
judges by, find what is wanted less often when nothing but MaxSim ranks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from excise.documents import Document
from excise.evaluation.systems.cases import Case
from excise.evaluation.systems.external_spec import FeedbackName, FeedbackWay
from excise.evaluation.systems.interventions import candidate_means, less_topics
from excise.evaluation.systems.lexical import Scored, words
from excise.evaluation.systems.rankings import Rank, Ranked, Ranking, found_ranking, frozen_ranking, reordered
from excise.extras import need
from excise.results import Detection
from excise.rules.decision import Floats
from excise.search.stages import SearchVectors
from excise.search.weighing import maxsim_of
from excise.vectors.ragged import Vectors

Scores = Callable[[Case, SearchVectors, FeedbackWay], Floats]


def feedback_rank(way: FeedbackWay) -> Rank:
    """The system behind a name of negative feedback."""
    if way.feedback in _FILTERS:
        return _FILTERS[way.feedback]
    scores = _SCORES[way.feedback]

    def rank(case: Case, detection: Detection) -> Ranking:
        if not detection.topics:
            return frozen_ranking(case)
        return replace(reordered(case, scores(case, case.search(detection), way)), topics=detection.topics)

    return rank


def bm25_not(case: Case, detection: Detection) -> Ranking:
    """BM25 for the query less its topics; documents that hold every word of a topic are taken out.

    Words are compared without a final "s", so that "retrievers" rules out a retriever.
    """
    lexical = case.collection.lexical
    text = _less(case, detection)
    found = lexical.search(text, len(lexical) if detection.topics else case.collection.depth)
    return _filtered(case, detection, found)


def maxsim_not(case: Case, detection: Detection) -> Ranking:
    """MaxSim of the query less its topics over the frozen shortlist, and the same filter as BM25's."""
    if not detection.topics:
        return frozen_ranking(case)
    scores = maxsim_of(case.search(detection).residual, case.shortlist.vectors)
    order = np.argsort(-scores, kind="stable")
    return _filtered(case, detection, [Scored(case.documents[i], float(scores[i])) for i in order])


def _filtered(case: Case, detection: Detection, found: Sequence[Scored]) -> Ranking:
    """What was found, without the documents that hold every word of a topic."""
    forbidden = [frozenset(map(_stem, own)) for own in words([topic.text for topic in detection.topics]) if own]
    kept: list[Scored] = []
    gone: list[Scored] = []
    for one in found:
        if len(kept) == case.collection.depth:
            break
        (gone if _holds(one.document, forbidden) else kept).append(one)
    ranking = found_ranking(case, [one.document for one in kept], [one.score for one in kept])
    removals = tuple(
        Ranked(
            one.document.id,
            one.document.title,
            one.score,
            case.frozen_ranks.get(one.document.id),
            status="removed",
        )
        for one in gone
    )
    return replace(ranking, removals=removals, topics=detection.topics)


def rocchio(case: Case, search: SearchVectors, way: FeedbackWay) -> Floats:
    """MaxSim of the query's tokens less a share of the topics' mean vector, each at unit length again."""
    moved = search.query.vectors - way.weight * _unit(np.concatenate(search.topics).mean(axis=0))
    return maxsim_of(_unit(moved), case.shortlist.vectors)


def maxsim_minus(case: Case, search: SearchVectors, way: FeedbackWay) -> Floats:
    """MaxSim of the query less MaxSim of the topics, both sums over tokens."""
    return case.scores - way.weight * maxsim_of(np.concatenate(search.topics), case.shortlist.vectors)


def qdrant_negative(case: Case, search: SearchVectors, way: FeedbackWay) -> Floats:
    """Qdrant's recommendation: the query's mean vector as the positive example, each topic's as a negative one."""
    need("the system 'qdrant-negative'", "qdrant", "qdrant_client")
    from qdrant_client import QdrantClient, models

    pooled = candidate_means(case)
    client = QdrantClient(location=":memory:")
    try:
        size = models.VectorParams(size=pooled.shape[1], distance=models.Distance.COSINE)
        client.create_collection("candidates", vectors_config=size)
        points = [models.PointStruct(id=i, vector=vector.tolist()) for i, vector in enumerate(pooled)]
        client.upsert("candidates", points)
        strategy = models.RecommendStrategy.BEST_SCORE if way.best_score else models.RecommendStrategy.AVERAGE_VECTOR
        asked = models.RecommendInput(
            positive=[_unit(search.query.vectors.mean(axis=0)).tolist()],
            negative=[_unit(topic.mean(axis=0)).tolist() for topic in search.topics],
            strategy=strategy,
        )
        query = models.RecommendQuery(recommend=asked)
        found = client.query_points("candidates", query=query, limit=len(points)).points
    finally:
        client.close()
    scores = np.full(len(pooled), -np.inf)
    for point in found:
        scores[int(point.id)] = point.score
    lowest = scores[np.isfinite(scores)].min(initial=0.0)
    return np.where(np.isfinite(scores), scores, lowest - 1.0)


_SCORES: dict[FeedbackName, Scores] = {
    "rocchio": rocchio,
    "maxsim-minus": maxsim_minus,
    "qdrant-negative": qdrant_negative,
}

_FILTERS: dict[FeedbackName, Rank] = {"bm25-not": bm25_not, "maxsim-not": maxsim_not}


def _less(case: Case, detection: Detection) -> str:
    """The query without the words of its topics; as it is where nothing else is left."""
    text = less_topics(case.query.text, case.search(detection)) if detection.topics else case.query.text
    return text if words([text])[0] else case.query.text


def _holds(document: Document, forbidden: list[frozenset[str]]) -> bool:
    own = {_stem(word) for word in words([document.full_text])[0]}
    return any(topic <= own for topic in forbidden)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _unit(vectors: Vectors) -> Vectors:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-9))
