"""Nine readouts of a frozen shortlist that stand in for the MaxSim(Z) evidence of the plain rule (the paper's App. A).

The plain rule is an absolute-threshold penalty: what a candidate's evidence has above the floor is taken from its
score, and nothing is removed. Each intervention gives that rule another evidence, or other scores. So that one
penalty scale serves them all, evidence that is not a probability or a cosine is stretched over the shortlist: the
weakest candidate has 0 and the strongest 1. Where the paper leaves a constant open it stands below, and is not tuned.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from excise.evaluation.systems.cases import Case
from excise.evaluation.systems.lexical import words
from excise.evaluation.systems.spec import PLAIN, InterventionName
from excise.evaluation.systems.topic_gate import train_gate, unit_means
from excise.rules.decision import Floats
from excise.search.stages import SearchVectors
from excise.search.weighing import evidence_of, maxsim_of
from excise.vectors.ragged import Vectors
from excise.vectors.windows import best_window

_DECAY = 0.1  # beta: an excluded word ten words from a wanted one counts for a third
_CANCELLED = 0.5  # alpha: how much of a wanted token's match is taken from an excluded one's
_FEEDBACK = 3  # candidates that make up the negative centroid
_FLAGGED = 10  # candidates that are encoded again, behind the topic


class Readout(NamedTuple):
    """The candidates' scores and their evidence, in frozen order, as the plain rule is to take them."""

    scores: Floats
    evidence: Floats


Intervention = Callable[[Case, SearchVectors], Readout]


def bm25_z(case: Case, search: SearchVectors) -> Readout:
    """Sparse BM25-Z demotion: the topic's BM25 score in the candidate's text.

    Reading: one BM25 query of all the topics' words, with the statistics of the whole corpus.
    """
    return Readout(case.scores, _stretched(_bm25(case, search)))


def positional_a(case: Case, search: SearchVectors) -> Readout:
    """Positional-lexical, how early: sum over z of idf(z) exp(-beta min_x |pos(x) - pos(z)|) at z's first mention.

    Reading: each excluded word counts once, where the candidate first names it, and less the later that is: times
    the share of the text that comes after it. Positions are counted in words, without stop words.
    """

    def commitment(places: Sequence[int], near: Floats, length: int) -> float:
        return float(near[0]) * (1 - places[0] / length)

    return Readout(case.scores, _positional(case, search, commitment))


def positional_b(case: Case, search: SearchVectors) -> Readout:
    """Positional-lexical, how often: the same sum over every mention of z.

    Reading: an excluded word's mentions add up, each by its nearness to a wanted word, and their sum is damped by a
    logarithm, as term frequencies are.
    """

    def commitment(_: Sequence[int], near: Floats, __: int) -> float:
        return float(np.log1p(near.sum()))

    return Readout(case.scores, _positional(case, search, commitment))


def contrastive(case: Case, search: SearchVectors) -> Readout:
    """Contrastive late interaction: sum over z of (max_d [v_z . v_d - alpha max_x v_x . v_d])_+.

    Reading: d runs over the candidate's tokens and is the same in both terms, so that a candidate's token speaks for
    the excluded topic only by what the wanted tokens (the query less the topic) do not explain of it.
    """
    windows = case.shortlist.vectors.windows
    tokens = windows.vectors.astype(np.float32)
    explained = (search.residual @ tokens.T).max(axis=0)
    contrast = np.concatenate(search.topics) @ tokens.T - _CANCELLED * explained
    best = np.maximum.reduceat(contrast, windows.offsets[:-1], axis=1)
    return Readout(case.scores, _stretched(_by_document(case, np.maximum(best, 0.0).sum(axis=0))))


def subspace(case: Case, search: SearchVectors) -> Readout:
    """Subspace orthogonalisation: the topic's vectors less their projection on the wanted tokens' subspace.

    Reading: the subspace is spanned by the query's tokens outside the topic; what is left of the topic's vectors is
    not brought back to unit length, so that tokens which the wanted topic explains fade out of the mean.
    """
    basis = np.linalg.svd(search.residual, full_matrices=False)[2]
    left = [vectors - vectors @ basis.T @ basis for vectors in search.topics]
    return Readout(case.scores, _stretched(evidence_of(left, case.shortlist.vectors, "mean")))


def centroid(case: Case, search: SearchVectors) -> Readout:
    """Negative-centroid feedback (Rocchio): similarity to the mean vector of candidates rich in the topic's words.

    Reading: the richest are the three best by BM25-Z; candidates and centroid are compared by the cosine of their
    mean token vectors. Where no candidate holds a word of the topic there is no centroid, and no evidence.
    """
    rich = _bm25(case, search)
    chosen = [int(i) for i in np.argsort(-rich, kind="stable")[:_FEEDBACK] if rich[i] > 0]
    if not chosen:
        return Readout(case.scores, np.zeros(len(case.scores)))
    pooled = candidate_means(case)
    negative = pooled[chosen].mean(axis=0)
    return Readout(case.scores, _stretched(pooled @ negative))


