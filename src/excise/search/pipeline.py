"""The way of a query: detect, encode, find candidates, weigh them, decide, explain.

One frozen record passes between each two steps (:mod:`excise.search.stages`). Searching, reranking, evaluation,
calibration and the benchmark's gates all go through these steps, so that what is measured is what ships.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from excise.documents import Document
from excise.encoders.backbone import Backbone
from excise.engines.base import Found, Reader
from excise.errors import InvalidInput
from excise.filters import Where
from excise.results import Detection, Judged, Status
from excise.rules.coverage import cover
from excise.rules.decision import Decision, Floats
from excise.rules.paper import demote
from excise.rules.signals import Signals
from excise.rules.titles import title_matches
from excise.search.inputs import checked_topics, named_topics
from excise.search.match_features import FEATURES, match_features
from excise.search.models import SearchModels
from excise.search.passages import topic_passage
from excise.search.stages import Judgement, SearchVectors, Shortlist, Weighed
from excise.search.weighing import ScoreShare, evidence_of, maxsim_of, mean_similarities, mixed, telling_maxsims_of
from excise.search.word_scores import word_scores
from excise.settings import Settings
from excise.text import checked_query
from excise.topics.locate import named_places, outside
from excise.vectors.encoded import EncodedQuery

if TYPE_CHECKING:
    from excise.encoders.adapter import Adapter


class Pipeline:
    """The steps of a search with given settings. Any number of threads may share one."""

    def __init__(self, models: SearchModels, settings: Settings | None = None) -> None:
        self.models = models
        self.settings = settings or Settings()
        if self.settings.reembed and self.adapter is None:
            name = models.backbone.name
            raise InvalidInput(f"re-embedding needs an adapter, and there is none for the backbone {name!r}.")

    @property
    def backbone(self) -> Backbone:
        return self.models.backbone

    @property
    def adapter(self) -> Adapter | None:
        """The exclusion adapter; None where the settings have no use for it or the backbone has none."""
        return self.models.adapter if self.settings.uses_adapter else None

    def detect(self, queries: Sequence[str], exclude: Sequence[str] | str | None = None) -> list[Detection]:
        """What each query rules out: named by the caller, or read by the detector where ``exclude`` is None."""
        asked = [checked_query(query) for query in queries]
        detector = self.models.detector if exclude is None else None
        if detector is not None:
            return detector.detect(asked, self.settings.fire_threshold)
        topics = () if exclude is None else checked_topics(exclude)
        return [named(query, topics) for query in asked]

    def encode(self, detections: Sequence[Detection], foreign: bool = False) -> list[SearchVectors]:
        """Queries, their topics, and what the adapter reads again, all of them in one pass of the encoder.

        Parameters
        ----------
        detections
            the queries, and what each one excludes. A topic is encoded by itself.
        foreign
            candidates will be ranked by another first stage's scores: nothing is read a second time.
        """
        queries = list(dict.fromkeys(detection.query for detection in detections))
        again = list(dict.fromkeys(detection.query for detection in detections if detection.topics))
        adapter = self._second_reader if again and not foreign else None
        read = self.backbone.read(queries, _topic_texts(detections), again, adapter.terms if adapter else None)
        first = dict(zip(queries, read.queries, strict=True))
        second = dict(zip(again, read.again, strict=True)) if adapter else {}
        topics = dict(zip(_topic_texts(detections), read.topics, strict=True))
        return [
            SearchVectors.of(
                detection,
                first[detection.query],
                [topics[topic.text] for topic in detection.topics],
                second.get(detection.query) if detection.topics else None,
                read.topics_share,
            )
            for detection in detections
        ]

    def with_topics(self, detections: Sequence[Detection], queries: Sequence[EncodedQuery]) -> list[SearchVectors]:
        """The vectors of searches whose queries are encoded already."""
        texts = _topic_texts(detections)
        vectors = dict(zip(texts, self.backbone.encode_topics(texts), strict=True))
        return [
            SearchVectors.of(detection, query, [vectors[topic.text] for topic in detection.topics])
            for detection, query in zip(detections, queries, strict=True)
        ]

    @property
    def _second_reader(self) -> Adapter | None:
        """What reads queries a second time; an adapter that re-embeds reads them in place of the encoder instead."""
        return None if self.settings.reembed else self.adapter

    def find(
        self, reader: Reader, searches: Sequence[SearchVectors], k: int, where: Where | None = None
    ) -> list[Found]:
        """Each search's candidates: the k best where nothing is excluded, else a whole shortlist with its vectors."""
        depth = max(k, self.settings.shortlist)
        plain = [place for place, search in enumerate(searches) if not search.topics]
        excluding = [place for place, search in enumerate(searches) if search.topics]
        found: dict[int, Found] = {}
        for chosen, wanted in ((plain, k), (excluding, depth)):
            if chosen:
                queries = [searches[place].query.vectors for place in chosen]
                best = reader.search(queries, wanted, vectors=chosen is excluding, where=where)
                found |= zip(chosen, best, strict=True)
        for place in excluding if self.settings.second_look else ():
            found[place] = second_look(reader, searches[place], found[place], depth, where)
        return [found[place] for place in range(len(searches))]

    def given(self, search: SearchVectors, documents: Sequence[Document], scores: Floats | None) -> Shortlist:
        """The shortlist of another first stage: its own scores where it has any, else MaxSim."""
        vectors = self.backbone.encode_documents([document.full_text for document in documents])
        relevance = maxsim_of(search.query.vectors, vectors)
        if scores is None:
            return Shortlist(documents, vectors, relevance)
        unit = scores.std() / relevance.std() if scores.std() > 0 and relevance.std() > 0 else 1.0
        return Shortlist(documents, vectors, scores, float(unit), foreign=True)

    def weigh(self, search: SearchVectors, shortlist: Shortlist) -> Weighed:
        """All that is known of each candidate; at least one topic is excluded."""
        search, dimensions = self._read_again(search, shortlist), self.backbone.judging.dimensions
        topics = tuple(topic.text for topic in search.detection.topics)
        judged = search.leading(dimensions), replace(shortlist, vectors=shortlist.vectors.leading(dimensions))
        again = self._reembedded(*judged, self.adapter) if self.settings.reembed and self.adapter else None
        if self.settings.rule == "paper":
            search, shortlist = again or judged
            evidence = evidence_of(search.topics, shortlist.vectors, self.settings.pooling)
            return Weighed(shortlist, topics, evidence, maxsim_of(search.residual, shortlist.vectors))
        scores = telling_maxsims_of(judged[0].readings, judged[1].vectors)
        signals = self._signals(*judged, topics, scores[0] / len(judged[0].residual))
        if again:  # candidates are judged by frozen vectors, which the readout was fitted on, and ranked by the others
            search, shortlist = again
            scores = telling_maxsims_of(search.readings, shortlist.vectors)
        ranked = scores.mean(axis=0)
        if not shortlist.foreign:
            ranked = mixed(ranked, *self._beside(search, shortlist))
        return Weighed(shortlist, topics, signals.strongest, ranked, signals)

    def _beside(self, search: SearchVectors, shortlist: Shortlist) -> Iterator[ScoreShare]:
        """What candidates are ranked by beside MaxSim: what each is about as a whole, and the words as such."""
        if self.settings.mean_share:
            means = mean_similarities(search.readings, shortlist.vectors)
            yield ScoreShare(means.mean(axis=0), self.settings.mean_share)
        if self.settings.word_share:
            rest = outside(search.detection.query, search.places)
            yield ScoreShare(word_scores(rest, shortlist.documents), self.settings.word_share)

    def _signals(
        self, search: SearchVectors, shortlist: Shortlist, topics: Sequence[str], relevance: Floats
    ) -> Signals:
        """How likely each candidate covers each topic, and what else the coverage rule reads."""
        features = match_features(topics, search.topics, shortlist.documents, shortlist.vectors, self.models.scale)
        detection, titles = search.detection, [one.title for one in shortlist.documents]
        named = named_places(detection.query, detection.topics)
        return Signals(
            probabilities=self.models.readout.probabilities(features, FEATURES),
            evidence=features[..., FEATURES.index("evidence")],
            opening=features[..., FEATURES.index("opening")],
            relevance=relevance,
            named=np.asarray(features[..., FEATURES.index("named")].max(axis=0) > 0),
            title_match=np.array(title_matches(detection.query, named, topics, titles), dtype=np.bool_),
            excluded=np.array([topic.score for topic in detection.topics], dtype=np.float64),
        )

    def _reembedded(
        self, search: SearchVectors, shortlist: Shortlist, adapter: Adapter
    ) -> tuple[SearchVectors, Shortlist]:
        """Query, topics and the first candidates as the adapter encodes them; the other candidates as they are."""
        query = adapter.encode_query(search.detection.query)
        topics = adapter.encode_topics([topic.text for topic in search.detection.topics])
        first, count = self.settings.reembed_first, len(shortlist)
        vectors = adapter.reembed(shortlist.documents[:first], self.models.cache)
        if first < count:
            vectors = vectors.joined(shortlist.vectors.taken(range(first, count)))
        scores = shortlist.scores if shortlist.foreign else maxsim_of(query.vectors, vectors)
        return SearchVectors.of(search.detection, query, topics), replace(shortlist, vectors=vectors, scores=scores)

    def _read_again(self, search: SearchVectors, shortlist: Shortlist) -> SearchVectors:
        """The search with what the adapter reads its query as, where that counts and it was not read so before."""
        adapter = None if shortlist.foreign else self._second_reader
        if adapter is None or search.second is not None:
            return search
        read = self.backbone.read((), (), [search.detection.query], adapter.terms)
        return replace(search, second=read.again[0].outside(search.places))

    def judge(self, search: SearchVectors, shortlist: Shortlist) -> Judgement:
        """Weigh a shortlist and decide."""
        return decide(self.weigh(search, shortlist), self.settings)


