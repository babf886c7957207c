"""What answers look like, for the OpenAPI document; searches are made of the library's own records."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from excise.results import Detection, Explanation, Hit, Removed, Topic


class DetectionsAnswer(BaseModel):
    """What each of several queries excludes."""

    results: list[Detection]


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
    topics: list[Topic]
    hits: list[Hit]
    removed: list[Removed]
    timing_ms: dict[str, float]
    explanation: Explanation | None = Field(None, description="Where 'explain' was asked for.")
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
