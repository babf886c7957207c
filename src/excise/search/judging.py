"""Weighing a shortlist: topics and candidates become vectors, vectors become evidence, and the rule decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from excise.encoders.backbone import Backbone
from excise.encoders.cache import EmbeddingCache
from excise.engines.base import Engine
from excise.errors import InvalidInput
from excise.results import Topic
from excise.rules.coverage import lifted
from excise.rules.titles import asked_for
from excise.search.shortlist import (
    Floats,
    Judgement,
    Shortlist,
    evidence_of,
    judge,
    judge_coverage,
    maxsim_of,
    signals_of,
)
from excise.settings import Settings
from excise.topics.words import mentions
from excise.vectors.encoded import EncodedDocuments, EncodedQuery
from excise.vectors.ragged import Vectors

if TYPE_CHECKING:
    from excise.encoders.adapter import Adapter


class Judge:
    """Applies a rule to shortlists, on frozen vectors or on those of an adapter.

    Parameters
    ----------
    backbone
        encodes topics.
    settings
        which rule, with which constants, on which vectors.
    adapter, cache
        what re-embeds where the settings ask for it, and where re-embedded documents are kept.
    """

    def __init__(
        self,
        backbone: Backbone,
        settings: Settings,
        adapter: Adapter | None = None,
        cache: EmbeddingCache | None = None,
    ) -> None:
        if settings.reembed and adapter is None:
            raise InvalidInput(f"re-embedding needs an adapter, and there is none for the backbone {backbone.name!r}.")
        self.backbone = backbone
        self.settings = settings
        self.adapter = adapter if settings.uses_adapter else None
        self.cache = cache

    def __call__(
        self,
        query: str,
        encoded: EncodedQuery,
        topics: Sequence[Topic],
        shortlist: Shortlist,
        named: Sequence[Vectors] | None = None,
        *,
        index_id: str = "",
        keep_scores: bool = False,
    ) -> Judgement:
        """Weigh a shortlist against topics and apply the rule.

        Parameters
        ----------
        query, encoded
            the query and its token vectors.
        topics
            what is ruled out; at least one.
        shortlist
            the first stage's candidates.
        named
            the topics' token vectors, where they are encoded already.
        index_id
            tells the cache which index, in which state, the candidates come from.
        keep_scores
            rank by the scores that the candidates came with, whatever the settings say.
        """
        adapter = self.adapter if self.settings.reembed else None
        if adapter is not None:
            encoded, named = adapter.encode_query(query), None
            vectors = self._reembedded(shortlist, adapter, index_id)
            scores = shortlist.scores if keep_scores else maxsim_of(encoded.vectors, vectors)
            shortlist = replace(shortlist, vectors=vectors, scores=scores)
        named = named or (adapter or self.backbone).encode_topics([topic.text for topic in topics])
        wanted = wanted_part(query, encoded, topics)
        masked = self.settings.scoring == "masked" and not keep_scores
        if self.settings.rule == "paper":
            if masked:
                shortlist = replace(shortlist, scores=maxsim_of(wanted, shortlist.vectors))
            match = evidence_of(named, shortlist.vectors, self.settings.pooling)
            return judge(shortlist, match, self.settings.constants.for_topics(len(topics)))
        asked = asked_by_title(query, topics, shortlist)
        signals = replace(signals_of(named, wanted, shortlist.vectors, self.settings.pooling), asked=asked)
        if masked and signals.evidence.max() >= self.settings.evidence_floor:  # else nothing is to change
            scores = self.read_twice(query, topics, shortlist, signals.wanted * len(wanted))
            shortlist = replace(shortlist, scores=lifted(scores, asked, self.settings.coverage))
        return judge_coverage(shortlist, signals, self.settings.coverage)

    def _reembedded(self, shortlist: Shortlist, adapter: Adapter, index_id: str) -> EncodedDocuments:
        """The candidates' vectors, the first ones re-embedded, the others as they are."""
        first, count = self.settings.reembed_first, len(shortlist.documents)
        adapted = adapter.reembed(shortlist.documents[:first], self.cache, index_id)
        return adapted if first >= count else adapted.joined(shortlist.vectors.taken(range(first, count)))

    def read_twice(self, query: str, topics: Sequence[Topic], shortlist: Shortlist, scores: Floats) -> Floats:
        """The mean of the scores and of those that the adapter's reading of the query gives on the same vectors."""
        if self.adapter is None or self.settings.reembed:
            return scores
        adapted = wanted_part(query, self.adapter.encode_query(query), topics)
        return (scores + maxsim_of(adapted, shortlist.vectors)) / 2


def places(query: str, topics: Sequence[Topic]) -> list[tuple[int, int]]:
    """Where a query names topics: their own places, or the words in common where the query words them differently."""
    return _placed(topics) + mentions(query, [topic.text for topic in topics if topic.start is None])


def _placed(topics: Sequence[Topic]) -> list[tuple[int, int]]:
    return [(topic.start, topic.end) for topic in topics if topic.start is not None and topic.end is not None]


def wanted_part(query: str, encoded: EncodedQuery, topics: Sequence[Topic]) -> Vectors:
    """The query's token vectors less those that name the topics."""
    return encoded.outside(places(query, topics))


def asked_by_title(query: str, topics: Sequence[Topic], shortlist: Shortlist) -> NDArray[np.bool_]:
    """Which candidates the query asks for by their titles."""
    titles = [document.title for document in shortlist.documents]
    return np.array(asked_for(query, _placed(topics), [topic.text for topic in topics], titles), dtype=np.bool_)


def with_second_look(
    shortlist: Shortlist, engine: Engine, encoded: EncodedQuery, wanted: Vectors, depth: int
) -> Shortlist:
    """The shortlist and what a search for the wanted part alone finds, ranked together by the whole query."""
    known = {document.id for document in shortlist.documents}
    more = [candidate.id for candidate in engine.search(wanted, depth) if candidate.id not in known]
    if not more:
        return shortlist
    vectors = shortlist.vectors.joined(engine.vectors(more))
    scores = np.concatenate([shortlist.scores, maxsim_of(encoded.vectors, engine.vectors(more))])
    documents = [*shortlist.documents, *engine.fetch(more)]
    order = [int(i) for i in np.argsort(-scores, kind="stable")]
    return replace(
        shortlist, documents=[documents[i] for i in order], vectors=vectors.taken(order), scores=scores[order]
    )