def _topic_texts(detections: Sequence[Detection]) -> list[str]:
    """Every topic's text once."""
    return list(dict.fromkeys(topic.text for detection in detections for topic in detection.topics))


def named(query: str, exclude: Sequence[str] | str) -> Detection:
    """A query with the topics that its user named."""
    topics = named_topics(query, exclude)
    return Detection(query, bool(topics), float(bool(topics)), topics)


def decide(weighed: Weighed, settings: Settings) -> Judgement:
    """Apply a rule to what is known of a shortlist. Pure: the same record serves any rule and any constants."""
    shortlist = weighed.shortlist
    masked = settings.scoring == "masked" and not shortlist.foreign
    if settings.rule == "paper":
        scores = weighed.residual_scores if masked else shortlist.scores
        decision = demote(scores / shortlist.unit, weighed.evidence, settings.constants.for_topics(len(weighed.topics)))
        return _judgement(weighed, scores, weighed.evidence, decision, shortlist.unit)
    signals, scores = weighed.signals, shortlist.scores
    if signals is None:
        raise InvalidInput("the coverage rule reads signals, and the candidates were weighed for the paper's rule.")
    if masked and settings.coverage.acts(signals):  # else nothing is to change
        share = settings.whole_query
        scores = (1 - share) * weighed.residual_scores + share * scores
    return _judgement(weighed, scores, weighed.evidence, cover(scores, signals, settings.coverage))


