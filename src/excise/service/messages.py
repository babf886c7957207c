"""What requests and answers look like: checked on the way in, described in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from excise.service.feedback import Opinion
from excise.service.service_limits import (
    MOST_CANDIDATES,
    MOST_DOCUMENTS,
    MOST_HITS,
    MOST_ID_CHARACTERS,
    MOST_QUERIES,
    MOST_QUERY_CHARACTERS,
    MOST_TEXT_CHARACTERS,
    MOST_TITLE_CHARACTERS,
    MOST_TOPIC_CHARACTERS,
    MOST_TOPICS,
)
from excise.text import clean


def _mended(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


_Mended = BeforeValidator(_mended)  # lone surrogates are replaced here as at every other door
QueryText = Annotated[str, Field(min_length=1, max_length=MOST_QUERY_CHARACTERS), _Mended]
TopicText = Annotated[str, Field(min_length=1, max_length=MOST_TOPIC_CHARACTERS), _Mended]
DocumentId = Annotated[str, Field(min_length=1, max_length=MOST_ID_CHARACTERS), _Mended]
TitleText = Annotated[str, Field(max_length=MOST_TITLE_CHARACTERS), _Mended]
BodyText = Annotated[str, Field(min_length=1, max_length=MOST_TEXT_CHARACTERS), _Mended]
Metadata = Annotated[dict[str, Any], Field(description="What searches filter by, with 'where'.")]
Excluded = Annotated[
    list[TopicText] | None,
    Field(max_length=MOST_TOPICS, description="Topics to rule out; null reads them from the query, [] rules out none."),
]
Sureness = Annotated[
    float | None,
    Field(ge=0, le=1, allow_inf_nan=False, description="How sure to be before a document is removed; 1 removes none."),
]
Explain = Annotated[bool, Field(description="Also tell how every candidate was judged.")]


class Message(BaseModel):
    """What every request has in common: exact types, and no field that nobody reads."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Queries(Message):
    """One query or several."""

    query: QueryText | None = Field(None, description="One query; or else 'queries'.")
    queries: Annotated[list[QueryText], Field(min_length=1, max_length=MOST_QUERIES)] | None = None

    @model_validator(mode="after")
    def _one_of_them(self) -> Queries:
        if (self.query is None) == (self.queries is None):
            raise ValueError("name either 'query' or 'queries'")
        return self

    @property
    def asked(self) -> list[str]:
        """The queries as a list."""
        return list(self.queries or ()) if self.query is None else [self.query]


class DetectRequest(Queries):
    """What does this query exclude?"""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "electric cars, but not Tesla"}]})


class SearchRequest(Queries):
    """Search the index."""

    k: int = Field(10, ge=1, le=MOST_HITS, description="How many hits.")
    exclude: Excluded = None
    caution: Sureness = None
    explain: Explain = False
    compare: bool = Field(False, description="Also bring the engine's own ranking, as 'frozen'.")
    where: dict[str, Any] | None = Field(
        None, description="A filter on metadata: {'year': {'gte': 2020}, 'lang': 'en'}."
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "home bread baking, but not rye", "k": 10},
                {"query": "home bread baking", "exclude": ["rye"], "caution": 0.6, "explain": True, "compare": True},
                {"queries": ["home bread baking, but not rye", "beekeeping in winter"], "k": 5},
            ]
        }
    )


class DocumentMessage(Message):
    """A document."""

    id: DocumentId
    title: TitleText = ""
    text: BodyText
    metadata: Metadata = {}


class CandidateMessage(DocumentMessage):
    """A document that another first stage has found."""

    score: float | None = Field(None, allow_inf_nan=False)


class RerankRequest(Message):
    """Judge the candidates of another first stage."""

    query: QueryText
    candidates: list[CandidateMessage] = Field(max_length=MOST_CANDIDATES, description="Best first.")
    k: int | None = Field(None, ge=1, le=MOST_CANDIDATES, description="How many hits; all by default.")
    exclude: Excluded = None
    caution: Sureness = None
    explain: Explain = False

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "electric cars, but not Tesla",
                    "candidates": [
                        {"id": "3", "title": "Tesla Model 3", "text": "Tesla's electric sedan.", "score": 0.9},
                        {"id": "leaf", "title": "Nissan Leaf", "text": "An electric hatchback.", "score": 0.8},
                    ],
                }
            ]
        }
    )


class AddRequest(Message):
    """Documents to add; one whose id is known replaces the old one."""

    documents: list[DocumentMessage] = Field(min_length=1, max_length=MOST_DOCUMENTS)

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"documents": [{"id": "leaf", "title": "Nissan Leaf", "text": "An electric hatchback."}]}]
        }
    )


class ReplaceRequest(Message):
    """The content of one document; its id is in the address."""

    title: TitleText = ""
    text: BodyText
    metadata: Metadata = {}

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"title": "Nissan Leaf", "text": "An electric hatchback from Sunderland."}]}
    )


class FeedbackRequest(Message):
    """What somebody thinks of one document in one search."""

    query: QueryText
    topic: TopicText = Field(description="What the search ruled out.")
    document: DocumentId
    opinion: Opinion = Field(description="put_back: wrongly removed; remove: wrongly kept; forget: neither any more.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "query": "home bread baking, but not rye",
                    "topic": "rye",
                    "document": "home-bread-01",
                    "opinion": "put_back",
                }
            ]
        }
    )
