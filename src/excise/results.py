"""What searches return: frozen records with plain types, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Branch = Literal["floor", "relative", "absolute", "coverage", "clear", "few"]
Status = Literal["kept", "penalised", "protected", "mentions", "doubtful", "removed"]

# The steps of a search that ``SearchResult.timing_ms`` tells apart.
STEPS = ("detect", "encode", "topics", "candidates", "evidence", "rule")


@dataclass(frozen=True)
class Topic:
    """An excluded topic. ``start`` and ``end`` are its place in the query; None where the query does not name it."""

    text: str
    start: int | None
    end: int | None
    score: float


@dataclass(frozen=True)
class Detection:
    """What a query excludes. ``score`` is how sure that is, from 0 to 1: 1 where the caller named it."""

    query: str
    fired: bool
    score: float
    topics: tuple[Topic, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain types for JSON."""
        return {**asdict(self), "topics": [asdict(topic) for topic in self.topics]}


@dataclass(frozen=True)
class Hit:
    """One result. ``frozen_rank`` is its rank before the operator; ``evidence`` is None where nothing was excluded.

    ``probability`` (that it covers an excluded topic) is the coverage rule's; ``passage`` is where it names or touches
    a topic that it was judged by.
    """

    rank: int
    id: str
    title: str
    text: str
    score: float
    frozen_rank: int
    evidence: float | None
    status: Status
    probability: float | None = None
    passage: str | None = None


@dataclass(frozen=True)
class Removed:
    """A document that was taken out of the results, the evidence against it, and the passage that convicts it."""

    id: str
    title: str
    evidence: float
    frozen_rank: int
    score: float
    probability: float | None = None
    passage: str | None = None


@dataclass(frozen=True)
class Judged:
    """One candidate of the shortlist as the rule saw it.

    ``opening``, ``lead``, ``asked`` (the query names its title) and ``probability`` belong to the coverage rule. The
    last is that it covers a topic, times that the topic is excluded: that is sure where the user named it.
    ``passage`` is where what does not simply stay names or touches a topic.
    """

    id: str
    title: str
    frozen_rank: int
    score: float
    evidence: float
    penalty: float
    status: Status
    opening: float | None = None
    lead: float | None = None
    asked: bool | None = None
    probability: float | None = None
    passage: str | None = None


@dataclass(frozen=True)
class Explanation:
    """Why the ranking is as it is: the branch of the rule, the cut, the floor, and every candidate in frozen order.

    ``cache`` holds the figures of the cache of re-embedded documents, where there was re-embedding.
    """

    branch: Branch
    cut: float | None
    floor: float
    candidates: tuple[Judged, ...]
    cache: Mapping[str, float] | None = None


@dataclass(frozen=True)
class SearchResult:
    """What a search returns.

    ``fired`` tells whether anything was excluded; ``score`` is how sure that is (1 where the user named the topic).
    ``hits`` is the ranking, ``removed`` what was taken out of it, ``explanation`` how each candidate was judged.
    ``timing_ms`` is where the milliseconds went, by step (:data:`STEPS`); two results that differ in nothing else are
    equal.
    """

    query: str
    fired: bool
    score: float
    topics: tuple[Topic, ...]
    hits: tuple[Hit, ...]
    removed: tuple[Removed, ...]
    timing_ms: Mapping[str, float] = field(compare=False)
    explanation: Explanation | None = field(default=None, repr=False)

    def to_dict(self, explain: bool = False) -> dict[str, Any]:
        """Plain types for JSON; the explanation only where it is asked for."""
        plain = asdict(self)
        for one in (*plain["hits"], *plain["removed"]):
            if one["probability"] is None:  # a rule that has none: the shape is what it always was
                del one["probability"], one["passage"]
        explanation = plain.pop("explanation")
        return {**plain, "explanation": explanation} if explain else plain


@dataclass(frozen=True)
class IndexReport:
    """What indexing did: documents added (or replaced), found unchanged, passed over as bad, and in the index now."""

    added: int
    unchanged: int
    skipped: int
    documents: int


@dataclass(frozen=True)
class CopyReport:
    """What copying did: documents copied (or replaced), found unchanged, and in the target now."""

    copied: int
    unchanged: int
    documents: int