def drop(case: Case, search: SearchVectors) -> Readout:
    """Token dropping alone: the query without the topic's words, encoded and scored anew, and no penalty.

    Reading: the words are deleted from the text; where the query words a topic differently, the words in common are.
    A query that is nothing but its topics stays as it is.
    """
    text = less_topics(case.query.text, search)
    unpenalised = np.zeros(len(case.scores))
    if not words([text])[0]:
        return Readout(case.scores, unpenalised)
    asked = case.collection.backbone.encode_query(text)
    return Readout(maxsim_of(asked.vectors, case.shortlist.vectors), unpenalised)


def gate(case: Case, search: SearchVectors) -> Readout:
    """Learned readout gate: the score times a gate that a learned excluded-topic direction opens or shuts.

    Reading: the direction weighs the product of mean topic vector and mean candidate vector into a probability p
    (see :mod:`excise.evaluation.systems.topic_gate`). The gate 1 - lambda (p - tau)_+ / S_1 is as deep as the plain
    penalty for the best candidate's score S_1, and shallower below; it is written as the evidence that amounts to it.
    """
    named = np.concatenate(search.topics).mean(axis=0)
    chances = train_gate(case.collection.backbone).probabilities(named, candidate_means(case))
    floor = PLAIN.evidence_floor
    share = np.clip(case.scores / max(float(case.scores.max()), 1e-9), 0.0, 1.0)
    return Readout(case.scores, np.minimum(chances, floor) + share * np.maximum(chances - floor, 0.0))


def z_conditional(case: Case, search: SearchVectors) -> Readout:
    """Z-conditional re-embedding: a flagged candidate is encoded again as the topic followed by the document.

    Reading: flagged are the ten candidates with the most MaxSim(Z) evidence, where it reaches the floor. Their score
    and their evidence are taken from the new vectors; the others keep theirs, and the plain rule follows.
    """
    judged_by = case.collection.backbone.judging.dimensions  # the floor is on the scale of these
    topics = search.leading(judged_by).topics
    match = evidence_of(topics, case.shortlist.vectors.leading(judged_by), "mean")
    strongest = np.argsort(-match, kind="stable")[:_FLAGGED]
    flagged = [int(i) for i in strongest if match[i] >= PLAIN.evidence_floor]
    scores = case.scores.copy()
    if flagged:
        named = ", ".join(topic.text for topic in search.detection.topics)
        texts = [f"{named}. {case.documents[i].full_text}" for i in flagged]
        again = case.collection.backbone.encode_documents(texts)
        scores[flagged] = maxsim_of(case.encoded.vectors, again)
        match[flagged] = evidence_of(topics, again.leading(judged_by), "mean")
    return Readout(scores, match)


INTERVENTIONS: dict[InterventionName, Intervention] = {
    "bm25-z": bm25_z,
    "positional-a": positional_a,
    "positional-b": positional_b,
    "contrastive": contrastive,
    "subspace": subspace,
    "centroid": centroid,
    "drop": drop,
    "gate": gate,
    "z-conditional": z_conditional,
}


def less_topics(text: str, search: SearchVectors) -> str:
    """The query's text without the words of its topics."""
    for start, end in sorted(search.places, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text


def candidate_means(case: Case) -> Vectors:
    """Each candidate's mean token vector, at unit length."""
    vectors = case.shortlist.vectors
    starts = vectors.windows.offsets[vectors.offsets]
    return unit_means(vectors.windows.vectors, starts)


def _by_document(case: Case, by_window: Vectors) -> Floats:
    return best_window(by_window, case.shortlist.vectors.offsets).astype(np.float64)


def _bm25(case: Case, search: SearchVectors) -> Floats:
    asked = " ".join(topic.text for topic in search.detection.topics)
    return case.collection.lexical.scores(asked, [document.id for document in case.documents])


def _positional(case: Case, search: SearchVectors, commitment: Callable[[Sequence[int], Floats, int], float]) -> Floats:
    """Over the excluded words z that a candidate names, idf(z) times what its places say of the commitment to it."""
    excluded = {word for text in words([topic.text for topic in search.detection.topics]) for word in text}
    wanted = set(words([case.query.text])[0]) - excluded
    lexical = case.collection.lexical
    sums = []
    for text in case.words:
        anchors = np.array([place for place, word in enumerate(text) if word in wanted])
        total = 0.0
        for z in sorted(excluded & set(text)) if len(anchors) else ():
            places = [place for place, word in enumerate(text) if word == z]
            near = np.exp(-_DECAY * np.abs(anchors - np.array(places)[:, None]).min(axis=1))
            total += lexical.idf(z) * commitment(places, near, len(text))
        sums.append(total)
    return _stretched(np.array(sums))


def _stretched(values: Floats) -> Floats:
    """From 0 for the weakest candidate to 1 for the strongest; all 0 where they do not differ."""
    low, high = float(values.min()), float(values.max())
    return np.zeros(len(values)) if high - low < 1e-9 else np.asarray((values - low) / (high - low), dtype=np.float64)