def shortlisted(found: Found) -> Shortlist:
    """What a search found, as the shortlist of a rule."""
    if found.vectors is None:
        raise InvalidInput("a shortlist is judged by its vectors: search with vectors=True.")
    return Shortlist(found.documents, found.vectors, found.scores)


def second_look(reader: Reader, search: SearchVectors, found: Found, depth: int, where: Where | None = None) -> Found:
    """What was found, with what a search for the residual query alone finds; all of it ranked by the whole query."""
    known = {document.id for document in found.documents}
    again = reader.search([search.residual], depth, where=where)[0]
    more = [one.id for one in again.documents if one.id not in known]
    if not more or found.vectors is None:
        return found
    added = reader.vectors(more)
    vectors = found.vectors.joined(added)
    scores = np.concatenate([found.scores, maxsim_of(search.query.vectors, added)])
    documents = [*found.documents, *reader.documents(more)]
    order = [int(i) for i in np.argsort(-scores, kind="stable")]
    return Found(tuple(documents[i] for i in order), scores[order], vectors.taken(order))


def _judgement(weighed: Weighed, scores: Floats, evidence: Floats, decision: Decision, unit: float = 1.0) -> Judgement:
    """The decision, and each candidate with what it was decided from; ``unit`` is that of the rule's penalties."""
    signals = weighed.signals
    probability = None if signals is None else signals.unwanted
    touched = {*decision.removed, *decision.doubtful, *decision.mentions}
    candidates = tuple(
        Judged(
            id=document.id,
            title=document.title,
            frozen_rank=i + 1,
            score=float(scores[i] - decision.penalties[i] * unit),
            evidence=float(evidence[i]),
            penalty=float(decision.penalties[i] * unit),
            status=_status(i, decision),
            opening=None if decision.openings is None else float(decision.openings[i]),
            lead=None if decision.margins is None else float(decision.margins[i]),
            asked=None if signals is None else bool(signals.title_match[i]),
            probability=None if probability is None else float(probability[i]),
            passage=topic_passage(weighed.topics, document) if i in touched else None,
        )
        for i, document in enumerate(weighed.shortlist.documents)
    )
    return Judgement(weighed.shortlist, decision, candidates)


def _status(i: int, decision: Decision) -> Status:
    if i in decision.removed:
        return "removed"
    if i == decision.protected:
        return "protected"
    if i in decision.doubtful:
        return "doubtful"
    if i in decision.mentions:
        return "mentions"
    return "penalised" if decision.penalties[i] > 0 else "kept"
