"""What answers look like, for the OpenAPI document: the library's own records, field by field."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from excise.results import Branch, Status


class TopicAnswer(BaseModel):
    """An excluded topic, and its place in the query."""

    text: str
    start: int | None
    end: int | None
    score: float


class DetectionAnswer(BaseModel):
    """What one query excludes."""

    query: str
    fired: bool
    score: float
    topics: list[TopicAnswer]


class DetectionsAnswer(BaseModel):
    """What each of several queries excludes."""

    results: list[DetectionAnswer]


class HitAnswer(BaseModel):
    """One result; with 'probability' and 'passage' where the rule has them."""

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


class RemovedAnswer(BaseModel):
    """A document that was ruled out."""

    id: str
    title: str
    evidence: float
    frozen_rank: int
    score: float
    probability: float | None = None
    passage: str | None = None


class JudgedAnswer(BaseModel):
    """One candidate as the rule saw it."""

    id: str
    title: str
    frozen_rank: int
    score: float
    evidence: float
    penalty: float
    status: Status
    opening: float | None
    lead: float | None
    asked: bool | None
    probability: float | None
    passage: str | None


class ExplanationAnswer(BaseModel):
    """Why the ranking is as it is."""

    branch: Branch
    cut: float | None
    floor: float
    candidates: list[JudgedAnswer]
    cache: dict[str, float] | None


class FrozenHit(BaseModel):
    """One result of the engine's own ranking."""

    rank: int
    id: str
    title: str
    score: float


class SearchAnswer(BaseModel):
    """The answer to one query."""

    query: str
    fired: bool
    score: float
    topics: list[TopicAnswer]
    hits: list[HitAnswer]
    removed: list[RemovedAnswer]
    timing_ms: dict[str, float]
    explanation: ExplanationAnswer | None = Field(None, description="Where 'explain' was asked for.")
    frozen: list[FrozenHit] | None = Field(None, description="Where 'compare' was asked for.")


class SearchesAnswer(BaseModel):
    """The answers to several queries, all over one state of the index."""

    results: list[SearchAnswer]


class IndexAnswer(BaseModel):
    """What adding documents did."""

    added: int
    unchanged: int
    skipped: int
    documents: int = Field(description="How many the index holds now.")


class DeletedAnswer(BaseModel):
    """What deleting did."""

    deleted: int
    documents: int = Field(description="How many the index holds now.")


class DocumentAnswer(BaseModel):
    """A document of the index."""

    id: str
    title: str
    text: str
    metadata: dict[str, Any] = Field({}, description="Where it has any.")


class DocumentsAnswer(BaseModel):
    """Documents of the index, and the ids that it does not have."""

    documents: list[DocumentAnswer]
    missing: list[str]


class FeedbackAnswer(BaseModel):
    """It is written down."""

    labels: int = Field(description="How many labels the file holds now.")


class AboutAnswer(BaseModel):
    """What this service is and has."""

    version: str
    documents: int
    rule: str
    caution: float | None = Field(description="How sure the service is before a removal, if its rule asks that.")
    filters: bool
    feedback: bool
    demo: bool


class HealthAnswer(BaseModel):
    """It runs."""

    status: str


class ReadyAnswer(BaseModel):
    """It answers searches."""

    status: str
    documents: int


class ProblemAnswer(BaseModel):
    """What went wrong, as RFC 9457 writes it."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None
