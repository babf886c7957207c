"""What passes between the steps of a search: one frozen record for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from excise.documents import Document
from excise.results import Detection, Judged
from excise.rules.decision import Decision, Floats
from excise.rules.signals import Signals
from excise.topics.locate import places
from excise.vectors.encoded import EncodedDocuments, EncodedQuery, leading
from excise.vectors.ragged import Vectors


@dataclass(frozen=True, eq=False)
class SearchVectors:
    """A query as vectors.

    Attributes
    ----------
    detection
        the query's text, and what it excludes.
    query
        its token vectors.
    places
        where it names what it excludes.
    residual
        the token vectors of the residual query: those outside of ``places``.
    topics
        the token vectors of each topic, encoded by itself.
    second
        the residual query as the adapter reads it; None where it was not asked to.
    topics_share
        how much of the encoder's pass, in tokens, was for topics.
    """

    detection: Detection
    query: EncodedQuery
    places: tuple[tuple[int, int], ...]
    residual: Vectors
    topics: tuple[Vectors, ...]
    second: Vectors | None = None
    topics_share: float = 0.0

    @classmethod
    def of(
        cls,
        detection: Detection,
        query: EncodedQuery,
        topics: Sequence[Vectors],
        again: EncodedQuery | None = None,
        topics_share: float = 0.0,
    ) -> SearchVectors:
        """From a query and topics that are encoded already; ``again`` is the query as the adapter reads it."""
        named = tuple(places(detection.query, detection.topics))
        second = None if again is None else again.outside(named)
        return cls(detection, query, named, query.outside(named), tuple(topics), second, topics_share)

    @property
    def readings(self) -> list[Vectors]:
        """The residual query as each of those who read it did: the encoder, and the adapter where it was asked to."""
        return [self.residual] if self.second is None else [self.residual, self.second]

    def leading(self, dimensions: int) -> SearchVectors:
        """The leading dimensions of all its vectors."""
        return replace(
            self,
            query=self.query.leading(dimensions),
            residual=leading(self.residual, dimensions),
            topics=tuple(leading(topic, dimensions) for topic in self.topics),
            second=None if self.second is None else leading(self.second, dimensions),
        )


@dataclass(frozen=True, eq=False)
class Shortlist:
    """Candidates in frozen order.

    Attributes
    ----------
    documents, vectors, scores
        the candidates, their token vectors, and the scores that they are ranked by.
    unit
        one MaxSim unit in ``scores``: the constants of the paper's rule are in MaxSim units.
    foreign
        the scores are another first stage's, and stay what the candidates are ranked by.
    """

    documents: Sequence[Document]
    vectors: EncodedDocuments
    scores: Floats
    unit: float = 1.0
    foreign: bool = False

    def __len__(self) -> int:
        return len(self.documents)

    def first(self, k: int) -> Shortlist:
        """The best k candidates."""
        if k >= len(self):
            return self
        return Shortlist(self.documents[:k], self.vectors.taken(range(k)), self.scores[:k], self.unit, self.foreign)


@dataclass(frozen=True, eq=False)
class Weighed:
    """A shortlist and all that is known of each candidate: what any rule, with any constants, decides from.

    Attributes
    ----------
    shortlist
        the candidates; re-embedded where that was asked for.
    topics
        the excluded topics.
    evidence
        the evidence over all topics: pooled as the settings say under the paper's rule, that of the nearest topic else.
    residual_scores
        the scores by the residual query, in MaxSim units, with the adapter's reading of it, mean vectors and its words
        as such mixed in where they count.
    signals
        what the coverage rule reads; None where the settings have the paper's.
    """

    shortlist: Shortlist
    topics: tuple[str, ...]
    evidence: Floats
    residual_scores: Floats
    signals: Signals | None = None


@dataclass(frozen=True, eq=False)
class Judgement:
    """What the rule decided, and each candidate as it saw it, in frozen order."""

    shortlist: Shortlist
    decision: Decision
    candidates: tuple[Judged, ...]
